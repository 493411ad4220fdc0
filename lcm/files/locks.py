"""A lock between processes on one file (flock), waited for without blocking the event loop."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lcm.errors import StorageUnavailable
from lcm.files.permissions import open_private, safe_errors

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05
_BUSY = "Another lcm process holds the lock; try again when it is done."


class FileLock:
    """An exclusive lock shared by all processes that use the same path.

    One object holds at most one descriptor, and its tasks take turns in order; between objects and processes there is
    no order. The lock is released when the block ends, is cancelled, or the process dies. The file stays.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def hold(self, *, timeout_s: float = 30.0) -> AsyncIterator[None]:
        """Hold the lock during the block; `timeout_s` bounds the wait for it, and 0 tries once.

        Raises:
            StorageUnavailable: the time is over, or the file system cannot take a lock now.
            StorageError: the lock file is unsafe or cannot be opened.
        """
        deadline = asyncio.get_running_loop().time() + timeout_s
        await self._take_turn(deadline)
        try:
            descriptor = await self._acquire(deadline)
            try:
                yield
            finally:
                # Unlocked by name, because a forked child may still share the open file.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)
        finally:
            self._turn.release()

    async def _take_turn(self, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._turn.acquire()
        except TimeoutError:
            raise StorageUnavailable(_BUSY) from None

    async def _acquire(self, deadline: float) -> int:
        """The descriptor that carries the lock. There is no await between taking and returning it: nothing to leak."""
        loop = asyncio.get_running_loop()
        pause_s = _FIRST_PAUSE_S
        while (descriptor := _try_lock(self._path)) is None:
            remaining_s = deadline - loop.time()
            if remaining_s <= 0:
                raise StorageUnavailable(_BUSY)
            await asyncio.sleep(min(pause_s, remaining_s))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return descriptor


def _try_lock(path: Path) -> int | None:
    with safe_errors("Locking"):
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the locked file is still the one at `path`; a lock on a removed file excludes nobody."""
    try:
        found = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
