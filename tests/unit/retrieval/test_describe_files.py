"""A stored file as `describe` tells it: what it holds, and a page of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lcm.errors import OutOfRange
from lcm.large_files.pages import FilePage, PageSize, Place
from lcm.large_files.store import file_bytes, store_bytes
from lcm.retrieval.describe import FileDescription, describe
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation


async def store(
    project: ProjectStorage, content: bytes, name: str = "a.csv", *, exploration_summary: str | None = "told before"
) -> str:
    """The id of a file with these bytes."""
    conversation = await project.conversations.create_conversation(make_conversation())
    file = file_bytes(content, name=name, mime_type=None, exploration_summary=exploration_summary)
    new = store_bytes(project.files_folder, file, conversation.conversation_id)
    return (await project.large_files.insert_file(new)).file_id


async def described(project: ProjectStorage, file_id: str) -> FileDescription:
    found = await describe(project, file_id)
    assert isinstance(found, FileDescription)
    return found


def bytes_of(project: ProjectStorage) -> Path:
    (path,) = project.files_folder.glob("file_*")
    return path


class TestDescribeFile:
    async def test_tells_the_summary_and_the_first_page(self, project: ProjectStorage) -> None:
        """The summary is the one from the time of storing."""
        found = await described(project, await store(project, b"a,b\n1,2\n"))

        assert (found.exploration_summary, found.problem) == ("told before", None)
        assert found.page == FilePage("1", None, "a,b\n1,2\n", "utf-8")

    async def test_a_page_from_anywhere(self, project: ProjectStorage) -> None:
        """From a line on, of the size asked for."""
        file_id = await store(project, b"one\ntwo\nthree\nfour\n")
        found = await describe(project, file_id[:12], start=Place(2), page_size=PageSize(lines=2))

        assert isinstance(found, FileDescription)
        assert found.page == FilePage("2", "4", "two\nthree\n", "utf-8")

    async def test_one_stored_without_a_summary_is_explored_now(self, project: ProjectStorage) -> None:
        """Older files say as much as newer ones; the row stays as it is."""
        file_id = await store(project, b"a,b\n1,2\n", exploration_summary=None)
        found = await described(project, file_id)

        assert found.exploration_summary == "CSV: 1 row below the header\n2 columns: a, b\nfirst row: 1,2"
        assert (await project.large_files.get_file(file_id)).exploration_summary is None

    async def test_one_whose_bytes_are_gone_is_still_described(self, project: ProjectStorage) -> None:
        """Its row is told, and what is wrong."""
        file_id = await store(project, b"a")
        bytes_of(project).unlink()
        found = await described(project, file_id)

        assert (found.file.file_id, found.exploration_summary, found.page) == (file_id, "told before", None)
        assert found.problem == "The bytes of this file are gone from the project's folder."

    async def test_other_bytes_are_not_shown(self, project: ProjectStorage) -> None:
        """A file of another size is not the stored one."""
        file_id = await store(project, b"a")
        bytes_of(project).write_bytes(b"something else")
        found = await described(project, file_id)

        assert (found.page, found.problem) == (None, "The bytes of this file are not those that were stored.")

    async def test_page_sizes_have_limits(self, project: ProjectStorage) -> None:
        """A wrong one is refused, not read as a fault of the file."""
        with pytest.raises(OutOfRange):
            await describe(project, await store(project, b"a"), page_size=PageSize(chars=1))
