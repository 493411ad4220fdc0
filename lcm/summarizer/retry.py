"""The one retry policy of model calls: what is tried again, how often, and how long to wait before."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from lcm.clock import Clock
from lcm.domain.model_calls import FaultKind

T = TypeVar("T")

#: A provider cannot mean more than this; the sum of a time and an absurd number would be no time.
LONGEST_WISH_S = 30 * 86_400.0

Sleep = Callable[[float], Awaitable[object]]
#: A number of 0 .. 1, different each time.
Jitter = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call has no answer.

    Attributes:
        message: one safe line for a person.
        is_transient: whether the same call may succeed later.
        retry_after_s: what the provider asked to wait.
    """

    kind: FaultKind
    message: str
    is_transient: bool
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential waiting between attempts, bounded; a provider's own wish goes before.

    Attributes:
        max_retry_after_s: a provider that asks to wait longer is not asked again in this call: a usage limit is over in
            hours, and nobody should sit in front of a silent command until then.
    """

    max_attempts: int = 3
    initial_delay_s: float = 1.0
    multiplier: float = 2.0
    max_delay_s: float = 30.0
    max_retry_after_s: float = 60.0

    def may_retry(self, fault: Fault, attempts: int) -> bool:
        is_soon = fault.retry_after_s is None or fault.retry_after_s <= self.max_retry_after_s
        return fault.is_transient and is_soon and attempts < self.max_attempts

    def delay_s(self, fault: Fault, attempts: int, jitter: float) -> float:
        """Seconds to wait after this many attempts; jitter takes off up to half, so that callers spread."""
        if fault.retry_after_s is not None:
            return fault.retry_after_s
        longest = min(self.max_delay_s, self.initial_delay_s * self.multiplier ** (attempts - 1))
        return longest * (1 - jitter / 2)


async def call_with_retries(
    call: Callable[[], Awaitable[T | Fault]], policy: RetryPolicy, *, sleep: Sleep, jitter: Jitter
) -> T | Fault:
    """The first answer, or the fault of the last attempt."""
    attempts = 1
    while True:
        result = await call()
        if not isinstance(result, Fault) or not policy.may_retry(result, attempts):
            return result
        await sleep(policy.delay_s(result, attempts, jitter()))
        attempts += 1


def parse_retry_after(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Seconds that a response asks to wait, 0 for a moment in the past; None when it says nothing usable.

    Header names are in lower case. Milliseconds (`retry-after-ms`), seconds and an HTTP date are understood; what is
    longer than a month is taken as a month.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, LONGEST_WISH_S)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is None and value is not None:
        seconds = _seconds_until(value, clock)
    return None if seconds is None else min(seconds, LONGEST_WISH_S)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until(value: str, clock: Clock) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
        return None if moment.tzinfo is None else max(0.0, (moment - clock()).total_seconds())
    except (ValueError, OverflowError):  # a date beyond what the calendar or the zone can hold
        return None
