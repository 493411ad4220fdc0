"""Circuit breakers of model providers: whether a provider is asked at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class BreakerState(StrEnum):
    """`closed` lets calls through, `open` none, `half_open` one probe whose outcome decides."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Breaker:
    """What is known about one model of one provider.

    Attributes:
        failures: calls in a row that failed; 0 when the last one was answered.
        error_code: a `FaultKind`, of the last failure; None when the last call was answered.
        opened_at: since when it does not let calls through; None while it is closed.
        probe_at: when the next call may try; while half open, when a probe that never ended is given up.
    """

    provider: str
    model: str
    state: BreakerState
    failures: int
    error_code: str | None
    opened_at: datetime | None
    probe_at: datetime | None
    updated_at: datetime
