"""The driver: what goes along with the next statement, and what a cancellation leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import column, select, text

from lcm.domain.conversations import Conversation
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.dialect import sqlite_dialect
from lcm.storage.sqlite.driver import DriverConnection, driver_below
from lcm.storage.sqlite.engine import ProjectFile
from lcm.storage.sqlite.project import SqliteProject
from lcm.tables.types import Key
from tests.backends.sqlite.conftest import connected
from tests.factories import make_message

COUNT = text("SELECT count(*) FROM made")


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[ProjectFile]:
    """A database with one empty table `made` of unique numbers."""
    path = tmp_path / "db.sqlite"
    path.touch(0o600)
    with connected(path) as connection:
        connection.execute("CREATE TABLE made (n INTEGER UNIQUE)")
    opened = ProjectFile(path)
    yield opened
    await opened.close()


async def numbers_in(file: ProjectFile) -> list[int]:
    async with file.begin(writes=False) as connection:
        return [row.n for row in await connection.execute(text("SELECT n FROM made ORDER BY n"))]


class TestTransactions:
    async def test_begin_waits_for_the_first_statement(self, file: ProjectFile) -> None:
        """A transaction of no statements never begins."""
        async with file.begin(writes=True) as connection:
            driver = driver_below(connection)
            assert not driver.in_transaction
            await connection.execute(COUNT)
            assert driver.in_transaction

        assert not driver.in_transaction

    async def test_every_way_to_run_a_statement_begins(self, file: ProjectFile) -> None:
        """Through SQLAlchemy, straight to the driver, and for many rows: all in the transaction that is rolled back."""
        with pytest.raises(ZeroDivisionError):
            await _write_and_fail(file)

        assert await numbers_in(file) == []

    async def test_commit(self, file: ProjectFile) -> None:
        """What ran is there for the next transaction."""
        async with file.begin(writes=True) as connection:
            await driver_below(connection).run_many("INSERT INTO made VALUES (?)", [(1,), (2,)])

        assert await numbers_in(file) == [1, 2]


async def _write_and_fail(file: ProjectFile) -> None:
    async with file.begin(writes=True) as connection:
        driver = driver_below(connection)
        await driver.run_many("INSERT INTO made VALUES (?)", [(1,)])
        await connection.execute(text("INSERT INTO made VALUES (2)"))
        ran = await driver.run("INSERT INTO made VALUES (?)", (3,))
        assert (ran.rowcount, ran.first, ran.scalar) == (1, None, None)
        raise ZeroDivisionError


class TestSavepoints:
    async def test_undone_and_kept(self, file: ProjectFile) -> None:
        """What was undone is gone, what came before and after it stays, however many savepoints there were."""
        async with file.begin(writes=True) as connection:
            for number in range(5):
                savepoint = await connection.begin_nested()
                await connection.execute(text("INSERT INTO made VALUES (:n)"), {"n": number})
                await (savepoint.rollback() if number % 2 else savepoint.commit())

        assert await numbers_in(file) == [0, 2, 4]

    async def test_without_a_statement(self, file: ProjectFile) -> None:
        """Taken and given back, or undone, without anything in between: nothing happens."""
        async with file.begin(writes=True) as connection:
            await (await connection.begin_nested()).commit()
            await (await connection.begin_nested()).rollback()
            await connection.execute(text("INSERT INTO made VALUES (1)"))
            await (await connection.begin_nested()).rollback()

        assert await numbers_in(file) == [1]

    async def test_nested(self, file: ProjectFile) -> None:
        """The outer one takes the inner one back with it."""
        async with file.begin(writes=True) as connection:
            await connection.execute(text("INSERT INTO made VALUES (1)"))
            outer = await connection.begin_nested()
            inner = await connection.begin_nested()
            await connection.execute(text("INSERT INTO made VALUES (2)"))
            await inner.commit()
            await outer.rollback()

        assert await numbers_in(file) == [1]


class TestCancellation:
    @pytest.mark.parametrize("turns", range(12))
    async def test_after_the_search_index_was_written(
        self, project: ProjectStorage, conversation: Conversation, turns: int
    ) -> None:
        """FTS5 keeps a statement open; the transaction is given up all the same, and its lock with it."""
        conversation_id = conversation.conversation_id

        async def write() -> None:
            async with project.transaction() as tx:
                for _ in range(4):
                    await tx.conversations.append_messages(conversation_id, [make_message("words " * 500)])

        running = asyncio.create_task(write())
        for _ in range(turns):
            await asyncio.sleep(0.001)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

        assert await project.conversations.count_messages(conversation_id) in {0, 4}
        await project.conversations.append_messages(conversation_id, [make_message()])

    async def test_the_connection_is_as_new(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Cancelled again and again, no statement of a later operation is stopped."""
        assert isinstance(project, SqliteProject)
        for turns in range(8):
            task = asyncio.create_task(project.conversations.get_conversation(conversation.conversation_id))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

            found = await project.conversations.get_conversation(conversation.conversation_id)

            assert found == conversation


class TestAmong:
    @pytest.mark.parametrize(
        ("values", "found"),
        [
            ([], []),
            ([2], [2]),
            ([3, 1, 3], [1, 3]),
            (["a", 'quote"d', "b"], ["a", 'quote"d']),
            ([b"k" * 16], [b"k" * 16]),
            ([b"x" * 16, b"k" * 16, b"y" * 16], [b"k" * 16]),
            ([b"d" * 32, b"k" * 32], [b"d" * 32]),
        ],
    )
    async def test_finds_these_values(self, file: ProjectFile, values: list[object], found: list[object]) -> None:
        """Integers, texts, keys and digests, none of them twice, out of one parameter."""
        stored = [1, 2, 3, "a", 'quote"d', b"k" * 16, b"d" * 32]
        each = text("SELECT v FROM stored").columns(column("v")).subquery()
        async with file.begin(writes=True) as connection:
            await connection.execute(text("CREATE TABLE stored (v)"))
            await driver_below(connection).run_many("INSERT INTO stored VALUES (?)", [(value,) for value in stored])

            query = select(each.c.v).where(sqlite_dialect().among(each.c.v, values))
            rows = list(await connection.execute(query))

        assert [row.v for row in rows] == found

    def test_one_parameter_however_many(self) -> None:
        """A statement is built once for lists of any length."""
        dialect = sqlite_dialect()
        keys = dialect.among_bound(column("k", Key()), "keys").compile()

        assert list(keys.params) == ["keys"]
        assert dialect.among_value([1, 2]) == "[1, 2]"


class TestDriverBelow:
    async def test_is_ours(self, file: ProjectFile) -> None:
        """Every connection of a project file is one of these."""
        async with file.begin(writes=False) as connection:
            assert isinstance(driver_below(connection), DriverConnection)
