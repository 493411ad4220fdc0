from __future__ import annotations

import hashlib
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.domain.large_files import NewLargeFile
from lcm.errors import AmbiguousId, InvalidInput, NotFound, UnknownFile, UnknownMessage, UnknownSummary
from lcm.retrieval.describe import (
    ConversationDescription,
    FileDescription,
    LevelOverview,
    MessageDescription,
    SummaryDescription,
    describe,
)
from lcm.retrieval.identify import resolve_conversation
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation, make_message, make_summary

KEY = uuid.UUID("0190aaaa-0000-7000-8000-000000000001")


@pytest.fixture
async def conversation_id(project: ProjectStorage) -> int:
    new = make_conversation("5f3c-session", conversation_key=KEY)
    return (await project.conversations.create_conversation(new)).conversation_id


async def add_message(project: ProjectStorage, conversation_id: int, content: str = "hello") -> int:
    message = make_message(content, ingest_key=hashlib.sha256(content.encode()).digest())
    return (await project.conversations.append_messages(conversation_id, [message]))[0].message_id


async def add_file(project: ProjectStorage, conversation_id: int, file_id: str) -> None:
    digest = hashlib.sha256(file_id.encode()).digest()
    await project.large_files.insert_file(NewLargeFile(file_id, conversation_id, 5, digest, f"files/{file_id}.txt"))


class TestDescribeSummary:
    async def test_leaf_names_its_messages_and_uppers(self, project: ProjectStorage, conversation_id: int) -> None:
        """Lineage goes both ways: messages below, the condensed summary above."""
        message_id = await add_message(project, conversation_id)
        leaf = await project.summaries.insert_summary(make_summary(conversation_id, "leaf"))
        await project.summaries.link_messages(leaf.summary_key, [message_id])
        root = await project.summaries.insert_summary(make_summary(conversation_id, "root", depth=1))
        await project.summaries.link_children(root.summary_key, [leaf.summary_key])

        described = await describe(project, leaf.summary_id)
        above = await describe(project, root.summary_id)

        assert described == SummaryDescription(leaf, (), (f"{conversation_id}:0",), (root.summary_id,), ())
        assert above == SummaryDescription(root, (leaf.summary_id,), (), (), (LevelOverview(0, 1, 3),))

    async def test_unique_beginning_is_enough(self, project: ProjectStorage, conversation_id: int) -> None:
        """Four characters behind `sum_` name the only summary that starts so."""
        leaf = await project.summaries.insert_summary(make_summary(conversation_id))

        described = await describe(project, leaf.summary_id[:8])

        assert isinstance(described, SummaryDescription)
        assert described.summary == leaf

    @pytest.mark.parametrize("identifier", ["sum_", "sum_ffff", "sum_0000000000000000"])
    async def test_unknown(self, project: ProjectStorage, identifier: str) -> None:
        """An id or beginning of no summary is an error of its own kind."""
        with pytest.raises(UnknownSummary):
            await describe(project, identifier)


class TestDescribeFile:
    async def test_metadata(self, project: ProjectStorage, conversation_id: int) -> None:
        """A stored file is described by its row."""
        await add_file(project, conversation_id, "file_aaaa000000000001")

        described = await describe(project, "file_aaaa000000000001")

        assert isinstance(described, FileDescription)
        assert described.file.size_bytes == 5

    async def test_ambiguous_beginning_lists_the_candidates(
        self, project: ProjectStorage, conversation_id: int
    ) -> None:
        """A beginning of two ids is refused with both."""
        for number in (1, 2):
            await add_file(project, conversation_id, f"file_aaaa00000000000{number}")

        with pytest.raises(AmbiguousId) as caught:
            await describe(project, "file_aaaa")

        assert sorted(caught.value.candidates) == ["file_aaaa000000000001", "file_aaaa000000000002"]

    async def test_unknown(self, project: ProjectStorage) -> None:
        """No such file."""
        with pytest.raises(UnknownFile):
            await describe(project, "file_0000000000000000")


class TestDescribeMessage:
    async def test_by_place_and_by_key(self, project: ProjectStorage, conversation_id: int) -> None:
        """Conversation id and seq, or the ingest key, give the message with its parts."""
        message_id = await add_message(project, conversation_id)

        by_place = await describe(project, f"{conversation_id}:0")
        by_key = await describe(project, hashlib.sha256(b"hello").hexdigest())

        assert isinstance(by_place, MessageDescription)
        assert by_place == by_key
        assert by_place.message.message_id == message_id
        assert [part.text_in(by_place.message.content) for part in by_place.parts] == ["hello"]

    @pytest.mark.parametrize("identifier", ["1:0", "9999999999999999:0", "404:1", "f" * 64])
    async def test_unknown(self, project: ProjectStorage, identifier: str) -> None:
        """A place or key without message is an error of its own kind."""
        with pytest.raises(UnknownMessage):
            await describe(project, identifier)


class TestDescribeConversation:
    async def test_figures(self, project: ProjectStorage, conversation_id: int) -> None:
        """A session id gives the overview of its conversation."""
        await add_message(project, conversation_id)

        described = await describe(project, "5f3c-session")

        assert isinstance(described, ConversationDescription)
        assert (described.kind, described.overview.message_count) == ("conversation", 1)


class TestResolveConversation:
    @pytest.mark.parametrize("text", ["1", "5f3c-session", " 5f3c-session ", "5f3c", str(KEY), "0190AAAA"])
    async def test_forms(self, project: ProjectStorage, conversation_id: int, text: str) -> None:
        """Integer id, session id, key and beginnings of either name the conversation."""
        assert (await resolve_conversation(project, text)).conversation_id == conversation_id

    async def test_session_of_two_segments_is_the_newest(self, project: ProjectStorage, conversation_id: int) -> None:
        """An exact session id and a beginning of it both give the newest segment."""
        newest = (await project.conversations.create_conversation(make_conversation("5f3c-session"))).conversation_id

        found = [(await resolve_conversation(project, text)).conversation_id for text in ("5f3c-session", "5f3c")]

        assert found == [newest, newest]

    async def test_beginning_of_two_sessions_is_ambiguous(self, project: ProjectStorage, conversation_id: int) -> None:
        """Both session ids are offered."""
        await project.conversations.create_conversation(make_conversation("5f3c-other"))

        with pytest.raises(AmbiguousId) as caught:
            await resolve_conversation(project, "5f3c")

        assert caught.value.candidates == ("5f3c-session", "5f3c-other")

    @pytest.mark.parametrize("text", ["5f3", "nothing", "99", "9" * 30])
    async def test_unknown(self, project: ProjectStorage, conversation_id: int, text: str) -> None:
        """Too short a beginning, and what names nothing, is not found."""
        with pytest.raises(NotFound):
            await resolve_conversation(project, text)


class TestAnyIdentifier:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        prefix=st.sampled_from(["", "sum_", "file_", "1:", "%", "_"]),
        text=st.text(st.characters(codec=None), max_size=12),
    )
    async def test_is_refused_safely(self, project: ProjectStorage, prefix: str, text: str) -> None:
        """Any text in an empty project is either invalid or not found."""
        with pytest.raises((InvalidInput, NotFound)):
            await describe(project, prefix + text)
