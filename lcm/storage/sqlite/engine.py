"""Connections to one project file: how they are opened, checked, begun, interrupted and closed."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiosqlite
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from lcm.errors import StorageError, StorageUnavailable
from lcm.files.locks import FileLock
from lcm.log import get_logger
from lcm.storage.sqlite.driver import DRIVER, DriverConnection, driver_of
from lcm.storage.sqlite.errors import BACKEND

log = get_logger(__name__)

BUSY_TIMEOUT_MS = 15_000
LOCK_TIMEOUT_S = 60.0
#: A passive checkpoint runs when the write-ahead log is larger than this.
CHECKPOINT_BYTES = 4 * 1024 * 1024
#: Steps of SQLite's virtual machine, some milliseconds, after which a statement looks whether it was cancelled.
_PROGRESS_STEPS = 100_000
_POOL_SIZE = 4
_WRITES = "lcm_writes"


class ProjectFile:
    """One project's database file: reads run side by side, writers take turns by a lock shared between processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path.with_name(path.name + ".lock"))
        self._engine = _make_engine(path)
        self._writer = self._engine.execution_options(**{_WRITES: True})
        self._running = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @asynccontextmanager
    async def begin(self, *, writes: bool) -> AsyncIterator[AsyncConnection]:
        """One transaction: commit on exit, roll back on an exception."""
        with self._counted():
            if not writes:
                async with self._transaction(writes=False) as connection:
                    yield connection
                return
            async with self._lock.hold(timeout_s=LOCK_TIMEOUT_S):
                async with self._transaction(writes=True) as connection:
                    yield connection
                await self._checkpoint_if_large()

    async def close(self) -> None:
        """Wait for what runs, fold the log into the file when nobody else is writing, close every connection."""
        await self._is_idle.wait()
        try:
            async with self._lock.hold(timeout_s=0.0):
                await self._checkpoint()
        except StorageUnavailable:
            pass  # another process writes: its own close folds the log
        finally:
            await self._engine.dispose()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._running += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    @asynccontextmanager
    async def _transaction(self, *, writes: bool) -> AsyncIterator[AsyncConnection]:
        async with (self._writer if writes else self._engine).begin() as connection:
            yield connection

    async def _checkpoint_if_large(self) -> None:
        log = self._path.with_name(self._path.name + "-wal")
        try:
            is_large = log.stat().st_size > CHECKPOINT_BYTES
        except FileNotFoundError:
            return
        if is_large:
            await self._checkpoint()

    async def _checkpoint(self) -> None:
        """On the driver's connection: SQLAlchemy would begin a transaction first, and then nothing is checkpointed.

        What was committed stays committed when the log cannot be folded now (full disk); a later checkpoint does it.
        """
        try:
            async with self._engine.connect() as connection:
                driver = await _driver_of(connection)
                cursor = await driver.execute("PRAGMA wal_checkpoint(PASSIVE)")
                await cursor.close()
        except (sqlite3.Error, SQLAlchemyError) as error:
            log.warning("checkpoint_failed", backend=BACKEND, code=getattr(error, "sqlite_errorcode", None))


async def _driver_of(connection: AsyncConnection) -> aiosqlite.Connection:
    driver = (await connection.get_raw_connection()).driver_connection
    if not isinstance(driver, aiosqlite.Connection):
        raise StorageError(backend=BACKEND)
    return driver


def _make_engine(path: Path) -> AsyncEngine:
    engine = create_async_engine(
        f"{DRIVER}://",
        async_creator=_opener(path),
        poolclass=AsyncAdaptedQueuePool,
        pool_size=_POOL_SIZE,
        max_overflow=0,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    """Writers take the write lock at once: a read that turns into a write could fail half-way."""
    driver_of(connection).begin(writes=connection.get_execution_options().get(_WRITES, False))


def _opener(path: Path) -> Callable[[], Awaitable[Any]]:
    async def open_connection() -> aiosqlite.Connection:
        before = identity_of(path)
        uri = f"file:{quote(str(path))}?mode=rw"
        connection = DriverConnection(
            lambda: sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False), iter_chunk_size=64
        )
        await connection
        try:
            require_identity(path, before)
            await _set_up(connection)
            require_identity(path, before)
        except BaseException:
            await connection.close()
            raise
        return connection

    return open_connection


async def _set_up(connection: DriverConnection) -> None:
    """FULL: an acknowledged message survives a power cut. No mmap: a torn file must be an error, not a crash."""
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "wal_autocheckpoint = 0",
        "mmap_size = 0",
        "cache_size = -16384",
        "trusted_schema = OFF",
    ):
        cursor = await connection.execute(f"PRAGMA {pragma}")
        await cursor.close()
    await connection.set_progress_handler(connection.is_given_up, _PROGRESS_STEPS)


def identity_of(path: Path) -> tuple[int, int]:
    """Device and inode of a file that is safe to open: regular, ours, with one name."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        raise StorageUnavailable("The project database is missing; import again or restore it.") from None
    except OSError:
        raise StorageUnavailable("The project database cannot be reached; check its folder.") from None
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid not in (os.geteuid(), 0):
        raise StorageError("The project database is not a plain file of your own; it was not opened.", backend=BACKEND)
    return found.st_dev, found.st_ino


def require_identity(path: Path, expected: tuple[int, int]) -> None:
    """The name must still mean the file that was opened."""
    if identity_of(path) != expected:
        raise StorageError("The project database was replaced while it was opened; try again.", backend=BACKEND)
