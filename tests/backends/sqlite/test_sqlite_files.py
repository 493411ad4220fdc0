"""The file of a project: who may read it, when it appears, and which file it is."""

# ruff: noqa: ASYNC240 - tests look at small files while nothing else runs

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from lcm.domain.conversations import Conversation
from lcm.errors import LcmError, MigrationError, SchemaTooNew, StorageError, StorageUnavailable
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from lcm.storage.sqlite.project import SqliteProject
from tests.backends.sqlite.conftest import Look, connected
from tests.conformance.steps import contents
from tests.factories import make_conversation, make_message, make_messages

ROOT = "/home/user/project"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class TestModes:
    async def test_files_and_folders_are_private(
        self, project: ProjectStorage, conversation: Conversation, home: Path
    ) -> None:
        """Every file is 0600 and every folder 0700, whatever the umask."""
        await project.conversations.append_messages(conversation.conversation_id, make_messages(3))

        found = {path: mode(path) for path in home.rglob("*")}

        assert mode(home) == 0o700
        assert {each for path, each in found.items() if path.is_dir()} == {0o700}
        assert {each for path, each in found.items() if path.is_file()} == {0o600}
        assert {path.name for path in found} >= {"db.sqlite", "db.sqlite-wal", "db.sqlite-shm", "db.sqlite.lock"}

    async def test_open_umask(self, home: Path) -> None:
        """A umask of 0 opens nothing to others."""
        before = os.umask(0)
        try:
            factory = SqliteFactory(home)
            project = await factory.open_project(ROOT)
            await project.conversations.create_conversation(make_conversation())
            modes = {mode(path) for path in home.rglob("*")}
            await factory.close()
        finally:
            os.umask(before)

        assert modes == {0o600, 0o700}


