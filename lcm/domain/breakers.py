"""Circuit breakers of model providers: whether a provider is asked at all."""

from __future__ import annotations

from enum import StrEnum


class BreakerState(StrEnum):
    """`closed` lets calls through, `open` none, `half_open` one probe whose outcome decides."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"
