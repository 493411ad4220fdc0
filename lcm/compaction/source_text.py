"""What a summarizer reads: the text of a chunk, what precedes it, and the large files it mentions. Pure."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice

from lcm.domain.context import ContextItem
from lcm.domain.messages import Message
from lcm.domain.summaries import Summary
from lcm.ids import FILE_PREFIX
from lcm.text import clip
from lcm.tokens import estimate_tokens

_FILE_ID = re.compile(rf"(?<![0-9A-Za-z_]){FILE_PREFIX}[0-9a-f]{{16}}(?![0-9A-Za-z_])")
#: Continuity of a condensation of leaves: so many of the items before it are looked at, and so many leaves taken.
_PRECEDING_ITEMS = 4
_PRECEDING_LEAVES = 2


def leaf_text(messages: Sequence[Message], *, max_tokens: int | None = None) -> str:
    """Messages under `[YYYY-MM-DD HH:MM UTC] role` lines, separated by a blank line; empty ones are left out.

    With `max_tokens`, the middle of the longest messages is left out, so that the contents have about that many.
    """
    spoken = [message for message in messages if message.content.strip()]
    sizes = [estimate_tokens(message.content) for message in spoken]
    most = largest_share(sizes, max_tokens) if max_tokens is not None else max(sizes, default=0)
    return _joined(
        f"[{_minute(message.occurred_at)}] {message.role}\n{_shortened(message.content, size, most)}"
        for message, size in zip(spoken, sizes, strict=True)
    )


def largest_share(sizes: Sequence[int], total: int) -> int:
    """The most that each may have so that all fit in `total`: what needs less leaves its rest to the others."""
    left = total
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def condensed_text(summaries: Sequence[Summary]) -> str:
    """Summaries under `[from - to] summary_id` lines, separated by a blank line."""
    return _joined(
        f"[{_minute(_earliest(summary))} - {_minute(_latest(summary))}] {summary.summary_id}\n{summary.content}"
        for summary in summaries
    )


def previous_text(summaries: Sequence[Summary]) -> str | None:
    """Content of the preceding summaries, oldest first; None without any."""
    return _joined(summary.content for summary in summaries) or None


def keys_before_leaf(items: Sequence[ContextItem], start: int) -> tuple[uuid.UUID, ...]:
    """Key of the nearest summary before index `start`: what a new leaf continues."""
    for index in range(start - 1, -1, -1):
        key = items[index].ref.summary_key
        if key is not None:
            return (key,)
    return ()


def keys_before_condensation(items: Sequence[ContextItem], start: int, depth: int) -> tuple[uuid.UUID, ...]:
    """Keys of what a condensation of summaries of `depth` continues, oldest first.

    For leaves these are up to the last two leaves among the four items before; deeper summaries stand for themselves.
    """
    if depth > 0:
        return ()
    preceding = reversed(items[max(0, start - _PRECEDING_ITEMS) : start])
    leaves = (item.ref.summary_key for item in preceding if item.depth == 0 and item.ref.summary_key is not None)
    return tuple(reversed(list(islice(leaves, _PRECEDING_LEAVES))))


def mentioned_files(messages: Iterable[Message]) -> tuple[str, ...]:
    """Ids of the large files named in the contents, each once, in order of first mention."""
    mentioning = (message.content for message in messages if FILE_PREFIX in message.content)
    return tuple(dict.fromkeys(file_id for content in mentioning for file_id in _FILE_ID.findall(content)))


def carried_files(summaries: Iterable[Summary]) -> tuple[str, ...]:
    """Ids of the large files that the summaries carry, each once, in order."""
    return tuple(dict.fromkeys(file_id for summary in summaries for file_id in summary.file_ids))


def time_range(summaries: Sequence[Summary]) -> tuple[datetime, datetime]:
    """Earliest and latest time of the source material of at least one summary."""
    return min(map(_earliest, summaries)), max(map(_latest, summaries))


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(blocks)


def _shortened(content: str, tokens: int, max_tokens: int) -> str:
    """Two thirds of the allowed length from the beginning and one from the end, which tells how it came out."""
    if tokens <= max_tokens:
        return content
    chars = len(content) * max_tokens // tokens
    head, tail = clip(content, chars * 2 // 3), content[len(content) - chars // 3 :]
    return f"{head}\n[... about {tokens - max_tokens} tokens are left out here ...]\n{tail}"


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _earliest(summary: Summary) -> datetime:
    return summary.earliest_at or summary.created_at


def _latest(summary: Summary) -> datetime:
    return summary.latest_at or summary.created_at
