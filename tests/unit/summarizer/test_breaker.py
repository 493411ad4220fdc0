from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.breakers import Breaker, BreakerState
from lcm.domain.model_calls import FaultKind
from lcm.summarizer.breaker import (
    TRANSITIONS,
    BreakerPolicy,
    Event,
    Verdict,
    abandoned,
    answered,
    closed,
    failed,
    probed,
    provider_of,
    refusal,
    verdict_of,
)
from tests.factories import START

POLICY = BreakerPolicy()
FRESH = closed("openai", "openai/gpt-x", START)


def after(*kinds: FaultKind, breaker: Breaker = FRESH) -> Breaker:
    """The breaker after these failures, each of them a probe once it is open."""
    for kind in kinds:
        if breaker.state is BreakerState.OPEN:
            breaker = probed(breaker, START, POLICY)
        breaker = failed(breaker, kind, START, POLICY)
    return breaker


def delay_s(breaker: Breaker) -> float:
    assert breaker.probe_at is not None
    return (breaker.probe_at - START).total_seconds()


class TestOpening:
    @pytest.mark.parametrize(
        "kind",
        [
            FaultKind.TIMEOUT,
            FaultKind.UNREACHABLE,
            FaultKind.TLS_FAILED,
            FaultKind.SERVER_FAILED,
            FaultKind.GARBLED,
            FaultKind.RATE_LIMITED,
            FaultKind.CONFLICT,
            FaultKind.REFUSED,
            FaultKind.MODEL_UNKNOWN,
        ],
    )
    def test_three_failures_in_a_row_open_it(self, kind: FaultKind) -> None:
        """Two are borne, the third opens for a minute, and the kind is kept."""
        twice, thrice = after(kind, kind), after(kind, kind, kind)

        assert (twice.state, twice.failures, twice.probe_at) == (BreakerState.CLOSED, 2, None)
        assert (thrice.state, thrice.failures, thrice.error_code) == (BreakerState.OPEN, 3, kind.value)
        assert (thrice.opened_at, delay_s(thrice)) == (START, 60)

    @pytest.mark.parametrize("kind", [FaultKind.KEY_REJECTED, FaultKind.NOT_ALLOWED, FaultKind.NOT_PAID])
    def test_what_only_a_person_can_mend_opens_it_at_once(self, kind: FaultKind) -> None:
        """A rejected key is not sent a second time by itself."""
        assert after(kind).state is BreakerState.OPEN

    @pytest.mark.parametrize("kind", [FaultKind.TOO_LONG, FaultKind.FILTERED])
    def test_a_text_that_is_not_taken_says_that_the_provider_works(self, kind: FaultKind) -> None:
        """Two failures before it are forgotten."""
        assert after(FaultKind.TIMEOUT, FaultKind.TIMEOUT, kind) == replace(FRESH, updated_at=START)

    def test_an_answer_in_between_starts_the_count_again(self) -> None:
        """Only failures in a row count."""
        breaker = answered(after(FaultKind.TIMEOUT, FaultKind.TIMEOUT), START)

        assert after(FaultKind.TIMEOUT, FaultKind.TIMEOUT, breaker=breaker).state is BreakerState.CLOSED

    @pytest.mark.parametrize(
        ("retry_after_s", "state"),
        [(60.0, BreakerState.CLOSED), (61.0, BreakerState.OPEN), (7200.0, BreakerState.OPEN)],
    )
    def test_a_long_limit_opens_it_at_once_until_its_end(self, retry_after_s: float, state: BreakerState) -> None:
        """A usage limit that lasts longer than a minute is believed."""
        breaker = failed(FRESH, FaultKind.RATE_LIMITED, START, POLICY, retry_after_s=retry_after_s)

        assert breaker.state is state
        assert breaker.state is BreakerState.CLOSED or delay_s(breaker) == retry_after_s

    @pytest.mark.parametrize(("retry_after_s", "expected"), [(0.0, 60), (2_592_000.0, 86_400)])
    def test_an_absurd_wish_is_bounded(self, retry_after_s: float, expected: float) -> None:
        """At least a minute, at most a day."""
        twice = after(FaultKind.RATE_LIMITED, FaultKind.RATE_LIMITED)

        opened = failed(twice, FaultKind.RATE_LIMITED, START, POLICY, retry_after_s=retry_after_s)

        assert delay_s(opened) == expected


