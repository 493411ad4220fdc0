"""Storage of every backend, seen only through its contract; a further backend is one more entry of `BACKENDS`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lcm.clock import Clock
from lcm.domain.conversations import Conversation
from lcm.storage.contracts.project import ProjectStorage, StorageFactory
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import FakeClock, make_conversation
from tests.templates import OTHER_ROOT, ROOT, put_empty_project


@dataclass(frozen=True, slots=True)
class Backend:
    """How a backend is opened, and how an empty project is put there more cheaply than by creating it."""

    open: Callable[[Path, Clock], StorageFactory]
    put_empty_project: Callable[[Path, str], None]


def open_sqlite(home: Path, clock: Clock) -> StorageFactory:
    return SqliteFactory(home, clock=clock)


BACKENDS = {
    "sqlite": Backend(open_sqlite, put_empty_project),
}


@pytest.fixture
def clock() -> FakeClock:
    """Stands still: everything is created at one moment unless a test moves it."""
    return FakeClock()


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param]


@pytest.fixture
async def factory(backend: Backend, home: Path, clock: FakeClock) -> AsyncIterator[StorageFactory]:
    opened = backend.open(home, clock)
    yield opened
    await opened.close()


@pytest.fixture
async def project(
    request: pytest.FixtureRequest, backend: Backend, factory: StorageFactory, home: Path
) -> ProjectStorage:
    """An empty project; the test is skipped where the backend lacks a capability that its `needs` mark names."""
    backend.put_empty_project(home, ROOT)
    opened = await factory.open_project(ROOT)
    for mark in request.node.iter_markers("needs"):
        for capability in mark.args:
            if not getattr(opened.capabilities, capability):
                pytest.skip(f"the {opened.capabilities.backend} backend does not offer {capability}")
    return opened


@pytest.fixture
async def other_project(backend: Backend, factory: StorageFactory, home: Path) -> ProjectStorage:
    """A second project of the same home."""
    backend.put_empty_project(home, OTHER_ROOT)
    return await factory.open_project(OTHER_ROOT)


@pytest.fixture
async def conversation(project: ProjectStorage) -> Conversation:
    return await project.conversations.create_conversation(make_conversation())
