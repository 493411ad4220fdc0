"""Storage of every backend, seen only through its contract; a further backend is one more entry of `BACKENDS`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from lcm.clock import Clock
from lcm.domain.conversations import Conversation
from lcm.storage.contracts.project import ProjectStorage, StorageFactory
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import FakeClock, make_conversation

ROOT = "/home/user/project"
OTHER_ROOT = "/home/user/other"


def open_sqlite(home: Path, clock: Clock) -> StorageFactory:
    return SqliteFactory(home, clock=clock)


BACKENDS: dict[str, Callable[[Path, Clock], StorageFactory]] = {
    "sqlite": open_sqlite,
}


@pytest.fixture
def clock() -> FakeClock:
    """Stands still: everything is created at one moment unless a test moves it."""
    return FakeClock()


@pytest.fixture(params=list(BACKENDS))
async def factory(request: pytest.FixtureRequest, home: Path, clock: FakeClock) -> AsyncIterator[StorageFactory]:
    opened = BACKENDS[request.param](home, clock)
    yield opened
    await opened.close()


@pytest.fixture
async def project(request: pytest.FixtureRequest, factory: StorageFactory) -> ProjectStorage:
    """An empty project; the test is skipped where the backend lacks a capability that its `needs` mark names."""
    opened = await factory.open_project(ROOT)
    for mark in request.node.iter_markers("needs"):
        for capability in mark.args:
            if not getattr(opened.capabilities, capability):
                pytest.skip(f"the {opened.capabilities.backend} backend does not offer {capability}")
    return opened


@pytest.fixture
async def other_project(factory: StorageFactory) -> ProjectStorage:
    """A second project of the same home."""
    return await factory.open_project(OTHER_ROOT)


@pytest.fixture
async def conversation(project: ProjectStorage) -> Conversation:
    return await project.conversations.create_conversation(make_conversation())
