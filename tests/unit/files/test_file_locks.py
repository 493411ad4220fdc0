import asyncio
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lcm.errors import StorageError, StorageUnavailable
from lcm.files.locks import FileLock

HOLDER = """
import asyncio, sys
from pathlib import Path
from lcm.files.locks import FileLock

async def main():
    async with FileLock(Path(sys.argv[1])).hold(timeout_s=30):
        print("held", flush=True)
        sys.stdin.read()

asyncio.run(main())
"""

COUNTER = """
import asyncio, sys
from pathlib import Path
from lcm.files.locks import FileLock

async def main():
    folder = Path(sys.argv[1])
    lock = FileLock(folder / "lock")
    for _ in range(50):
        async with lock.hold(timeout_s=60):
            count = int((folder / "count").read_text())
            await asyncio.sleep(0)
            (folder / "count").write_text(str(count + 1))

asyncio.run(main())
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


class TestFileLock:
    async def test_the_lock_file_is_private_and_stays(self, tmp_path: Path) -> None:
        """Holding creates the file with mode 0600; releasing leaves it and closes the descriptor."""
        lock = FileLock(tmp_path / "lock")
        before = open_descriptors()
        async with lock.hold():
            assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
            assert open_descriptors() == before + 1

        assert (tmp_path / "lock").exists()
        assert open_descriptors() == before

    async def test_another_process_is_waited_for_in_vain(self, tmp_path: Path, holder: subprocess.Popen[str]) -> None:
        """While another process holds the lock, the bounded wait ends as unavailable, with nothing left open."""
        lock = FileLock(tmp_path / "lock")
        before = open_descriptors()
        for timeout_s in (0, 0.02):
            with pytest.raises(StorageUnavailable, match="Another lcm process holds the lock"):
                async with lock.hold(timeout_s=timeout_s):
                    pass

        assert open_descriptors() == before

    async def test_a_process_that_ends_frees_the_lock(self, tmp_path: Path, holder: subprocess.Popen[str]) -> None:
        """Who waits gets the lock after the holder is killed."""
        waiter = asyncio.create_task(self.hold_once(FileLock(tmp_path / "lock")))
        await asyncio.sleep(0)
        assert not waiter.done()
        holder.kill()

        assert await waiter == "held"

    @staticmethod
    async def hold_once(lock: FileLock) -> str:
        async with lock.hold(timeout_s=60):
            return "held"

    def test_processes_exclude_each_other(self, tmp_path: Path) -> None:
        """Three processes that read, add one and write lose no step."""
        (tmp_path / "count").write_text("0")
        command = [sys.executable, "-c", COUNTER, str(tmp_path)]
        processes = [subprocess.Popen(command) for _ in range(3)]
        codes = [process.wait() for process in processes]

        assert codes == [0, 0, 0]
        assert (tmp_path / "count").read_text() == "150"

    async def test_tasks_take_turns_in_order(self, tmp_path: Path) -> None:
        """Tasks that wait on one object get the lock in the order in which they asked."""
        lock, order = FileLock(tmp_path / "lock"), []

        async def enter(number: int) -> None:
            async with lock.hold():
                await asyncio.sleep(0)
                order.append(number)

        await asyncio.gather(*(enter(number) for number in range(5)))

        assert order == [0, 1, 2, 3, 4]

    async def test_two_objects_exclude_each_other(self, tmp_path: Path) -> None:
        """Two objects on one path in one process are as two processes."""
        async with FileLock(tmp_path / "lock").hold():
            with pytest.raises(StorageUnavailable):
                async with FileLock(tmp_path / "lock").hold(timeout_s=0):
                    pass

    async def test_a_task_of_the_same_object_waits_within_its_time(self, tmp_path: Path) -> None:
        """The bound also covers the turn within one object."""
        lock = FileLock(tmp_path / "lock")
        async with lock.hold():
            with pytest.raises(StorageUnavailable):
                async with lock.hold(timeout_s=0.01):
                    pass

    async def test_a_cancelled_holder_releases(self, tmp_path: Path) -> None:
        """Cancelling the block frees the lock at once."""
        lock, entered = FileLock(tmp_path / "lock"), asyncio.Event()

        async def stay() -> None:
            async with lock.hold():
                entered.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(stay())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await self.hold_once(FileLock(tmp_path / "lock")) == "held"

    async def test_a_cancelled_waiter_leaves_nothing(self, tmp_path: Path, holder: subprocess.Popen[str]) -> None:
        """Cancelling the wait keeps no descriptor and no turn."""
        lock, before = FileLock(tmp_path / "lock"), open_descriptors()
        waiter = asyncio.create_task(self.hold_once(lock))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert open_descriptors() == before
        holder.kill()

        assert await self.hold_once(lock) == "held"

    async def test_a_failing_block_releases(self, tmp_path: Path) -> None:
        """An error in the block passes through and frees the lock."""
        lock = FileLock(tmp_path / "lock")
        with pytest.raises(ZeroDivisionError):
            async with lock.hold():
                _ = 1 / 0

        assert await self.hold_once(lock) == "held"

    async def test_a_link_as_lock_file_is_refused(self, tmp_path: Path) -> None:
        """A symbolic link is not followed, and the error does not name the path."""
        (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")

        with pytest.raises(StorageError, match="Locking failed: it is a symbolic link") as caught:
            await self.hold_once(FileLock(tmp_path / "lock"))

        assert str(tmp_path) not in str(caught.value)
        assert not (tmp_path / "elsewhere").exists()
