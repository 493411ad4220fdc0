"""The way of a model call through the circuit breaker of its model, which is kept in the project."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

from lcm.clock import Clock, utc_now
from lcm.domain.breakers import Breaker
from lcm.domain.model_calls import FaultKind
from lcm.errors import EmptySummary, SummarizerUnavailable
from lcm.log import get_logger
from lcm.storage.contracts.breakers import BreakerRepository
from lcm.summarizer import breaker as decisions
from lcm.summarizer.breaker import BreakerPolicy, Verdict

log = get_logger(__name__)

#: The reason of a call that was not made.
BREAKER_OPEN = "breaker_open"


class ProviderGate:
    """See `lcm.summarizer.contract.CallGate`; one for all calls of a command to one model in one project.

    While a probe is on its way, other calls of the same gate wait for its verdict; those of other processes are
    refused. With `forces_probe` one probe is made even before its time: whoever compacts by hand has perhaps just
    mended what was wrong.
    """

    def __init__(
        self,
        breakers: BreakerRepository,
        model: str,
        *,
        forces_probe: bool = False,
        policy: BreakerPolicy | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._breakers = breakers
        self._provider = decisions.provider_of(model)
        self._model = model
        self._may_force = forces_probe
        self._policy = policy or BreakerPolicy()
        self._clock = clock
        #: Held while a decision is made, and by a probe until its verdict.
        self._deciding = asyncio.Lock()

    async def check(self) -> None:
        """See `CallGate.check`."""
        async with self._deciding:
            found = await self._find()
            if found is not None and self._verdict(found) is Verdict.REFUSED:
                raise _refused(found)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """See `CallGate.call`."""
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._deciding)
            is_probe = await self._enter()
            if not is_probe:
                await held.aclose()
            async with self._judged(is_probe=is_probe):
                yield

    async def _enter(self) -> bool:
        """Whether the call about to be made is a probe.

        Raises:
            SummarizerUnavailable: the breaker is open.
        """
        while True:
            found = await self._find()
            verdict = Verdict.ALLOWED if found is None else self._verdict(found)
            if found is None or verdict is Verdict.ALLOWED:
                return False
            if verdict is Verdict.REFUSED:
                raise _refused(found)
            now = self._clock()
            if await self._breakers.save(decisions.probed(found, now, self._policy), expected=found):
                self._may_force = self._may_force and decisions.verdict_of(found, now) is Verdict.PROBE
                return True

    @asynccontextmanager
    async def _judged(self, *, is_probe: bool) -> AsyncIterator[None]:
        """Note how the call in the block ends."""
        try:
            yield
        except EmptySummary:
            await self._note(decisions.answered)
            raise
        except SummarizerUnavailable as failure:
            # The failure matters more than a breaker that cannot be written.
            with contextlib.suppress(Exception):
                await self._note_failure(failure, is_probe=is_probe)
            raise
        except BaseException:
            if is_probe:
                with contextlib.suppress(Exception):
                    await self._note(decisions.abandoned)
            raise
        await self._note(decisions.answered)

    async def _note_failure(self, failure: SummarizerUnavailable, *, is_probe: bool) -> None:
        kind = next((kind for kind in FaultKind if kind.value == failure.reason), None)
        if kind is None or kind is FaultKind.KEY_MISSING:  # nobody was asked, so nobody failed
            if is_probe:
                await self._note(decisions.abandoned)
            return
        wait_s = failure.retry_after_s
        await self._note(lambda known, now: decisions.failed(known, kind, now, self._policy, retry_after_s=wait_s))

    async def _note(self, change: Callable[[Breaker, datetime], Breaker]) -> None:
        """Apply a change to what is noted by now; others may change it at the same time."""
        while True:
            found, now = await self._find(), self._clock()
            known = found or decisions.closed(self._provider, self._model, now)
            changed = change(known, now)
            if changed == known:
                return
            if await self._breakers.save(changed, expected=found):
                _log(known, changed)
                return

    async def _find(self) -> Breaker | None:
        return await self._breakers.find(self._provider, self._model)

    def _verdict(self, found: Breaker) -> Verdict:
        return decisions.verdict_of(found, self._clock(), forces_probe=self._may_force)


def _refused(found: Breaker) -> SummarizerUnavailable:
    return SummarizerUnavailable(decisions.refusal(found), reason=BREAKER_OPEN)


def _log(before: Breaker, after: Breaker) -> None:
    if before.state is not after.state:
        log.warning(
            "breaker_changed",
            provider=after.provider,
            model=after.model,
            state=after.state.value,
            failures=after.failures,
            error_code=after.error_code,
        )
