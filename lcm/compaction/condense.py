"""The condensed pass: contiguous summaries of one depth become one summary of the next."""

from __future__ import annotations

from collections.abc import Sequence

from lcm.compaction import source_text
from lcm.compaction.chunks import CondenseChunk
from lcm.compaction.passes import PassScope, require_sources, store_if_saving
from lcm.domain.context import ContextItem
from lcm.domain.summaries import NewSummary, Summary, SummaryKind
from lcm.summarizer.contract import SourceText, WrittenSummary
from lcm.tokens import estimate_tokens


async def run_condensed_pass(scope: PassScope, items: Sequence[ContextItem], chunk: CondenseChunk) -> Summary | None:
    """Merge a chunk of `items` and put the summary in its place; None when that saves too little to be stored.

    The model is called outside any transaction; what it wrote is stored, linked and shown in one short one.

    Raises:
        ContextChanged, IdentityConflict: another compaction was faster; nothing was written.
        SummarizerUnavailable: no answer; nothing was written.
    """
    children = await scope.list_summaries(chunk.summary_keys)
    require_sources(children, chunk)
    keys_before = source_text.keys_before_condensation(items, chunk.start, chunk.depth)
    preceding = await scope.list_summaries(keys_before)
    previous = source_text.previous_text(preceding)
    written = await scope.write(condensed_source(scope, chunk.depth + 1, children, previous=previous))
    return await store_if_saving(scope, chunk, new_condensed(scope.conversation_id, chunk.depth + 1, children, written))


def condensed_source(scope: PassScope, depth: int, children: Sequence[Summary], *, previous: str | None) -> SourceText:
    """What the summarizer is given of these summaries; `depth` is that of the summary to be made."""
    text = source_text.condensed_text(children)
    return SourceText(
        conversation_id=scope.conversation_id,
        text=text,
        token_count=estimate_tokens(text),
        depth=depth,
        target_tokens=scope.policy.condensed_target_tokens,
        previous=previous,
    )


def new_condensed(conversation_id: int, depth: int, children: Sequence[Summary], written: WrittenSummary) -> NewSummary:
    """The condensed summary to store: its text, and what it adds up of its children."""
    earliest_at, latest_at = source_text.time_range(children)
    return NewSummary(
        conversation_id=conversation_id,
        kind=SummaryKind.CONDENSED,
        depth=depth,
        content=written.text,
        token_count=written.token_count,
        earliest_at=earliest_at,
        latest_at=latest_at,
        descendant_count=sum(child.descendant_count + 1 for child in children),
        descendant_token_count=sum(child.token_count + child.descendant_token_count for child in children),
        source_message_token_count=sum(child.source_message_token_count for child in children),
        file_ids=source_text.carried_files(children),
        origin=written.origin,
        level=written.level,
        model=written.model,
        prompt_version=written.prompt_version,
    )
