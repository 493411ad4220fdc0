from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lcm.domain.model_calls import FaultKind
from lcm.summarizer.retry import Fault, RetryPolicy, call_with_retries, parse_retry_after

BUSY = Fault(FaultKind.SERVER_FAILED, "It failed.", is_transient=True)
WRONG_KEY = Fault(FaultKind.KEY_REJECTED, "No.", is_transient=False)


class Calls:
    """Answers in turn; remembers the waiting between."""

    def __init__(self, *answers: str | Fault) -> None:
        self.answers = list(answers)
        self.slept: list[float] = []

    async def call(self) -> str | Fault:
        return self.answers.pop(0)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def run(self, policy: RetryPolicy, jitter: float = 0.0) -> str | Fault:
        return await call_with_retries(self.call, policy, sleep=self.sleep, jitter=lambda: jitter)


class TestCallWithRetries:
    async def test_a_transient_fault_is_tried_again_after_growing_waits(self) -> None:
        """Two failures wait 1 and 2 seconds before the third attempt answers."""
        calls = Calls(BUSY, BUSY, "text")

        assert await calls.run(RetryPolicy(max_attempts=3)) == "text"
        assert calls.slept == [1.0, 2.0]

    async def test_the_last_fault_is_the_result(self) -> None:
        """After the last attempt there is no waiting and no further call."""
        calls = Calls(BUSY, BUSY, "never reached")

        assert await calls.run(RetryPolicy(max_attempts=2)) == BUSY
        assert (calls.slept, calls.answers) == ([1.0], ["never reached"])

    async def test_a_lasting_fault_is_not_tried_again(self) -> None:
        """A rejected key ends the call at once."""
        calls = Calls(WRONG_KEY, "never reached")

        assert await calls.run(RetryPolicy(max_attempts=9)) == WRONG_KEY
        assert calls.slept == []

    async def test_a_wish_beyond_a_minute_ends_the_call(self) -> None:
        """A usage limit is over in hours; nobody waits for that in a call."""
        limited = Fault(FaultKind.RATE_LIMITED, "Slow down.", is_transient=True, retry_after_s=60.1)
        calls = Calls(limited, "never reached")

        assert await calls.run(RetryPolicy(max_attempts=9)) == limited
        assert calls.slept == []


class TestDelay:
    @pytest.mark.parametrize(("retry_after", "expected"), [(7.0, 7.0), (0.0, 0.0), (60.0, 60.0)])
    def test_the_providers_wish_goes_first(self, retry_after: float, expected: float) -> None:
        """`retry-after` is honoured exactly, without jitter."""
        fault = Fault(FaultKind.RATE_LIMITED, "Slow down.", is_transient=True, retry_after_s=retry_after)

        assert RetryPolicy().delay_s(fault, attempts=1, jitter=0.5) == expected

    def test_waiting_is_bounded_and_spread(self) -> None:
        """Late attempts wait 30 seconds at most, and jitter takes off up to half."""
        delays = [RetryPolicy().delay_s(BUSY, attempts=9, jitter=jitter) for jitter in (0.0, 0.5, 1.0)]

        assert delays == [30.0, 22.5, 15.0]


class TestParseRetryAfter:
    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ({"retry-after": "7"}, 7.0),
            ({"retry-after": "0.5"}, 0.5),
            ({"retry-after": "9", "retry-after-ms": "1500"}, 1.5),
            ({"retry-after": "Tue, 17 Feb 2026 07:37:30 GMT"}, 30.0),
            ({"retry-after": "Tue, 17 Feb 2026 07:36:00 GMT"}, 0.0),
            ({"retry-after": "soon"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": "inf"}, None),
            ({"retry-after": "1e300"}, 2_592_000.0),
            ({"retry-after-ms": "1e300"}, 2_592_000.0),
            ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 2_592_000.0),
            ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -2400"}, None),
            ({"retry-after": "Tue, 17 Feb 2026 07:37:30"}, None),
            ({"retry-after": "-1"}, None),
            ({}, None),
        ],
    )
    def test_seconds_milliseconds_and_dates_are_understood(
        self, headers: dict[str, str], expected: float | None
    ) -> None:
        """Every usual form gives seconds from now; nonsense gives None."""
        now = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)

        assert parse_retry_after(headers, lambda: now) == expected
