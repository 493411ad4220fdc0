"""Health checks of one factory: one project after another in a home, drained before the connections go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

from lcm.storage.contracts.health import Health, HealthStatus
from lcm.storage.sqlite.errors import BACKEND

_Turns = WeakValueDictionary[Path, asyncio.Lock]
#: Whose turn it is in each home, for everything that runs in one event loop.
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


class Probed(Protocol):
    """What can tell how it is."""

    async def health(self) -> Health: ...


class FactoryHealth:
    """The health checks of a factory.

    Probes of projects that share a home wait for each other, also those of overlapping checks and of other factories:
    they must not report each other's connections as contention. Homes are independent.
    """

    def __init__(self, home: Path) -> None:
        self._home = home.resolve()
        self._running = 0
        self._is_drained = asyncio.Event()
        self._is_drained.set()

    async def check(self, projects: Sequence[Probed], *, is_closed: Callable[[], bool]) -> Health:
        """The factory's state by that of its projects; once it is closed only that, whatever a probe still finds."""
        failed: list[Health] = []
        with self._registered():
            for project in projects:
                if is_closed():
                    break
                async with _turn_in(self._home):
                    found = await project.health()
                failed += [found] if found.status is HealthStatus.UNAVAILABLE else []
        if is_closed():
            return Health(HealthStatus.CLOSED, BACKEND, "factory")
        if failed:
            return Health(HealthStatus.UNAVAILABLE, BACKEND, "factory", detail=failed[0].detail)
        return Health(HealthStatus.HEALTHY, BACKEND, "factory")

    async def drain(self) -> None:
        """Wait for every check that began, those included whose probes are still waiting for their turn."""
        await self._is_drained.wait()

    @contextmanager
    def _registered(self) -> Iterator[None]:
        self._running += 1
        self._is_drained.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._is_drained.set()


@asynccontextmanager
async def _turn_in(home: Path) -> AsyncIterator[None]:
    turns = _turns.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    turn = turns.get(home)
    if turn is None:
        turn = turns[home] = asyncio.Lock()
    async with turn:
        yield
