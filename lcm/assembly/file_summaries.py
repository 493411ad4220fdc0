"""Below the reference to a large file, what the file holds: newest first, as far as the budget reaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lcm.assembly.blocks import Draft, JsonBlock
from lcm.domain.messages import Role
from lcm.large_files.reference import referenced_files, with_summaries
from lcm.large_files.shown import exploration_summaries
from lcm.storage.contracts.large_files import LargeFileRepository
from lcm.tokens import estimate_tokens

#: Where the text of a block stands. What the assistant said is given back as it was.
_TEXT_FIELDS = {"text": "text", "tool_result": "content"}


async def with_file_summaries(
    files: LargeFileRepository, drafts: Sequence[Draft], free_tokens: int
) -> tuple[list[Draft], int]:
    """The drafts with exploration summaries, and the tokens these cost, at most `free_tokens`.

    A summary stands once, below the newest reference; one that does not fit is left out, and the reference stays.
    """
    texts = (text for draft in reversed(drafts) for text in _texts(draft))
    summaries = await exploration_summaries(files, texts)
    shown = list(drafts)
    spent = 0
    for position in range(len(shown) - 1, -1, -1):
        for file_id in _referred_by(shown[position]):
            summary = summaries.pop(file_id, None)
            cost = estimate_tokens(summary) if summary else 0
            if summary and spent + cost <= free_tokens:
                shown[position] = _with_summary(shown[position], {file_id: summary})
                spent += cost
    return shown, spent


def _referred_by(draft: Draft) -> tuple[str, ...]:
    return tuple(dict.fromkeys(file_id for text in _texts(draft) for file_id in referenced_files(text)))


def _texts(draft: Draft) -> Iterator[str]:
    if draft.role in (None, Role.ASSISTANT):
        return
    yield from (block[_TEXT_FIELDS[block["type"]]] for block in (*draft.blocks, *draft.results) if _has_text(block))


def _has_text(block: JsonBlock) -> bool:
    field = _TEXT_FIELDS.get(block["type"])
    return field is not None and isinstance(block[field], str)


def _with_summary(draft: Draft, summary: Mapping[str, str]) -> Draft:
    """In the first block that refers to the file."""
    left = dict(summary)

    def shown(block: JsonBlock) -> JsonBlock:
        if not left or not _has_text(block):
            return block
        field = _TEXT_FIELDS[block["type"]]
        text = with_summaries(block[field], left)
        if text == block[field]:
            return block
        left.clear()
        return {**block, field: text}

    blocks = tuple(shown(block) for block in draft.blocks)
    return replace(draft, blocks=blocks, results=tuple(shown(block) for block in draft.results))
