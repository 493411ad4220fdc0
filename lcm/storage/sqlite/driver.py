"""The SQLite driver with few trips between threads: a statement, its rows and what begins it make one.

aiosqlite runs every call in the connection's thread, and each trip there and back costs as much as a small statement.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import aiosqlite
from sqlalchemy import Connection
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.errors import StorageError
from lcm.storage.core.dialect import Ran
from lcm.storage.sqlite.errors import BACKEND

#: The name of the dialect in an engine's URL.
DRIVER = "sqlite+lcm"

Parameters = Sequence[Any]


class DriverConnection(aiosqlite.Connection):
    """Statements that only prepare the next one (BEGIN, SAVEPOINT) wait and go along with it.

    A cancelled await stops its statement; otherwise the cancellation would wait for the statement to end. It is stopped
    by the progress handler: `interrupt()` stays in force while any statement is open, and FTS5 keeps one open after an
    insert, so that not even the ROLLBACK would run (SQLite 3.40).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: list[str] = []
        self._is_idle = True
        self._is_given_up = False
        self._writes = True

    @property
    def is_idle(self) -> bool:
        """Nothing runs in the connection's thread, so what needs no database may be done outside of it."""
        return self._is_idle

    def is_given_up(self) -> bool:
        """The progress handler: whether what runs was cancelled."""
        return self._is_given_up

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction with the next statement. One that writes waits there for its turn."""
        self._writes = writes
        self.run_with_next("BEGIN IMMEDIATE" if writes else "BEGIN")

    def run_with_next(self, sql: str) -> None:
        """Have a statement run right before the next one; after an error it waits again."""
        self._waiting.append(sql)

    def take_back(self, sql: str) -> bool:
        """Drop a waiting statement and those behind it; whether it still waited."""
        if sql not in self._waiting:
            return False
        del self._waiting[self._waiting.index(sql) :]
        return True

    def run_waiting(self) -> None:
        """Called in the connection's thread. One that fails is still needed by the next statement."""
        if self._is_given_up:
            raise sqlite3.OperationalError("cancelled before it ran")
        while self._waiting:
            self._conn.execute(self._waiting[0])
            del self._waiting[0]

    async def run(self, sql: str, values: Parameters) -> Ran:
        """Run one statement without the layers between it and the driver."""
        ran: Ran = await self._execute(self._run, sql, values)
        return ran

    async def run_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement once for each row of values."""
        await self._execute(self._run_many, sql, rows)

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the connection's thread."""
        return await self._execute(function, *arguments)

    def cursor(self) -> DriverCursor:  # type: ignore[override]  # the library's is awaited, which costs a trip
        return DriverCursor(self, self._conn.cursor())

    async def commit(self) -> None:
        """What still waits never mattered: a transaction that did not begin, or savepoints that end with it."""
        if self._is_idle:
            self._waiting.clear()
        if self._is_outside_transaction():
            return
        if self._is_idle and not self._writes:
            self._conn.commit()  # only gives the snapshot back: less work than a trip
        else:
            await super().commit()

    async def rollback(self) -> None:
        if self._is_idle:
            self._waiting.clear()
        if not self._is_outside_transaction():
            await self._execute(self._roll_back)

    async def close(self) -> None:
        """A statement that something still refers to keeps a closed connection alive, and its transaction with it."""
        if self._connection is not None:
            await self._execute(self._roll_back)
        await super().close()

    def stop(self) -> asyncio.Future[Any] | None:
        self._tx.put_nowait((None, self._roll_back))
        return super().stop()

    async def _execute(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        self._is_idle = False
        try:
            result = await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            self._is_given_up = True
            raise
        except BaseException:
            self._is_idle = True
            raise
        self._is_idle = True
        return result

    def _run(self, sql: str, values: Parameters) -> Ran:
        self.run_waiting()
        cursor = self._conn.execute(sql, values)
        return Ran(cursor.fetchall(), cursor.rowcount)

    def _run_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        self.run_waiting()
        self._conn.executemany(sql, rows)

    def _is_outside_transaction(self) -> bool:
        return self._is_idle and self._connection is not None and not self._connection.in_transaction

    def _roll_back(self) -> None:
        """In the connection's thread, after what was cancelled."""
        self._is_given_up = False
        self._waiting.clear()
        if self._connection is not None and self._connection.in_transaction:
            self._connection.rollback()


class DriverCursor(aiosqlite.Cursor):
    """Fetches all rows on the trip that runs the statement."""

    _conn: DriverConnection

    def __init__(self, connection: DriverConnection, cursor: sqlite3.Cursor) -> None:
        super().__init__(connection, cursor)
        self._rows: list[Any] = []

    async def execute(self, sql: str, parameters: Iterable[Any] | None = None) -> aiosqlite.Cursor:
        await self._conn.call(self._run, sql, parameters or ())
        return self

    async def executemany(self, sql: str, parameters: Iterable[Iterable[Any]]) -> aiosqlite.Cursor:
        await self._conn.call(self._run_many, sql, parameters)
        return self

    async def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        if self._conn.is_idle:
            self._cursor.close()
        else:
            await super().close()

    def _run(self, sql: str, parameters: Parameters) -> None:
        self._conn.run_waiting()
        self._rows = self._cursor.execute(sql, parameters).fetchall()

    def _run_many(self, sql: str, parameters: Iterable[Parameters]) -> None:
        self._conn.run_waiting()
        self._cursor.executemany(sql, parameters)


class DriverDialect(SQLiteDialect_aiosqlite):
    """Savepoints without a trip of their own: taken with the first statement inside, released with the next after."""

    supports_statement_cache = True

    def do_savepoint(self, connection: Connection, name: str) -> None:
        driver_of(connection).run_with_next(_savepoint(name))

    def do_release_savepoint(self, connection: Connection, name: str) -> None:
        driver = driver_of(connection)
        if not driver.take_back(_savepoint(name)):
            driver.run_with_next(f"RELEASE SAVEPOINT {name}")

    def do_rollback_to_savepoint(self, connection: Connection, name: str) -> None:
        if not driver_of(connection).take_back(_savepoint(name)):
            connection.exec_driver_sql(f"ROLLBACK TO SAVEPOINT {name}")


def driver_of(connection: Connection) -> DriverConnection:
    """The driver's connection below one of SQLAlchemy's."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, DriverConnection):
        raise StorageError(backend=BACKEND)
    return driver


def driver_below(connection: AsyncConnection) -> DriverConnection:
    """The same, below an asynchronous connection that is open."""
    sync_connection = connection.sync_connection
    if sync_connection is None:
        raise StorageError(backend=BACKEND)
    return driver_of(sync_connection)


def _savepoint(name: str) -> str:
    return f"SAVEPOINT {name}"


registry.register("sqlite.lcm", __name__, DriverDialect.__name__)
