"""Several processes, full disks and cancelled statements on one project file."""

# ruff: noqa: ASYNC240 - tests look at small files while nothing else runs

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from lcm.domain.conversations import Conversation
from lcm.errors import LcmError, StorageError, StorageUnavailable
from lcm.files.locks import FileLock
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from lcm.storage.sqlite.project import SqliteProject
from tests.backends.sqlite.conftest import connected
from tests.factories import make_message, make_messages

ROOT = "/home/user/project"
REPOSITORY = Path(__file__).parents[3]

APPEND = """
import asyncio, sys
from pathlib import Path
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import make_conversation, make_messages

async def main():
    factory = SqliteFactory(Path(sys.argv[1]))
    project = await factory.open_project(sys.argv[2])
    made = await project.conversations.get_or_create_conversation(make_conversation())
    for _ in range(20):
        async with project.transaction() as tx:
            stored = await tx.conversations.append_messages(made.conversation_id, make_messages(5))
            await tx.context.append_messages(made.conversation_id, [each.message_id for each in stored])
    await factory.close()

asyncio.run(main())
"""

HOLD = """
import sys
from pathlib import Path
import asyncio
from lcm.files.locks import FileLock

async def main():
    async with FileLock(Path(sys.argv[1])).hold():
        print("held", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""

DIE_IN_A_TRANSACTION = """
import asyncio, os, sys
from pathlib import Path
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import make_conversation, make_messages

