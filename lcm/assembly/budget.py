"""Which items of a context fit a token budget: the fresh tail always, then the evictable prefix from its newest end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lcm.domain.context import ContextItem
from lcm.domain.tool_pairs import ends_turn, fresh_tail, tool_pairs
from lcm.text import require_safe_integer


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """Tokens allowed in all, and the size of the fresh tail in raw messages and, when set, in tokens."""

    budget: int
    fresh_tail_count: int = 32
    fresh_tail_max_tokens: int | None = None

    def validate(self) -> None:
        """Raises `OutOfRange` unless all are safe integers, the token limits positive."""
        require_safe_integer("budget", self.budget, 1)
        require_safe_integer("fresh_tail_count", self.fresh_tail_count)
        if self.fresh_tail_max_tokens is not None:
            require_safe_integer("fresh_tail_max_tokens", self.fresh_tail_max_tokens, 1)


@dataclass(frozen=True, slots=True)
class Selection:
    """The items from `start` on are included, those from `tail_start` on whatever they cost.

    `is_final` tells that older items, if there are any, cannot change the choice.
    """

    start: int
    tail_start: int
    token_count: int
    is_final: bool


def select_items(items: Sequence[ContextItem], policy: BudgetPolicy) -> Selection:
    """Choose from the newest items of a context, oldest first: all of them, or only those read so far."""
    tail = fresh_tail(items, count=policy.fresh_tail_count, max_tokens=policy.fresh_tail_max_tokens)
    tokens = sum(item.token_count for item in items[tail.start :])
    start = tail.start
    while start > 0 and tokens + items[start - 1].token_count <= policy.budget:
        start -= 1
        tokens += items[start].token_count
    is_final = start > 0 and tail.is_bounded and _is_closed(items, tail.start)
    return Selection(start, tail.start, tokens, is_final)


def _is_closed(items: Sequence[ContextItem], tail_start: int) -> bool:
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
