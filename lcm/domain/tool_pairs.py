"""Which records belong together (calls with their results, records of one API message) and where the fresh tail starts.

Rules, the same for assembly and compaction:
- A result belongs to the nearest earlier call of its id; without one, to the next later call of its turn.
- Records of one API message belong together within their turn. A prompt (user text without results) or a summary ends a
  turn.
- What belongs together is never separated, nor is anything that stands between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lcm.domain.messages import Role


class ToolItem(Protocol):
    """What pairing needs to know of a record; `role` is None for a summary. A `ContextItem` is one."""

    @property
    def role(self) -> Role | None: ...
    @property
    def api_message_id(self) -> str | None: ...
    @property
    def tool_call_ids(self) -> tuple[str, ...]: ...
    @property
    def tool_result_ids(self) -> tuple[str, ...]: ...


class CountedItem(ToolItem, Protocol):
    @property
    def token_count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class ToolPair:
    """A result and its call, by their positions in the sequence; several results may share one call."""

    call_id: str
    call: int
    result: int


@dataclass(frozen=True, slots=True)
class Orphans:
    """Calls without a result and results without a call, as (position, call id), in order."""

    calls: tuple[tuple[int, str], ...]
    results: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FreshTail:
    """Where the tail starts; `is_bounded` tells that older items exist that the limits kept out of it."""

    start: int
    is_bounded: bool


def ends_turn(item: ToolItem) -> bool:
    """Whether nothing but a call's later result can belong together across this item."""
    return item.role is None or (item.role is Role.USER and not item.tool_result_ids)


def tool_pairs(items: Sequence[ToolItem]) -> list[ToolPair]:
    """All pairs, by the position of whichever half comes last."""
    pairs: list[ToolPair] = []
    last_call: dict[str, int] = {}
    waiting: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        if ends_turn(item):
            waiting.clear()
        for call_id in item.tool_call_ids:
            last_call[call_id] = position
            pairs += [ToolPair(call_id, position, result) for result in waiting.pop(call_id, ())]
        for call_id in item.tool_result_ids:
            if call_id in last_call:
                pairs.append(ToolPair(call_id, last_call[call_id], position))
            else:
                waiting.setdefault(call_id, []).append(position)
    return pairs


def orphans(items: Sequence[ToolItem]) -> Orphans:
    """Halves of pairs whose other half is not among the items."""
    pairs = tool_pairs(items)
    calls = {(pair.call, pair.call_id) for pair in pairs}
    results = {(pair.result, pair.call_id) for pair in pairs}
    return Orphans(
        calls=tuple(key for at, item in enumerate(items) for x in item.tool_call_ids if (key := (at, x)) not in calls),
        results=tuple(
            key for at, item in enumerate(items) for x in item.tool_result_ids if (key := (at, x)) not in results
        ),
    )


def tool_groups(items: Sequence[ToolItem]) -> list[range]:
    """Contiguous ranges of positions, in order and covering all items, that a boundary must not split."""
    last = list(range(len(items)))
    for first, second in _links(items):
        last[first] = max(last[first], second)
    groups: list[range] = []
    start = end = 0
    for position, reach in enumerate(last):
        end = max(end, reach)
        if position == end:
            groups.append(range(start, end + 1))
            start = end = end + 1
    return groups


def _links(items: Sequence[ToolItem]) -> list[tuple[int, int]]:
    """Pairs of positions that belong together, the smaller first."""
    links = [(min(pair.call, pair.result), max(pair.call, pair.result)) for pair in tool_pairs(items)]
    first_record: dict[str, int] = {}
    for position, item in enumerate(items):
        if ends_turn(item):
            first_record.clear()
        elif item.api_message_id is not None:
            links.append((first_record.setdefault(item.api_message_id, position), position))
    return links


def fresh_tail(items: Sequence[CountedItem], *, count: int, max_tokens: int | None = None) -> FreshTail:
    """The newest `count` raw messages, completed to whole groups.

    With `max_tokens` it holds only as many newest groups as fit, but always the newest that has a message. Summaries
    older than its oldest message are not part of it.
    """
    start, raw, tokens = len(items), 0, 0
    for group in reversed(tool_groups(items)):
        tokens += sum(items[position].token_count for position in group)
        messages = sum(items[position].role is not None for position in group)
        if raw >= count or (raw and messages and max_tokens is not None and tokens > max_tokens):
            return FreshTail(start, is_bounded=True)
        if messages:
            start, raw = group.start, raw + messages
    return FreshTail(start, is_bounded=False)


def is_closed(items: Sequence[ToolItem], tail_start: int) -> bool:
    """Whether older items can neither belong to a group of the tail nor change which groups there are before it."""
    pairs = tool_pairs(items)
    # A result before its call may turn out to belong to an older call of the same id.
    if any(pair.call > pair.result for pair in pairs) or not any(ends_turn(item) for item in items[: tail_start + 1]):
        return False
    answered = {(pair.call_id, pair.result) for pair in pairs}
    return all(
        (call_id, position) in answered
        for position in range(tail_start, len(items))
        for call_id in items[position].tool_result_ids
    )
