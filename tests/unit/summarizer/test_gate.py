from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from lcm.domain.breakers import Breaker, BreakerState
from lcm.errors import EmptySummary, StorageError, SummarizerUnavailable
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.gate import BREAKER_OPEN, ProviderGate
from tests.factories import START, FakeClock

MODEL = "openai/gpt-x"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def unavailable(reason: str | None, retry_after_s: float | None = None) -> SummarizerUnavailable:
    return SummarizerUnavailable("It failed.", reason=reason, retry_after_s=retry_after_s)


async def call(gate: ProviderGate, failure: BaseException | None = None) -> None:
    """One call through the gate that ends like this."""
    async with gate.call():
        if failure is not None:
            raise failure


async def fail(gate: ProviderGate, *reasons: str) -> None:
    for reason in reasons:
        with pytest.raises(SummarizerUnavailable, match="It failed"):
            await call(gate, unavailable(reason))


async def breaker_of(project: ProjectStorage) -> Breaker | None:
    return await project.breakers.find("openai", MODEL)


async def state_of(project: ProjectStorage) -> BreakerState:
    found = await breaker_of(project)
    assert found is not None
    return found.state


class TestCall:
    async def test_leaves_no_trace_while_all_is_well(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Answers of a provider that never failed are not written down, useless ones neither."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)

        await call(gate)
        with pytest.raises(EmptySummary):
            await call(gate, EmptySummary("cut"))

        assert await breaker_of(project) is None

    async def test_three_failures_close_the_way_for_every_process(
        self, project: ProjectStorage, clock: FakeClock
    ) -> None:
        """Another gate over the same project is refused, before the block of its call begins."""
        await fail(ProviderGate(project.breakers, MODEL, clock=clock), "timeout", "timeout", "timeout")
        other = ProviderGate(project.breakers, MODEL, clock=clock)

        for attempt in (other.check(), call(other, AssertionError("the block ran"))):
            with pytest.raises(SummarizerUnavailable, match="not asked again before 2026-02-17 07:38 UTC") as caught:
                await attempt
            assert caught.value.reason == BREAKER_OPEN

    async def test_a_wish_to_wait_decides_until_when(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A usage limit of two hours opens at once for two hours."""
        with pytest.raises(SummarizerUnavailable):
            await call(ProviderGate(project.breakers, MODEL, clock=clock), unavailable("rate_limited", 7200))

        found = await breaker_of(project)
        assert found is not None
        assert (found.state, found.probe_at) == (BreakerState.OPEN, START + timedelta(hours=2))

    async def test_other_models_go_their_own_way(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A rejected key of one model says nothing about another."""
        await fail(ProviderGate(project.breakers, MODEL, clock=clock), "key_rejected")

        await call(ProviderGate(project.breakers, "openai/gpt-y", clock=clock))
        await call(ProviderGate(project.breakers, "azure/gpt-x", clock=clock))

    @pytest.mark.parametrize("reason", [None, "key_missing", "a word of the future"])
    async def test_who_was_not_asked_did_not_fail(
        self, project: ProjectStorage, clock: FakeClock, reason: str | None
    ) -> None:
        """A missing package or key is no fault of the provider."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)

        for _ in range(5):
            with pytest.raises(SummarizerUnavailable):
                await call(gate, unavailable(reason))

        assert await breaker_of(project) is None

    async def test_failures_side_by_side_are_all_counted(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Two processes that fail at the same time lose no count to each other."""
        gates = [ProviderGate(project.breakers, MODEL, clock=clock) for _ in range(2)]

        await asyncio.gather(*(fail(gate, "timeout") for gate in gates))

        found = await breaker_of(project)
        assert found is not None
        assert found.failures == 2

    async def test_a_breaker_that_cannot_be_written_does_not_hide_the_failure(
        self, project: ProjectStorage, clock: FakeClock
    ) -> None:
        """The provider's own failure reaches the caller, and an answer whose note fails is a storage failure."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)

        async def call_until_the_storage_is_closed() -> None:
            async with gate.call():
                await project.close()
                raise unavailable("timeout")

        with pytest.raises(SummarizerUnavailable, match="It failed"):
            await call_until_the_storage_is_closed()
        with pytest.raises(StorageError):
            await call(gate)

    async def test_a_change_of_state_is_logged(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Opening and closing, not each failure."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)

        with capture_logs() as logs:
            await fail(gate, "timeout", "timeout", "timeout")
            clock.now = START + timedelta(minutes=1)
            await call(gate)

        assert [(event["event"], event["state"]) for event in logs] == [
            ("breaker_changed", "open"),
            ("breaker_changed", "closed"),
        ]


class TestProbe:
    async def test_of_one_process_keeps_the_others_out(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Among eight gates that come when it is time, one makes the probe; after its answer all may call."""
        gates = [ProviderGate(project.breakers, MODEL, clock=clock) for _ in range(8)]
        await fail(gates[0], "key_rejected")
        clock.now = START + timedelta(seconds=60)
        entered, refused, may_end = asyncio.Event(), asyncio.Semaphore(0), asyncio.Event()

        async def probe(gate: ProviderGate) -> bool:
            try:
                async with gate.call():
                    entered.set()
                    await may_end.wait()
            except SummarizerUnavailable:
                refused.release()
                return False
            return True

        tasks = [asyncio.create_task(probe(gate)) for gate in gates]
        await entered.wait()
        for _ in range(7):
            await refused.acquire()
        may_end.set()

        assert sorted(await asyncio.gather(*tasks)) == [False] * 7 + [True]
        assert await state_of(project) is BreakerState.CLOSED
        await asyncio.gather(*(call(gate) for gate in gates))

    async def test_calls_of_the_same_gate_wait_for_its_verdict(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Conversations compacted side by side go on when the probe of one of them is answered."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)
        await fail(gate, "key_rejected")
        clock.now = START + timedelta(seconds=60)
        order: list[str] = []

        async def one(name: str) -> None:
            async with gate.call():
                order.append(f"{name} begins")
                await asyncio.sleep(0)
                order.append(f"{name} ends")

        await asyncio.gather(one("probe"), one("second"))

        assert order == ["probe begins", "probe ends", "second begins", "second ends"]

    async def test_that_fails_refuses_those_who_waited(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Twice as long now; nobody else of the command asks."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)
        await fail(gate, "timeout", "timeout", "timeout")
        clock.now = START + timedelta(seconds=60)

        results = await asyncio.gather(
            call(gate, unavailable("timeout")), call(gate), gate.check(), return_exceptions=True
        )

        assert ["not asked again before 2026-02-17 07:40" in str(result) for result in results] == [False, True, True]

    @pytest.mark.parametrize("end", [KeyError("x"), asyncio.CancelledError(), unavailable("key_missing")])
    async def test_without_a_verdict_is_due_again_at_once(
        self, project: ProjectStorage, clock: FakeClock, end: BaseException
    ) -> None:
        """A fault of our own, an interrupt or a missing key says nothing about the provider."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)
        await fail(gate, "key_rejected")
        clock.now = START + timedelta(seconds=60)

        with pytest.raises(type(end)):
            await call(gate, end)

        assert await state_of(project) is BreakerState.OPEN
        await call(gate)
        assert await state_of(project) is BreakerState.CLOSED

    async def test_that_is_cancelled_is_given_back(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A real cancellation of the task in the middle of its call."""
        gate = ProviderGate(project.breakers, MODEL, clock=clock)
        await fail(gate, "key_rejected")
        clock.now = START + timedelta(seconds=60)
        has_begun = asyncio.Event()

        async def hang() -> None:
            async with gate.call():
                has_begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(hang())
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await state_of(project) is BreakerState.OPEN
        await call(gate)


class TestForcedProbe:
    async def test_is_made_once_before_its_time(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A person's command asks at once; when that fails too, it asks no second time."""
        await fail(ProviderGate(project.breakers, MODEL, clock=clock), "key_rejected")
        forced = ProviderGate(project.breakers, MODEL, forces_probe=True, clock=clock)

        await forced.check()
        await fail(forced, "key_rejected")

        with pytest.raises(SummarizerUnavailable, match="not asked again"):
            await call(forced)

    async def test_is_not_used_up_by_a_probe_that_was_due(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Only a probe before its time is the one that may be forced."""
        forced = ProviderGate(project.breakers, MODEL, forces_probe=True, clock=clock)
        await fail(forced, "key_rejected")
        clock.now = START + timedelta(seconds=60)

        await fail(forced, "key_rejected", "key_rejected")

        with pytest.raises(SummarizerUnavailable, match="not asked again"):
            await call(forced)

    async def test_that_is_answered_opens_the_way_for_all(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A mended key is used by every process from then on."""
        automatic = ProviderGate(project.breakers, MODEL, clock=clock)
        await fail(automatic, "key_rejected")

        await call(ProviderGate(project.breakers, MODEL, forces_probe=True, clock=clock))

        await call(automatic)