async def main():
    project = await SqliteFactory(Path(sys.argv[1])).open_project(sys.argv[2])
    made = await project.conversations.get_or_create_conversation(make_conversation())
    await project.conversations.append_messages(made.conversation_id, make_messages(3))
    async with project.transaction() as tx:
        await tx.conversations.append_messages(made.conversation_id, make_messages(500))
        os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class TestProcesses:
    async def test_three_processes_write(self, home: Path, factory: SqliteFactory) -> None:
        """Processes that create and fill one project at once lose nothing and agree on one conversation."""
        writers = [started(APPEND, str(home), ROOT) for _ in range(3)]
        codes = [await asyncio.to_thread(each.communicate) and each.returncode for each in writers]

        project = await factory.open_project(ROOT)
        (conversation,) = await project.conversations.list_conversations()
        messages = await project.conversations.list_messages(conversation.conversation_id)
        items = await project.context.list_items(conversation.conversation_id)

        assert codes == [0, 0, 0]
        assert [each.seq for each in messages] == list(range(300))
        assert len(items) == 300
        assert await project.lexical_search.find_missing() == []

    async def test_killed_writer(self, home: Path, factory: SqliteFactory) -> None:
        """A process killed inside a transaction leaves what it had committed, and the lock is free."""
        killed = started(DIE_IN_A_TRANSACTION, str(home), ROOT)
        await asyncio.to_thread(killed.communicate)

        project = await factory.open_project(ROOT)
        (conversation,) = await project.conversations.list_conversations()
        await project.conversations.append_messages(conversation.conversation_id, make_messages(1))

        assert killed.returncode == -9
        assert await project.conversations.count_messages(conversation.conversation_id) == 4
        assert await project.lexical_search.find_missing() == []

    async def test_lock_of_another_process(
        self,
        project: ProjectStorage,
        conversation: Conversation,
        database: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A writer waits for the lock and gives up after its time; readers do not wait."""
        monkeypatch.setattr("lcm.storage.sqlite.engine.LOCK_TIMEOUT_S", 0.05)
        holder = started(HOLD, str(database) + ".lock")
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"

        with pytest.raises(StorageUnavailable):
            await project.conversations.append_messages(conversation.conversation_id, make_messages(1))
        read = await project.conversations.list_messages(conversation.conversation_id)
        await asyncio.to_thread(holder.communicate, "go\n")
        await project.conversations.append_messages(conversation.conversation_id, make_messages(1))

        assert read == []

    async def test_lock_is_held_while_writing(
        self, project: ProjectStorage, conversation: Conversation, database: Path
    ) -> None:
        """The lock file is locked during a transaction and free after it."""
        lock = FileLock(Path(f"{database}.lock"))

        async with project.transaction():
            with pytest.raises(StorageUnavailable):
                async with lock.hold(timeout_s=0):
                    pass
        async with lock.hold(timeout_s=0):
            pass

    async def test_closing_beside_a_writer(
        self, project: ProjectStorage, conversation: Conversation, database: Path
    ) -> None:
        """A scope closes without waiting for the writer of another process."""
        holder = started(HOLD, str(database) + ".lock")
        assert holder.stdout is not None
        await asyncio.to_thread(holder.stdout.readline)

        await project.close()

        await asyncio.to_thread(holder.communicate, "go\n")


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """No file can grow beyond this, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestFullDisk:
    async def test_a_write_that_does_not_fit(
        self, project: ProjectStorage, conversation: Conversation, database: Path
    ) -> None:
        """The batch is refused whole with a remedy, and the project serves on when there is room again."""
        conversation_id = conversation.conversation_id
        await project.conversations.append_messages(conversation_id, make_messages(3))
        large = [make_message("secret-content " * 100_000) for _ in range(3)]

        with file_size_limit(1_500_000), pytest.raises(StorageUnavailable) as refused:
            await project.conversations.append_messages(conversation_id, large)

        assert "secret-content" not in str(refused.value)
        assert await project.conversations.count_messages(conversation_id) == 3
        await project.conversations.append_messages(conversation_id, large)
        assert await project.conversations.count_messages(conversation_id) == 6
        assert await project.lexical_search.find_missing() == []

    async def test_inside_a_transaction(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A full disk inside a transaction never leaves half of it."""
        conversation_id = conversation.conversation_id

        async def work() -> None:
            async with project.transaction() as tx:
                await tx.conversations.append_messages(conversation_id, make_messages(3))
                await tx.conversations.append_messages(conversation_id, [make_message("x" * 30_000_000)])

        with file_size_limit(1_500_000), pytest.raises(StorageError):
            await work()

        assert await project.conversations.count_messages(conversation_id) == 0
        await project.conversations.append_messages(conversation_id, make_messages(1))

    async def test_no_room_for_a_new_project(self, factory: SqliteFactory, database: Path) -> None:
        """A project that cannot be built leaves no file."""
        with file_size_limit(50_000), pytest.raises(LcmError):
            await factory.open_project(ROOT)

        assert not database.exists()
        await factory.open_project(ROOT)


ENDLESS = text(
    "WITH RECURSIVE counter(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counter) SELECT count(*) FROM counter"
)


class TestCancellation:
    @pytest.mark.parametrize("writes", [False, True])
    async def test_a_running_statement_is_interrupted(
        self, project: ProjectStorage, conversation: Conversation, writes: bool
    ) -> None:
        """A cancelled task stops a statement that would never end, and the project serves on."""
        assert isinstance(project, SqliteProject)
        executor = project._executor

        async def run() -> None:
            async with executor.operation("test", writes=writes) as connection:
                await connection.execute(ENDLESS)

        running = asyncio.create_task(run())
        # Not a wait for a time but for the statement to be on its thread; either way it must end.
        for _ in range(20):
            await asyncio.sleep(0.005)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 30)

        await project.conversations.append_messages(conversation.conversation_id, make_messages(2))
        assert await project.conversations.count_messages(conversation.conversation_id) == 2

    async def test_in_a_transaction(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The transaction of an interrupted statement is rolled back."""
        assert isinstance(project, SqliteProject)

        async def run() -> None:
            async with project._executor.transaction() as executor:
                repositories = project._maker.over(executor)
                await repositories.conversations.append_messages(conversation.conversation_id, make_messages(5))
                async with executor.operation("test", writes=True) as connection:
                    await connection.execute(ENDLESS)

        running = asyncio.create_task(run())
        for _ in range(20):
            await asyncio.sleep(0.005)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 30)

        assert await project.conversations.count_messages(conversation.conversation_id) == 0
        await project.conversations.append_messages(conversation.conversation_id, make_messages(1))

    async def test_connections_are_not_used_up(self, project: ProjectStorage, conversation: Conversation) -> None:
        """More cancellations than the pool has connections leave all of them usable."""
        for _ in range(12):
            task = asyncio.create_task(
                project.conversations.append_messages(conversation.conversation_id, make_messages(50))
            )
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        reads = await asyncio.gather(*[project.conversations.list_conversations() for _ in range(8)])

        assert [len(each) for each in reads] == [1] * 8


class TestBesideOtherPrograms:
    async def test_busy_database(
        self, project: ProjectStorage, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program that holds the database without the lock makes it busy, in a safe line."""
        assert isinstance(project, SqliteProject)
        await project.close()
        monkeypatch.setattr("lcm.storage.sqlite.engine.BUSY_TIMEOUT_MS", 1)
        path = project._file._path
        again = await SqliteFactory(path.parents[2]).open_project(ROOT)
        with connected(path) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageUnavailable, match="busy"):
                await again.conversations.append_messages(conversation.conversation_id, make_messages(1))
        await again.close()
