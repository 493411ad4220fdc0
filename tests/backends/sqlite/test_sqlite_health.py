"""Health and closing of the SQLite factory and its projects, with real contention and real faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from lcm.errors import ScopeMisused, StorageClosed, StorageError
from lcm.storage.contracts.health import Health, HealthStatus
from lcm.storage.sqlite.factory import SqliteFactory
from lcm.storage.sqlite.project import SqliteProject
from tests.factories import make_conversation
from tests.templates import OTHER_ROOT, ROOT, put_empty_project

#: Connections of a project; so many snapshots leave none for a probe.
POOL_SIZE = 4


@pytest.fixture
async def factory(home: Path) -> AsyncIterator[SqliteFactory]:
    opened = SqliteFactory(home)
    yield opened
    await opened.close()


@pytest.fixture
async def project(factory: SqliteFactory, home: Path) -> SqliteProject:
    put_empty_project(home, ROOT)
    return await factory.open_project(ROOT)


@pytest.fixture
async def other_project(factory: SqliteFactory, home: Path) -> SqliteProject:
    put_empty_project(home, OTHER_ROOT)
    return await factory.open_project(OTHER_ROOT)


async def busy(project: SqliteProject, until: asyncio.Event, is_full: asyncio.Event) -> None:
    """Hold every connection of a project until told to let go."""

    async def hold(stack: AsyncExitStack) -> None:
        snapshot = await stack.enter_async_context(project.snapshot())
        await snapshot.conversations.list_conversations()

    async def one(started: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            await hold(stack)
            started.set()
            await until.wait()

    started = [asyncio.Event() for _ in range(POOL_SIZE)]
    holders = [asyncio.create_task(one(each)) for each in started]
    for each in started:
        await each.wait()
    is_full.set()
    await asyncio.gather(*holders)


async def occupied(project: SqliteProject, until: asyncio.Event) -> asyncio.Task[None]:
    """A task that holds every connection of the project already."""
    is_full = asyncio.Event()
    task = asyncio.create_task(busy(project, until, is_full))
    await is_full.wait()
    return task


class Watched:
    """Counts how many probes of its projects run at once, and lets each wait until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *projects: SqliteProject, is_held: bool = False) -> None:
        self.running = self.most = self.ended = 0
        self.began = asyncio.Event()
        self.found = asyncio.Event()
        self.may_end = asyncio.Event()
        if not is_held:
            self.may_end.set()
        for project in projects:
            monkeypatch.setattr(project, "health", self._watch(project))

    def _watch(self, project: SqliteProject) -> object:
        probe = project.health

        async def health() -> Health:
            self.running += 1
            self.most = max(self.most, self.running)
            self.began.set()
            try:
                found = await probe()
                self.found.set()
                await self.may_end.wait()
                return found
            finally:
                self.running -= 1
                self.ended += 1

        return health


async def settled() -> None:
    """Let everything run that can run now."""
    for _ in range(20):
        await asyncio.sleep(0)


def hide(database: Path) -> None:
    database.rename(database.with_name("hidden"))


def bring_back(database: Path) -> None:
    database.with_name("hidden").rename(database)


