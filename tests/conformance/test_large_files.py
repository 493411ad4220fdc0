"""The contract `LargeFileRepository`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lcm.domain.conversations import Conversation
from lcm.domain.large_files import LargeFile, NewLargeFile
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnknownFile, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, gather
from tests.factories import START, FakeClock, make_conversation

DIGEST = b"d" * 32


def make_file(conversation: Conversation, file_id: str = "file_1") -> NewLargeFile:
    return NewLargeFile(
        file_id=file_id,
        conversation_id=conversation.conversation_id,
        size_bytes=MAX_SAFE,
        content_sha256=DIGEST,
        storage_uri=f"files/{file_id}",
        file_name="Übersicht.csv",
        mime_type="text/csv",
        exploration_summary="3 columns",
    )


class TestInsertFile:
    async def test_what_is_given_is_stored(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every field comes back with the time of insertion."""
        stored = await project.large_files.insert_file(make_file(conversation))

        assert stored == LargeFile(
            file_id="file_1",
            conversation_id=conversation.conversation_id,
            size_bytes=MAX_SAFE,
            content_sha256=DIGEST,
            storage_uri="files/file_1",
            file_name="Übersicht.csv",
            mime_type="text/csv",
            exploration_summary="3 columns",
            created_at=START,
        )
        assert await project.large_files.get_file("file_1") == stored

    async def test_same_content_again(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock
    ) -> None:
        """The same content gives the first row, whatever else is said about it."""
        first = await project.large_files.insert_file(make_file(conversation))
        clock.advance()

        again = await project.large_files.insert_file(replace(make_file(conversation), file_name="other.csv"))

        assert again == first

    async def test_other_content(self, project: ProjectStorage, conversation: Conversation) -> None:
        """An id stands for one content."""
        first = await project.large_files.insert_file(make_file(conversation))

        with pytest.raises(IdentityConflict):
            await project.large_files.insert_file(replace(make_file(conversation), content_sha256=b"e" * 32))

        assert await project.large_files.list_files() == [first]

    async def test_twenty_tasks_converge(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Concurrent inserts of one content store it once."""
        stored = await gather(*[project.large_files.insert_file(make_file(conversation)) for _ in range(20)])

        assert len(set(stored)) == 1
        assert len(await project.large_files.list_files()) == 1

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["file_id", "storage_uri", "file_name", "mime_type", "exploration_summary"])
    async def test_unsafe_text(
        self, project: ProjectStorage, conversation: Conversation, field: str, text: str
    ) -> None:
        """Unsafe text is refused with its field."""
        with pytest.raises(UnsafeText) as refused:
            await project.large_files.insert_file(replace(make_file(conversation), **{field: text}))  # type: ignore[arg-type] # a field by name

        assert refused.value.field == field

    async def test_refused_values(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A size outside the safe integers, a short digest, no place, an unknown conversation."""
        new = make_file(conversation)
        insert = project.large_files.insert_file

        for size_bytes in (-1, MAX_SAFE + 1):
            with pytest.raises(OutOfRange, match="size_bytes"):
                await insert(replace(new, size_bytes=size_bytes))
        with pytest.raises(InvalidInput):
            await insert(replace(new, content_sha256=b"d"))
        with pytest.raises(InvalidInput):
            await insert(replace(new, storage_uri=""))
        with pytest.raises(IdentityConflict):
            await insert(replace(new, conversation_id=99))


class TestFindFiles:
    async def test_get_unknown(self, project: ProjectStorage) -> None:
        """A file that is not stored raises."""
        with pytest.raises(UnknownFile):
            await project.large_files.get_file("file_1")

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_get_unsafe(self, project: ProjectStorage, text: str) -> None:
        """An id that cannot be stored is refused."""
        with pytest.raises(UnsafeText, match="file_id"):
            await project.large_files.get_file(text)

    async def test_lists(self, project: ProjectStorage, conversation: Conversation, clock: FakeClock) -> None:
        """By creation time, then id; of the project or of one conversation."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        b = await project.large_files.insert_file(make_file(conversation, "file_b"))
        a = await project.large_files.insert_file(make_file(other, "file_a"))
        clock.advance(-60)
        c = await project.large_files.insert_file(make_file(conversation, "file_c"))

        assert await project.large_files.list_files() == [c, a, b]
        assert await project.large_files.list_files(conversation.conversation_id) == [c, b]
        assert await project.large_files.list_files(99) == []

    async def test_other_project(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A file of one project is unknown in another one, which may store its own under that id."""
        await project.large_files.insert_file(make_file(conversation))
        with pytest.raises(UnknownFile):
            await other_project.large_files.get_file("file_1")

        other = await other_project.conversations.create_conversation(make_conversation())
        stored = await other_project.large_files.insert_file(replace(make_file(other), content_sha256=b"e" * 32))

        assert stored.content_sha256 == b"e" * 32


class TestListById:
    async def test_gives_what_is_stored_by_id(
        self, project: ProjectStorage, conversation: Conversation, other_project: ProjectStorage
    ) -> None:
        """Each once, in order of id; what is not stored in this project is left out."""
        b = await project.large_files.insert_file(make_file(conversation, "file_b"))
        a = await project.large_files.insert_file(make_file(conversation, "file_a"))

        assert await project.large_files.list_by_id(["file_b", "file_c", "file_a", "file_b"]) == [a, b]
        assert await project.large_files.list_by_id([]) == []
        assert await other_project.large_files.list_by_id(["file_a"]) == []

    async def test_takes_any_number_of_ids(self, project: ProjectStorage, conversation: Conversation) -> None:
        """More than a statement has parameters."""
        stored = await project.large_files.insert_file(make_file(conversation, "file_33000"))

        assert await project.large_files.list_by_id([f"file_{number}" for number in range(40_000)]) == [stored]

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_ids(self, project: ProjectStorage, text: str) -> None:
        """Are refused."""
        with pytest.raises(UnsafeText):
            await project.large_files.list_by_id([text])


class TestFindByPrefix:
    async def test_gives_the_first_by_id(
        self, project: ProjectStorage, conversation: Conversation, other_project: ProjectStorage
    ) -> None:
        """At most as many as asked for, of this project."""
        files = [
            await project.large_files.insert_file(make_file(conversation, file_id))
            for file_id in ("file_ab2", "file_ab1", "file_b")
        ]

        assert await project.large_files.find_by_prefix("file_ab") == [files[1], files[0]]
        assert await project.large_files.find_by_prefix("file_", limit=1) == [files[1]]
        assert await other_project.large_files.find_by_prefix("file_") == []

    async def test_signs_of_patterns_are_letters(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Per cent and underscore mean themselves."""
        await project.large_files.insert_file(make_file(conversation, "file_a"))

        assert await project.large_files.find_by_prefix("fil%") == []
        assert await project.large_files.find_by_prefix("fil__") == []

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text_and_limits(self, project: ProjectStorage, text: str) -> None:
        """Are refused."""
        with pytest.raises(UnsafeText):
            await project.large_files.find_by_prefix(text)
        with pytest.raises(OutOfRange):
            await project.large_files.find_by_prefix("file_", limit=-1)
