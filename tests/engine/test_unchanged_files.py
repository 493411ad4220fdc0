"""Files that did not change are not opened again, and nothing that is missing is ever taken for stored."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from lcm.composition.build import SEEN_FILES_NAME, OpenProjects, build_factory
from lcm.engine.importing import FileReport
from lcm.settings.load import load_settings
from lcm.transcripts.seen_files import FileState
from tests.engine.sessions import CWD, dialogue, to_bytes, write


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[OpenProjects]:
    settings = load_settings(environ={"LCM_HOME": str(home), "HOME": str(home.parent)})
    projects = OpenProjects(settings, build_factory(settings))
    try:
        yield projects
    finally:
        await projects.close()


async def import_file(home: Path, path: Path) -> FileReport:
    """As the command does: only what seems changed is read."""
    async with opened(home) as projects:
        importer = projects.importer()
        return await importer.find_unchanged(path, None) or await importer.import_file(path, "claude")


async def find_unchanged(home: Path, path: Path, client: str | None = None) -> FileReport | None:
    async with opened(home) as projects:
        return await projects.importer().find_unchanged(path, client)


async def message_count(home: Path) -> int:
    async with opened(home) as projects:
        project = await projects.find(CWD)
        assert project is not None
        conversations = await project.conversations.list_conversations()
        return sum([await project.conversations.count_messages(each.conversation_id) for each in conversations])


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A transcript whose times count as settled, however new it is."""
    monkeypatch.setattr(FileState, "is_settled", True)
    return write(tmp_path / "s.jsonl", *dialogue(4))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def database(home: Path) -> Path:
    return next(home.glob("projects/*/db.sqlite"))


class TestUnchangedFile:
    async def test_it_is_known_without_being_opened(self, home: Path, path: Path) -> None:
        """Neither the file nor its project is opened to tell that nothing is new."""
        await import_file(home, path)

        async with opened(home) as projects:
            found = await projects.importer().find_unchanged(path, None)
            assert projects.opened() == []

        assert found is not None
        assert (found.client, found.root, found.roots) == ("claude", CWD, (CWD,))
        assert found.counts.messages_new == 0

    async def test_what_is_appended_is_read(self, home: Path, path: Path) -> None:
        """A longer file is another state."""
        await import_file(home, path)
        with path.open("ab") as file:
            file.write(to_bytes(*dialogue(2, first=5)))

        assert (await import_file(home, path)).counts.messages_new == 2

    async def test_an_incomplete_last_line_is_looked_at_again(self, home: Path, tmp_path: Path, path: Path) -> None:
        """What is not read to its end is not remembered."""
        half = write(tmp_path / "half.jsonl", *dialogue(2))
        with half.open("ab") as file:
            file.write(b'{"type": "user"')
        await import_file(home, half)

        assert await find_unchanged(home, half) is None

    async def test_another_client_reads_it(self, home: Path, path: Path) -> None:
        """A file that was read as one client's is read again as another's."""
        await import_file(home, path)

        assert await find_unchanged(home, path, "codex") is None
        assert await find_unchanged(home, path, "claude") is not None

    async def test_a_file_that_changed_just_now_is_not_remembered(self, home: Path, tmp_path: Path) -> None:
        """Within a tick of the file system's clock it could change again without telling."""
        fresh = write(tmp_path / "fresh.jsonl", *dialogue(2))
        later = 4_000_000_000
        os.utime(fresh, (later, later))
        await import_file(home, fresh)

        assert await find_unchanged(home, fresh) is None


class TestLostCache:
    @pytest.mark.parametrize("content", [None, b"", b"no database at all" * 100])
    async def test_it_costs_time_only(self, home: Path, path: Path, content: bytes | None) -> None:
        """Without the cache, or with a damaged one, everything is read again and nothing is doubled."""
        await import_file(home, path)
        cache = home / SEEN_FILES_NAME
        cache.unlink()
        if content is not None:
            cache.write_bytes(content)

        assert (await import_file(home, path)).counts.messages_new == 0
        assert await message_count(home) == 4
        await import_file(home, path)
        assert await find_unchanged(home, path) is not None


class TestChangedDatabase:
    async def test_a_deleted_one_is_filled_again(self, home: Path, path: Path) -> None:
        """The cache does not stand for a database that is gone."""
        await import_file(home, path)
        shutil.rmtree(database(home).parent)

        assert (await import_file(home, path)).counts.messages_new == 4
        assert await message_count(home) == 4

    async def test_an_older_copy_put_back_is_filled_again(self, home: Path, tmp_path: Path, path: Path) -> None:
        """A backup written over the file in place has the same project and inode, but not the rows."""
        await import_file(home, path)
        backup = shutil.copyfile(database(home), tmp_path / "backup")
        with path.open("ab") as file:
            file.write(to_bytes(*dialogue(2, first=5)))
        await import_file(home, path)
        database(home).write_bytes(backup.read_bytes())

        assert (await import_file(home, path)).counts.messages_new == 2
        assert await message_count(home) == 6

    async def test_another_project_in_its_place_is_filled(self, home: Path, tmp_path: Path, path: Path) -> None:
        """Equal revisions do not make it the same project."""
        await import_file(home, path)
        other = tmp_path / "other"
        await import_file(other, write(tmp_path / "t.jsonl", *dialogue(2, first=50)))
        with closing(sqlite3.connect(database(other))) as connection, connection:
            connection.execute("UPDATE sources SET locator = ?", (str(path),))
        database(home).write_bytes(database(other).read_bytes())

        assert (await import_file(home, path)).counts.messages_new == 4

    async def test_one_that_others_wrote_to_is_asked(self, home: Path, path: Path) -> None:
        """It was changed since, but still holds the file at the revision it had: nothing is read again."""
        await import_file(home, path)
        async with opened(home) as projects:
            project = await projects.open(CWD)
            await project.conversations.update_conversation(1, title="Renamed")

        assert await find_unchanged(home, path) is not None