def damaged_lock(database: Path) -> Path:
    """A folder where the lock file of a project belongs: it can be neither opened nor locked."""
    lock = database.with_name("db.sqlite.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    return lock


class TestFactoryHealth:
    async def test_overlapping_checks_probe_one_project_at_a_time(
        self,
        factory: SqliteFactory,
        project: SqliteProject,
        other_project: SqliteProject,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Five checks at once over two projects of one home never probe two of them together."""
        watched = Watched(monkeypatch, project, other_project)

        found = await asyncio.gather(*(factory.health() for _ in range(5)))

        assert {each.status for each in found} == {HealthStatus.HEALTHY}
        assert (watched.most, watched.ended) == (1, 10)

    async def test_factories_of_one_home_take_turns(
        self, factory: SqliteFactory, project: SqliteProject, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second factory on the same home waits for the probe of the first."""
        second = SqliteFactory(home)
        again = await second.open_project(ROOT)
        watched = Watched(monkeypatch, project, again)

        await asyncio.gather(factory.health(), second.health(), factory.health(), second.health())
        await second.close()

        assert (watched.most, watched.ended) == (1, 4)

    async def test_another_home_does_not_wait(
        self, factory: SqliteFactory, project: SqliteProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While a probe of one home is held, the factory of another home answers."""
        put_empty_project(tmp_path / "elsewhere", ROOT)
        elsewhere = SqliteFactory(tmp_path / "elsewhere")
        await elsewhere.open_project(ROOT)
        watched = Watched(monkeypatch, project, is_held=True)
        held = asyncio.create_task(factory.health())
        await watched.began.wait()

        assert (await elsewhere.health()).status is HealthStatus.HEALTHY
        assert not held.done()
        watched.may_end.set()
        assert (await held).status is HealthStatus.HEALTHY
        await elsewhere.close()

    async def test_tells_what_failed_without_naming_the_project(
        self, factory: SqliteFactory, project: SqliteProject, other_project: SqliteProject, database: Path
    ) -> None:
        """One project without its file makes the factory unavailable; neither path nor id is told."""
        hide(database)
        found = await factory.health()

        assert (found.status, found.project_id) == (HealthStatus.UNAVAILABLE, None)
        assert found.detail == "The project database is missing; import again or restore it."
        bring_back(database)

    async def test_a_cancelled_check_holds_nothing_up(
        self, factory: SqliteFactory, project: SqliteProject, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A check that is given up while it probes neither keeps the turn nor the shutdown."""
        watched = Watched(monkeypatch, project, is_held=True)
        given_up = asyncio.create_task(factory.health())
        await watched.began.wait()
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        watched.may_end.set()

        assert (await factory.health()).status is HealthStatus.HEALTHY
        await factory.close()


class TestFactoryClose:
    async def test_waits_for_probes_and_for_those_that_wait_for_their_turn(
        self,
        factory: SqliteFactory,
        project: SqliteProject,
        other_project: SqliteProject,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Connections stay until every check that began has ended; then each says closed and nothing else."""
        watched = Watched(monkeypatch, project, other_project, is_held=True)
        checks = [asyncio.create_task(factory.health()) for _ in range(3)]
        await watched.began.wait()
        closing = asyncio.create_task(factory.close())
        await settled()

        assert not closing.done()
        assert (project.is_closed, other_project.is_closed) == (False, False)
        watched.may_end.set()
        found = await asyncio.gather(*checks)
        await closing
        assert [(each.status, each.project_id, each.detail) for each in found] == [(HealthStatus.CLOSED, None, "")] * 3
        assert (project.is_closed, other_project.is_closed) == (True, True)

    async def test_a_probe_that_fails_late_says_closed(
        self, factory: SqliteFactory, project: SqliteProject, database: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Shutdown wins over an unavailable project whose probe settles afterwards."""
        watched = Watched(monkeypatch, project, is_held=True)
        hide(database)
        check = asyncio.create_task(factory.health())
        await watched.found.wait()
        bring_back(database)
        closing = asyncio.create_task(factory.close())
        await settled()
        watched.may_end.set()

        assert await check == Health(HealthStatus.CLOSED, "sqlite", "factory")
        await closing

    async def test_a_project_that_cannot_be_closed_is_tried_again(
        self, factory: SqliteFactory, project: SqliteProject, other_project: SqliteProject, database: Path
    ) -> None:
        """The other projects are closed all the same, the factory stays closed, and closing again ends it."""
        lock = damaged_lock(database)
        with pytest.raises(StorageError):
            await factory.close()

        assert (project.is_closed, other_project.is_closed) == (False, True)
        assert (await factory.health()).status is HealthStatus.CLOSED
        lock.rmdir()
        await factory.close()
        assert project.is_closed

    async def test_a_project_opened_meanwhile_is_not_left_open(self, factory: SqliteFactory, home: Path) -> None:
        """Closing while a project is being opened refuses it instead of leaving its connections behind."""
        put_empty_project(home, ROOT)
        opening = asyncio.create_task(factory.open_project(ROOT))
        await asyncio.sleep(0)
        await factory.close()

        with pytest.raises(StorageClosed):
            await opening


class TestProjectHealth:
    async def test_no_free_connection_is_unavailable(
        self, project: SqliteProject, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Real contention is reported, not hidden: with every connection in use the probe gives up waiting."""
        monkeypatch.setattr(project._file._engine.sync_engine.pool, "_timeout", 0.01)
        may_end = asyncio.Event()
        holders = await occupied(project, may_end)
        found = await project.health()
        may_end.set()
        await holders

        assert found.status is HealthStatus.UNAVAILABLE
        assert found.detail == "The project database is busy; try again when the other process is done."
        assert (await project.health()).status is HealthStatus.HEALTHY

    async def test_a_probe_that_settles_after_the_shutdown_began_says_closed(self, project: SqliteProject) -> None:
        """The probe waits for a connection, the project begins to close, and only that is told, with its identity."""
        may_end = asyncio.Event()
        holders = await occupied(project, may_end)
        probe = asyncio.create_task(project.health())
        await settled()
        closing = asyncio.create_task(project.close())
        await settled()

        during = await project.health()
        may_end.set()
        await asyncio.gather(holders, closing)
        expected = Health(HealthStatus.CLOSED, "sqlite", "project", str(project.project_id))
        assert (during, await probe) == (expected, expected)

    async def test_another_file_at_the_same_path_is_unavailable(
        self, project: SqliteProject, home: Path, tmp_path: Path, database: Path
    ) -> None:
        """A database that was moved away and replaced is not the one that the pool still reads."""
        put_empty_project(tmp_path / "elsewhere", ROOT)
        (copy,) = (tmp_path / "elsewhere").rglob("db.sqlite")
        copy.rename(database)
        found = await project.health()

        assert (found.status, found.project_id) == (HealthStatus.UNAVAILABLE, str(project.project_id))
        assert str(home) not in found.detail

    async def test_inside_a_transaction_is_refused(self, project: SqliteProject) -> None:
        """A misuse is an error of the program, not a state of the storage."""
        async with project.transaction():
            with pytest.raises(ScopeMisused):
                await project.health()


class TestProjectClose:
    async def test_a_failed_close_can_be_tried_again(self, project: SqliteProject, database: Path) -> None:
        """It tells the error to everyone who waits, opens the scope again, and the next attempt closes it."""
        lock = damaged_lock(database)
        failed = await asyncio.gather(project.close(), project.close(), return_exceptions=True)

        assert [type(each) for each in failed] == [StorageError, StorageError]
        assert str(database.parent) not in str(failed[0])
        assert (await project.health()).status is HealthStatus.HEALTHY
        lock.rmdir()
        made = await project.conversations.create_conversation(make_conversation())
        assert await project.conversations.list_conversations() == [made]
        await project.close()
        assert (await project.health()).status is HealthStatus.CLOSED
        with pytest.raises(StorageClosed):
            await project.conversations.list_conversations()

    async def test_a_caller_that_is_cancelled_does_not_stop_it(self, project: SqliteProject) -> None:
        """The attempt goes on for those who come later."""
        may_end = asyncio.Event()
        holders = await occupied(project, may_end)
        first = asyncio.create_task(project.close())
        await settled()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

        assert (await project.health()).status is HealthStatus.CLOSED
        may_end.set()
        await asyncio.gather(holders, project.close())
        assert project.is_closed
