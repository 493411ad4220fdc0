"""Decisions of the circuit breaker of one model: when it opens, when a probe is due, when it closes. Pure.

It looks at kinds of faults, which come from status codes and types; a summary that talks about rejected keys trips
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from lcm.domain.breakers import Breaker, BreakerState
from lcm.domain.model_calls import FaultKind


class Event(Enum):
    """What happens to a breaker.

    PROBED: a call goes through although it is not closed. ANSWERED: the provider answered, however useless.
    FAILED, TRIPPED: a call failed; the second opens a closed breaker. ABANDONED: a probe ended without any verdict.
    """

    PROBED = "probed"
    ANSWERED = "answered"
    FAILED = "failed"
    TRIPPED = "tripped"
    ABANDONED = "abandoned"


#: Calls that began before a breaker opened end after it; so every state meets every end of a call.
TRANSITIONS = {
    (BreakerState.CLOSED, Event.ANSWERED): BreakerState.CLOSED,
    (BreakerState.CLOSED, Event.FAILED): BreakerState.CLOSED,
    (BreakerState.CLOSED, Event.TRIPPED): BreakerState.OPEN,
    (BreakerState.OPEN, Event.PROBED): BreakerState.HALF_OPEN,
    (BreakerState.OPEN, Event.ANSWERED): BreakerState.CLOSED,
    (BreakerState.OPEN, Event.FAILED): BreakerState.OPEN,
    (BreakerState.OPEN, Event.TRIPPED): BreakerState.OPEN,
    (BreakerState.HALF_OPEN, Event.PROBED): BreakerState.HALF_OPEN,
    (BreakerState.HALF_OPEN, Event.ANSWERED): BreakerState.CLOSED,
    (BreakerState.HALF_OPEN, Event.FAILED): BreakerState.OPEN,
    (BreakerState.HALF_OPEN, Event.TRIPPED): BreakerState.OPEN,
    (BreakerState.HALF_OPEN, Event.ABANDONED): BreakerState.OPEN,
}

#: Nothing but a person can mend these.
_AT_ONCE = frozenset({FaultKind.KEY_REJECTED, FaultKind.NOT_ALLOWED, FaultKind.NOT_PAID})
#: The provider works; it is this text that it does not take.
_ANSWERS = frozenset({FaultKind.TOO_LONG, FaultKind.FILTERED})


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """How patient a breaker is.

    Attributes:
        threshold: failures in a row that open it.
        first_delay_s: from opening to the first probe; it doubles with each failed probe up to `max_delay_s`.
        long_wait_s: a provider that asks to wait longer than this opens it at once.
        max_retry_after_s: such a wish is believed up to here.
        probe_lease_s: after so long a probe that did not end is given up; its process is gone.
    """

    threshold: int = 3
    first_delay_s: float = 60
    max_delay_s: float = 3600
    long_wait_s: float = 60
    max_retry_after_s: float = 86_400
    probe_lease_s: float = 1800


class Verdict(Enum):
    """Whether a call may be made: yes, as the probe, or no."""

    ALLOWED = "allowed"
    PROBE = "probe"
    REFUSED = "refused"


def closed(provider: str, model: str, now: datetime) -> Breaker:
    """The breaker of a model that never failed."""
    return Breaker(provider, model, BreakerState.CLOSED, 0, None, None, None, now)


def verdict_of(breaker: Breaker, now: datetime, *, forces_probe: bool = False) -> Verdict:
    """Whether a call may be made now; with `forces_probe` always, as a probe if need be."""
    if breaker.state is BreakerState.CLOSED:
        return Verdict.ALLOWED
    is_due = breaker.probe_at is None or now >= breaker.probe_at
    return Verdict.PROBE if is_due or forces_probe else Verdict.REFUSED


def probed(breaker: Breaker, now: datetime, policy: BreakerPolicy) -> Breaker:
    """A call goes through as the probe."""
    lease_end = now + timedelta(seconds=policy.probe_lease_s)
    return replace(breaker, state=_next(breaker, Event.PROBED), probe_at=lease_end, updated_at=now)


def answered(breaker: Breaker, now: datetime) -> Breaker:
    """The provider answered; the same breaker when that is nothing new."""
    if breaker.state is BreakerState.CLOSED and breaker.failures == 0:
        return breaker
    state = _next(breaker, Event.ANSWERED)
    return replace(breaker, state=state, failures=0, error_code=None, opened_at=None, probe_at=None, updated_at=now)


def failed(
    breaker: Breaker, kind: FaultKind, now: datetime, policy: BreakerPolicy, *, retry_after_s: float | None = None
) -> Breaker:
    """A call failed for good, after its retries."""
    if kind in _ANSWERS:
        return answered(breaker, now)
    if breaker.state is BreakerState.OPEN:
        return _later(breaker, now, policy, retry_after_s)
    counted = replace(breaker, failures=breaker.failures + 1, error_code=kind.value, updated_at=now)
    event = Event.TRIPPED if _trips(counted, kind, policy, retry_after_s) else Event.FAILED
    state = _next(breaker, event)
    if state is BreakerState.CLOSED:
        return counted
    probe_at = now + timedelta(seconds=_delay_s(counted, policy, retry_after_s))
    return replace(counted, state=state, opened_at=breaker.opened_at or now, probe_at=probe_at)


def abandoned(breaker: Breaker, now: datetime) -> Breaker:
    """The probe ended without a verdict, cancelled perhaps: the next call may be one."""
    if breaker.state is not BreakerState.HALF_OPEN:
        return breaker
    return replace(breaker, state=_next(breaker, Event.ABANDONED), probe_at=now, updated_at=now)


def refusal(breaker: Breaker) -> str:
    """One line for a person: until when nothing is asked, why, and what to do."""
    until = f"{breaker.probe_at:%Y-%m-%d %H:%M} UTC" if breaker.probe_at else "later"
    count = "1 failed call" if breaker.failures == 1 else f"{breaker.failures} failed calls in a row"
    return (
        f"The model provider {breaker.provider}: not asked again before {until}, after {count}"
        f" ({breaker.error_code}); run `lcm compact` to ask at once, or `lcm stats` to see more."
    )


def provider_of(model: str) -> str:
    """The provider in a model's name, as far as the name tells; `litellm` when LiteLLM has to find it."""
    provider, slash, _ = model.partition("/")
    return provider if slash else "litellm"


