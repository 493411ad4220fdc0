"""Which items of a context fit a token budget: the fresh tail always, then the evictable prefix from its newest end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lcm.domain.context import ContextItem
from lcm.domain.tool_pairs import fresh_tail, is_closed
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
    selection = select_before_tail(items, tail.start, policy)
    is_final = selection.is_final and tail.is_bounded and is_closed(items, tail.start)
    return replace(selection, is_final=is_final)


def select_before_tail(items: Sequence[ContextItem], tail_start: int, policy: BudgetPolicy) -> Selection:
    """The same when it is certain where the fresh tail starts; older items are told by their tokens alone."""
    tokens = sum([item.token_count for item in items[tail_start:]])
    start = tail_start
    while start > 0 and tokens + items[start - 1].token_count <= policy.budget:
        start -= 1
        tokens += items[start].token_count
    return Selection(start, tail_start, tokens, is_final=start > 0)


def certain_tail_size(items: Sequence[ContextItem], policy: BudgetPolicy) -> int | None:
    """How many of the newest items are the fresh tail, if older ones cannot change that."""
    tail = fresh_tail(items, count=policy.fresh_tail_count, max_tokens=policy.fresh_tail_max_tokens)
    return len(items) - tail.start if tail.is_bounded and is_closed(items, tail.start) else None