class TestCreation:
    async def test_only_the_finished_file_has_the_name(
        self, factory: SqliteFactory, home: Path, database: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While it is built the file has another name; nobody sees half of it."""
        seen: list[bool] = []
        link = os.link

        def watched_link(source: Path, target: Path, **options: bool) -> None:
            if target == database:
                seen.append(database.exists())
                with connected(source) as connection:
                    seen.append(connection.execute("SELECT count(*) FROM projects").fetchone() == (1,))
            link(source, target, **options)

        monkeypatch.setattr(os, "link", watched_link)
        await factory.open_project(ROOT)

        assert seen == [False, True]
        assert [path.name for path in database.parent.iterdir() if path.name.endswith(".new")] == []

    async def test_failure_leaves_nothing(
        self, factory: SqliteFactory, database: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A build that fails leaves no file under either name, and the next one succeeds."""
        with monkeypatch.context() as patched:
            patched.setattr("lcm.storage.sqlite.creation._link_in", refuse_to_link)
            with pytest.raises(StorageUnavailable):
                await factory.open_project(ROOT)

        assert list(database.parent.iterdir()) == []
        await factory.open_project(ROOT)

    async def test_maker_died_after_linking(self, factory: SqliteFactory, database: Path) -> None:
        """A second name that a dead maker left is removed at the next open; files of others stay."""
        project = await factory.open_project(ROOT)
        await project.close()
        left = database.with_name(".db.sqlite.0123456789abcdef.new")
        os.link(database, left)
        unfinished = database.with_name(".db.sqlite.fedcba9876543210.new")
        unfinished.touch()

        again = await factory.open_project(ROOT)

        assert again.project_id == project.project_id
        assert await factory.list_roots() == [ROOT]
        assert not left.exists()
        assert unfinished.exists()

    async def test_new_files_are_not_in_wal_mode(self, factory: SqliteFactory, database: Path, look: Look) -> None:
        """A file alone is complete: the log begins when it is opened."""
        factory._create(database, ROOT)

        assert look("PRAGMA journal_mode") == [("delete",)]


def refuse_to_link(temporary: Path, path: Path) -> None:
    raise OSError(28, "No space left on device")


class TestIdentity:
    @pytest.mark.parametrize("kind", ["symlink", "hard link", "folder"])
    async def test_not_a_plain_file(self, factory: SqliteFactory, database: Path, kind: str) -> None:
        """Links and folders under the name are not opened."""
        project = await factory.open_project(ROOT)
        await project.close()
        elsewhere = database.with_name("elsewhere")
        if kind == "hard link":
            os.link(database, elsewhere)
        else:
            database.rename(elsewhere)
            database.symlink_to(elsewhere) if kind == "symlink" else database.mkdir()

        with pytest.raises(StorageError):
            await factory.open_project(ROOT)

    async def test_replaced_while_it_is_opened(
        self, factory: SqliteFactory, database: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file that another one replaces between the look and the opening is refused before any use."""
        await (await factory.open_project(ROOT)).close()
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect

        def connect_late(*arguments: Any, **options: Any) -> sqlite3.Connection:
            copy = database.with_name("copy")
            shutil.copy(database, copy)
            copy.replace(database)
            return connect(*arguments, **options)

        monkeypatch.setattr(sqlite3, "connect", connect_late)

        with pytest.raises(StorageError, match="replaced"):
            await factory.open_project(ROOT)

    async def test_replaced_before_the_next_connection(
        self, project: ProjectStorage, database: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The connections of an open scope look as well."""
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect

        def connect_late(*arguments: Any, **options: Any) -> sqlite3.Connection:
            copy = database.with_name("copy")
            shutil.copy(database, copy)
            copy.replace(database)
            return connect(*arguments, **options)

        monkeypatch.setattr(sqlite3, "connect", connect_late)

        with pytest.raises(StorageError, match="replaced"):
            await project.conversations.list_conversations()

    async def test_removed(self, factory: SqliteFactory, database: Path) -> None:
        """A file that is gone is unavailable, not made anew, by a scope that is open."""
        project = await factory.open_project(ROOT)
        for path in database.parent.iterdir():
            if path.is_file():
                path.unlink()

        with pytest.raises(StorageUnavailable):
            await project.conversations.list_conversations()

        assert not database.exists()


class TestForeignFiles:
    @pytest.mark.parametrize("content", [b"not a database at all" * 500, b"", b"SQLite format 3\0" + b"\xff" * 8000])
    async def test_no_database(self, factory: SqliteFactory, database: Path, content: bytes) -> None:
        """Garbage is refused, left as it is, and named neither by path nor by content."""
        await (await factory.open_project(ROOT)).close()
        database.write_bytes(content)

        with pytest.raises(LcmError) as refused:
            await factory.open_project(ROOT)

        assert str(database) not in str(refused.value)
        assert database.read_bytes()[: len(content)] == content

    async def test_database_of_another_program(self, factory: SqliteFactory, database: Path) -> None:
        """A database that lcm did not write is refused and not migrated."""
        await (await factory.open_project(ROOT)).close()
        database.unlink()
        with connected(database) as connection:
            connection.execute("CREATE TABLE notes (text TEXT)")

        with pytest.raises(MigrationError):
            await factory.open_project(ROOT)

        with connected(database) as connection:
            assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("notes",)]

    async def test_newer_database(self, factory: SqliteFactory, project: ProjectStorage, look: Look) -> None:
        """A database of a newer lcm is refused plainly."""
        await project.close()
        look("INSERT INTO schema_migrations VALUES ('9999', ?, 0)", ("0" * 64,))

        with pytest.raises(SchemaTooNew):
            await factory.open_project(ROOT)

    async def test_damaged_pages(
        self, factory: SqliteFactory, project: ProjectStorage, conversation: Conversation, database: Path
    ) -> None:
        """Damage inside is an error of the storage, not of the driver, and health tells it."""
        for _ in range(5):
            await project.conversations.append_messages(conversation.conversation_id, [make_message("x" * 20_000)])
        await project.close()
        data = bytearray(database.read_bytes())
        data[len(data) // 2 :] = b"\xa5" * (len(data) - len(data) // 2)
        database.write_bytes(data)

        async def read() -> None:
            damaged = await factory.open_project(ROOT)
            await damaged.conversations.list_messages(conversation.conversation_id)
            await damaged.lexical_search.find_missing()

        with pytest.raises(LcmError) as refused:
            await read()

        assert str(database) not in str(refused.value)


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Iterator[None]:
    """Modes mean nothing to root: it acts as another user for the test."""
    if os.geteuid() != 0:
        yield
        return
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | 0o011)
    os.chown(tmp_path, 65534, 65534)
    os.seteuid(65534)
    yield
    os.seteuid(0)


class TestReadOnlyHome:
    async def test_nothing_can_be_created(self, ordinary_user: None, home: Path) -> None:
        """A home that cannot be written says so in one safe line."""
        home.parent.chmod(0o500)
        factory = SqliteFactory(home)

        with pytest.raises(StorageError) as refused:
            await factory.open_project(ROOT)

        assert str(home) not in str(refused.value)

    async def test_stored_project(self, ordinary_user: None, home: Path, database: Path) -> None:
        """A project whose files were made read-only is refused safely; nothing of it is lost."""
        factory = SqliteFactory(home)
        project = await factory.open_project(ROOT)
        made = await project.conversations.create_conversation(make_conversation())
        await project.conversations.append_messages(made.conversation_id, [make_message("kept")])
        await project.close()
        database.chmod(0o400)
        database.parent.chmod(0o500)

        async def write() -> None:
            again = await factory.open_project(ROOT)
            await again.conversations.create_conversation(make_conversation())

        with pytest.raises(StorageError) as refused:
            await write()
        database.parent.chmod(0o700)
        database.chmod(0o600)
        whole = await factory.open_project(ROOT)

        assert str(home) not in str(refused.value)
        assert await contents(whole, made.conversation_id) == ["kept"]
        await factory.close()


class TestPragmas:
    async def test_of_every_connection(self, project: ProjectStorage) -> None:
        """Durable, checked, without memory maps, with checkpoints by lcm only."""
        assert isinstance(project, SqliteProject)
        names = ("journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint", "mmap_size", "trusted_schema")
        async with project._file.begin(writes=False) as connection:
            values = [(await connection.execute(text(f"PRAGMA {name}"))).scalar() for name in names]

        assert values == ["wal", 2, 1, 0, 0, 0]

    async def test_the_file_is_sound(self, project: ProjectStorage, conversation: Conversation, look: Look) -> None:
        """After ordinary use SQLite's own checks find nothing."""
        stored = await project.conversations.append_messages(conversation.conversation_id, make_messages(5))
        await project.conversations.delete_messages([stored[1].message_id])

        assert look("PRAGMA integrity_check") == [("ok",)]
        assert look("PRAGMA foreign_key_check") == []


class TestCheckpoint:
    async def test_a_large_log_is_folded(
        self, project: ProjectStorage, conversation: Conversation, database: Path, tmp_path: Path
    ) -> None:
        """When the log exceeds its bound the next commit folds it: the file alone then holds the rows."""
        for _ in range(6):
            await project.conversations.append_messages(conversation.conversation_id, [make_message("x" * 1_000_000)])

        copy = tmp_path / "copy.sqlite"
        shutil.copy(database, copy)
        with connected(copy) as connection:
            (count,) = connection.execute("SELECT count(*) FROM messages").fetchone()
        assert count >= 3

    async def test_a_small_log_is_left(
        self, project: ProjectStorage, conversation: Conversation, database: Path
    ) -> None:
        """Small commits cost no checkpoint."""
        size = database.stat().st_size
        await project.conversations.append_messages(conversation.conversation_id, make_messages(50))

        assert database.stat().st_size == size
        assert database.with_name("db.sqlite-wal").stat().st_size > 0

    async def test_closing_folds_the_log(
        self, project: ProjectStorage, conversation: Conversation, database: Path, tmp_path: Path
    ) -> None:
        """After closing the file alone holds everything, also while another process has it open."""
        await project.conversations.append_messages(conversation.conversation_id, make_messages(5))
        with connected(database) as reader:
            reader.execute("SELECT count(*) FROM messages").fetchone()
            await project.close()
            copy = tmp_path / "copy.sqlite"
            shutil.copy(database, copy)

        with connected(copy) as connection:
            assert connection.execute("SELECT count(*) FROM messages").fetchone() == (5,)

    async def test_a_checkpoint_that_fails_takes_nothing_back(
        self,
        project: ProjectStorage,
        conversation: Conversation,
        database: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What was committed is acknowledged, even when the log cannot be folded after it."""
        monkeypatch.setattr("lcm.storage.sqlite.engine.CHECKPOINT_BYTES", 0)
        monkeypatch.setattr("lcm.storage.sqlite.engine._driver_of", refuse_driver)

        stored = await project.conversations.append_messages(conversation.conversation_id, make_messages(2))

        assert len(stored) == 2
        assert await project.conversations.count_messages(conversation.conversation_id) == 2


async def refuse_driver(connection: object) -> object:
    raise sqlite3.OperationalError("disk I/O error")
