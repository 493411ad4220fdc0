"""What one command may use over all its conversations: passes, time, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lcm.compaction.result import StopReason


@dataclass(slots=True)
class RunLimits:
    """Limits and what was used so far; None is no limit. They are looked at before each pass, so the last may go over.

    Attributes:
        deadline: aware UTC.
        max_tokens: read and written by models, as they report; what they do not report counts as reserved.
        cost_micros: in millionths; None as soon as a price is unknown, which a limit of money cannot allow.
    """

    max_passes: int | None = None
    deadline: datetime | None = None
    max_tokens: int | None = None
    max_cost_micros: int | None = None
    passes: int = 0
    tokens: int = 0
    cost_micros: int | None = 0

    def reached(self, now: datetime) -> StopReason | None:
        """The limit that forbids another pass."""
        if self.max_passes is not None and self.passes >= self.max_passes:
            return StopReason.PASS_LIMIT
        if self.deadline is not None and now >= self.deadline:
            return StopReason.TIME_LIMIT
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return StopReason.TOKEN_LIMIT
        if self.max_cost_micros is None:
            return None
        if self.cost_micros is None:
            return StopReason.UNKNOWN_COST
        return StopReason.COST_LIMIT if self.cost_micros >= self.max_cost_micros else None

    def use(self, *, tokens: int, cost_micros: int | None) -> None:
        """Add what one pass used."""
        self.passes += 1
        self.tokens += tokens
        known = self.cost_micros is not None and cost_micros is not None
        self.cost_micros = (self.cost_micros or 0) + (cost_micros or 0) if known else None