def _next(breaker: Breaker, event: Event) -> BreakerState:
    return TRANSITIONS[breaker.state, event]


def _trips(breaker: Breaker, kind: FaultKind, policy: BreakerPolicy, retry_after_s: float | None) -> bool:
    is_long = retry_after_s is not None and retry_after_s > policy.long_wait_s
    return kind in _AT_ONCE or is_long or breaker.failures >= policy.threshold


def _later(breaker: Breaker, now: datetime, policy: BreakerPolicy, retry_after_s: float | None) -> Breaker:
    """Calls that began before it opened are no further probes; what they were asked to wait counts."""
    if retry_after_s is None:
        return breaker
    wanted = now + timedelta(seconds=min(retry_after_s, policy.max_retry_after_s))
    if breaker.probe_at is not None and breaker.probe_at >= wanted:
        return breaker
    return replace(breaker, probe_at=wanted, updated_at=now)


def _delay_s(breaker: Breaker, policy: BreakerPolicy, retry_after_s: float | None) -> float:
    """The provider's own wish; without one, twice as long for each failure beyond those that opened it."""
    if retry_after_s is not None:
        return max(policy.first_delay_s, min(retry_after_s, policy.max_retry_after_s))
    doublings = max(0, breaker.failures - policy.threshold)
    # Bounded before the power, which would overflow for a provider that is gone for good.
    return min(policy.max_delay_s, policy.first_delay_s * 2.0 ** min(doublings, 32))