class TestProbe:
    def test_is_made_when_it_is_time(self) -> None:
        """Refused before, the probe at the very moment and later."""
        breaker = after(FaultKind.KEY_REJECTED)

        moments = (START + timedelta(seconds=seconds) for seconds in (59, 60, 999))
        assert [verdict_of(breaker, now) for now in moments] == [Verdict.REFUSED, Verdict.PROBE, Verdict.PROBE]

    def test_can_be_forced(self) -> None:
        """Before its time, and while another one is on its way; a closed breaker needs none."""
        breaker = after(FaultKind.KEY_REJECTED)

        assert verdict_of(breaker, START, forces_probe=True) is Verdict.PROBE
        assert verdict_of(probed(breaker, START, POLICY), START, forces_probe=True) is Verdict.PROBE
        assert verdict_of(FRESH, START, forces_probe=True) is Verdict.ALLOWED

    def test_keeps_others_out_until_it_is_given_up(self) -> None:
        """A process that was killed during its probe blocks nobody for longer than half an hour."""
        breaker = probed(after(FaultKind.KEY_REJECTED), START, POLICY)

        assert verdict_of(breaker, START + timedelta(seconds=1799)) is Verdict.REFUSED
        assert verdict_of(breaker, START + timedelta(seconds=1800)) is Verdict.PROBE

    def test_that_fails_waits_twice_as_long_up_to_an_hour(self) -> None:
        """60 s, then doubling; since when it is open does not change."""
        kinds = [FaultKind.SERVER_FAILED] * 3
        delays = []
        for _ in range(9):
            delays.append(delay_s(after(*kinds)))
            kinds.append(FaultKind.SERVER_FAILED)

        assert delays == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
        assert after(*kinds).opened_at == START

    def test_that_is_answered_closes_it(self) -> None:
        """Nothing of the past is left."""
        breaker = answered(probed(after(FaultKind.KEY_REJECTED), START, POLICY), START)

        assert breaker == FRESH

    def test_that_ends_without_a_verdict_may_be_made_again_at_once(self) -> None:
        """A cancelled probe leaves the breaker open, and due."""
        breaker = abandoned(probed(after(FaultKind.KEY_REJECTED), START, POLICY), START)

        assert (breaker.state, verdict_of(breaker, START)) == (BreakerState.OPEN, Verdict.PROBE)

    def test_of_somebody_else_is_not_abandoned(self) -> None:
        """A verdict came meanwhile; the breaker stays as it is."""
        assert abandoned(FRESH, START) == FRESH


class TestLateEnds:
    def test_failures_of_calls_that_began_before_it_opened_do_not_count(self) -> None:
        """Thirty calls side by side that fail together are one opening, not thirty failed probes."""
        breaker = after(FaultKind.TIMEOUT, FaultKind.TIMEOUT, FaultKind.TIMEOUT)

        assert failed(breaker, FaultKind.TIMEOUT, START, POLICY) == breaker

    def test_their_wish_to_wait_longer_counts(self) -> None:
        """The latest moment any of them was told is the one."""
        breaker = after(FaultKind.TIMEOUT, FaultKind.TIMEOUT, FaultKind.TIMEOUT)

        longer = failed(breaker, FaultKind.RATE_LIMITED, START, POLICY, retry_after_s=600)
        shorter = failed(longer, FaultKind.RATE_LIMITED, START, POLICY, retry_after_s=300)

        assert (delay_s(longer), shorter) == (600, longer)

    def test_an_answer_closes_it(self) -> None:
        """Whoever answers works."""
        assert answered(after(FaultKind.KEY_REJECTED), START).state is BreakerState.CLOSED


class TestTransitions:
    def test_every_end_of_a_call_is_known_in_every_state(self) -> None:
        """Calls end in any state; probes begin in those that are not closed."""
        ends = {Event.ANSWERED, Event.FAILED, Event.TRIPPED}

        assert set(TRANSITIONS) == {
            *((state, end) for state in BreakerState for end in ends),
            (BreakerState.OPEN, Event.PROBED),
            (BreakerState.HALF_OPEN, Event.PROBED),
            (BreakerState.HALF_OPEN, Event.ABANDONED),
        }

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["probe", "answer", "abandon", *FaultKind]), st.floats(0, 1e9), st.integers(0, 9999)
            )
        )
    )
    def test_any_course_of_events_leaves_a_breaker_that_opens_again(self, course: list[tuple[str, float, int]]) -> None:
        """Whatever happens: open means a probe is due within a day, closed means nothing is kept, an answer closes."""
        breaker, now = FRESH, START
        for event, retry_after_s, passed_s in course:
            now += timedelta(seconds=passed_s)
            if event == "probe":
                breaker = breaker if breaker.state is BreakerState.CLOSED else probed(breaker, now, POLICY)
            elif event == "answer":
                breaker = answered(breaker, now)
            elif event == "abandon":
                breaker = abandoned(breaker, now)
            else:
                breaker = failed(breaker, FaultKind(event), now, POLICY, retry_after_s=retry_after_s)

        is_closed = breaker.state is BreakerState.CLOSED
        assert is_closed == (breaker.opened_at is None) == (breaker.probe_at is None)
        assert breaker.probe_at is None or breaker.probe_at <= now + timedelta(days=1)
        assert answered(breaker, now).state is BreakerState.CLOSED


class TestRefusal:
    def test_tells_until_when_why_and_what_to_do(self) -> None:
        """One line."""
        assert refusal(after(FaultKind.TIMEOUT, FaultKind.TIMEOUT, FaultKind.TIMEOUT)) == (
            "The model provider openai: not asked again before 2026-02-17 07:38 UTC, after 3 failed calls in a row"
            " (timeout); run `lcm compact` to ask at once, or `lcm stats` to see more."
        )

    def test_counts_one_in_the_singular(self) -> None:
        """A rejected key is one failed call."""
        assert "after 1 failed call (key_rejected);" in refusal(after(FaultKind.KEY_REJECTED))


class TestProviderOf:
    @pytest.mark.parametrize(
        ("model", "provider"),
        [("openai/gpt-x", "openai"), ("openrouter/a/b", "openrouter"), ("gpt-4o", "litellm")],
    )
    def test_is_what_the_name_tells(self, model: str, provider: str) -> None:
        """Before the first slash; a bare name leaves the provider to LiteLLM."""
        assert provider_of(model) == provider
