"""Homes opened in this process, as the commands open them."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lcm.composition.build import OpenProjects, build_factory
from lcm.settings.load import load_settings
from lcm.settings.model import Settings
from lcm.storage.contracts.project import ProjectStorage

CLIENT = "claude"


@dataclass(frozen=True, slots=True)
class Store:
    """An open home with the default settings."""

    settings: Settings
    projects: OpenProjects

    async def project(self) -> ProjectStorage:
        """The only project of the home."""
        [root] = await self.projects.list_roots()
        return await self.projects.open(root)

    async def conversation_id(self) -> int:
        """The only conversation of the home."""
        [conversation] = await (await self.project()).conversations.list_conversations()
        return conversation.conversation_id


@asynccontextmanager
async def open_store(home: Path) -> AsyncIterator[Store]:
    settings = load_settings(environ={"LCM_HOME": str(home), "HOME": str(home)})
    projects = OpenProjects(settings, build_factory(settings))
    try:
        yield Store(settings, projects)
    finally:
        await projects.close()


async def least_cpu_ms(work: Callable[[], Awaitable[object]], runs: int) -> float:
    """Least CPU time of this process, all threads, over so many runs after one that warms up; in milliseconds."""
    await work()
    return min([await _cpu_ms(work) for _ in range(runs)])


async def _cpu_ms(work: Callable[[], Awaitable[object]]) -> float:
    gc.collect()
    started = time.process_time()
    await work()
    return 1_000 * (time.process_time() - started)
