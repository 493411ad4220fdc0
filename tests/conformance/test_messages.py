"""The contract `ConversationRepository`: messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lcm.domain.content_digest import content_digest
from lcm.domain.conversations import Conversation
from lcm.domain.messages import Exclusion, IdentityKind, Message, MessagePart, PartType, Role
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnknownConversation, UnknownMessage, UnsafeText
from lcm.storage.contracts.lexical_search import MatchQuery, SearchFilters
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import (
    MAX_SAFE,
    UNSAFE_TEXTS,
    compact_messages,
    contents,
    gather,
    new_fork,
    shown,
    shown_messages,
    stored_messages,
)
from tests.factories import START, make_conversation, make_message, make_messages

KEY = b"k" * 32


class TestAppendMessages:
    async def test_seq_starts_at_zero_and_has_no_gaps(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Two batches give 0, 1, 2 and 3, 4 with ascending ids, in the given order."""
        first = await project.conversations.append_messages(conversation.conversation_id, make_messages(3))
        second = await project.conversations.append_messages(conversation.conversation_id, make_messages(2))

        stored = [*first, *second]
        assert [message.seq for message in stored] == [0, 1, 2, 3, 4]
        assert [message.message_id for message in stored] == sorted({message.message_id for message in stored})
        assert stored == await project.conversations.list_messages(conversation.conversation_id)

    async def test_what_is_given_is_stored(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every field comes back, read again as returned."""
        new = make_message(
            "run it",
            role="assistant",
            minutes=5,
            token_count=MAX_SAFE,
            ingest_key=KEY,
            identity_kind=IdentityKind.POSITION,
            identity_occurrence=MAX_SAFE,
            api_message_id="msg_1",
            source_ordinal=MAX_SAFE,
            exclusion=Exclusion.META,
        )

        (stored,) = await project.conversations.append_messages(conversation.conversation_id, [new])

        assert stored == Message(
            message_id=stored.message_id,
            conversation_id=conversation.conversation_id,
            seq=0,
            role=Role.ASSISTANT,
            content="run it",
            token_count=MAX_SAFE,
            occurred_at=START + timedelta(minutes=5),
            created_at=START,
            ingest_key=KEY,
            identity_kind=IdentityKind.POSITION,
            identity_occurrence=MAX_SAFE,
            api_message_id="msg_1",
            source_ordinal=MAX_SAFE,
            exclusion=Exclusion.META,
            content_sha256=content_digest("assistant", "run it", new.parts),
        )
        assert await project.conversations.get_message(stored.message_id) == stored

    @pytest.mark.parametrize("role", list(Role))
    async def test_every_role(self, project: ProjectStorage, conversation: Conversation, role: Role) -> None:
        """All four roles are stored as they are."""
        (stored,) = await project.conversations.append_messages(
            conversation.conversation_id, [make_message(role=role.value)]
        )

        assert (await project.conversations.get_message(stored.message_id)).role is role

    @pytest.mark.parametrize(
        "content",
        ["", " \n\t ", "日本語 👩‍👩‍👧 e\u0301", "\x01\x1b[31m\u202e\ufeff\U0010ffff", "'; DROP TABLE x; --%s ? :x"],
    )
    async def test_text_is_kept_exactly(
        self, project: ProjectStorage, conversation: Conversation, content: str
    ) -> None:
        """Text is stored code point for code point."""
        await project.conversations.append_messages(conversation.conversation_id, [make_message(content)])

        assert await contents(project, conversation.conversation_id) == [content]

    async def test_tens_of_megabytes(self, project: ProjectStorage, conversation: Conversation) -> None:
        """One message of 20 MB is stored whole."""
        content = "0123456789abcde\n" * (20 * 1024 * 1024 // 16)
        await project.conversations.append_messages(conversation.conversation_id, [make_message(content)])

        assert (await contents(project, conversation.conversation_id))[0] == content

    async def test_empty_batch(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Appending nothing stores nothing."""
        assert await project.conversations.append_messages(conversation.conversation_id, []) == []
        assert await project.conversations.count_messages(conversation.conversation_id) == 0

    async def test_context_is_left_alone(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Appended messages are not in the context and its revision stays."""
        await project.conversations.append_messages(conversation.conversation_id, make_messages(2))

        assert await shown(project, conversation.conversation_id) == []
        assert (await project.conversations.get_conversation(conversation.conversation_id)).context_revision == 0

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """A segment that is not stored takes no messages."""
        with pytest.raises(UnknownConversation):
            await project.conversations.append_messages(99, make_messages(1))

    async def test_explicit_seq_is_refused(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Append allocates; who has a seq uses `create_messages`."""
        with pytest.raises(InvalidInput, match="create_messages"):
            await project.conversations.append_messages(conversation.conversation_id, [make_message(seq=0)])

    async def test_no_key_makes_a_random_one(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Equal messages without a key are two messages."""
        stored = await project.conversations.append_messages(
            conversation.conversation_id, [make_message(), make_message()]
        )

        assert len({message.ingest_key for message in stored}) == 2
        assert {len(message.ingest_key) for message in stored} == {32}

    async def test_taken_key_leaves_nothing_of_the_batch(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A key that is stored, even in another segment, refuses the whole batch."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        await project.conversations.append_messages(other.conversation_id, [make_message(ingest_key=KEY)])
        batch = [*make_messages(3), make_message(ingest_key=KEY)]

        with pytest.raises(IdentityConflict):
            await project.conversations.append_messages(conversation.conversation_id, batch)

        assert await project.conversations.count_messages(conversation.conversation_id) == 0

    async def test_key_of_wrong_length(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A key has 32 bytes."""
        with pytest.raises(InvalidInput):
            await project.conversations.append_messages(conversation.conversation_id, [make_message(ingest_key=b"k")])

    async def test_unknown_source(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A source that is not stored is refused."""
        with pytest.raises(IdentityConflict):
            await project.conversations.append_messages(conversation.conversation_id, [make_message(source_id=99)])

    async def test_twenty_tasks_append(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Concurrent batches each get a contiguous run, without gaps between them."""
        calls = [
            project.conversations.append_messages(conversation.conversation_id, make_messages(3)) for _ in range(20)
        ]

        batches = await gather(*calls)

        runs = sorted([message.seq for message in batch] for batch in batches)
        assert runs == [[n, n + 1, n + 2] for n in range(0, 60, 3)]

    async def test_after_the_last_safe_seq(self, project: ProjectStorage, conversation: Conversation) -> None:
        """When the safe integers are used up the append is refused."""
        await project.conversations.create_messages(conversation.conversation_id, [make_message(seq=MAX_SAFE)])

        with pytest.raises(OutOfRange, match="seq"):
            await project.conversations.append_messages(conversation.conversation_id, [make_message()])


class TestRefusedMessages:
    """What `append_messages` and `create_messages` validate before their first statement."""

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["content", "api_message_id"])
    async def test_unsafe_text(
        self, project: ProjectStorage, conversation: Conversation, field: str, text: str
    ) -> None:
        """Unsafe text anywhere in a batch is refused with its field, and none of the batch is stored."""
        bad = replace(make_message(), **{field: text})  # type: ignore[arg-type] # a field by name

        with pytest.raises(UnsafeText) as refused:
            await project.conversations.append_messages(conversation.conversation_id, [*make_messages(2), bad])

        assert refused.value.field == field
        assert await project.conversations.count_messages(conversation.conversation_id) == 0

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["text", "tool_call_id", "tool_name", "file_id", "metadata"])
    async def test_unsafe_text_in_a_part(
        self, project: ProjectStorage, conversation: Conversation, field: str, text: str
    ) -> None:
        """Parts are refused the same way, on append and when added later."""
        part = MessagePart(1, PartType.REASONING, **{"text": "why", field: text})  # type: ignore[arg-type] # a field by name
        (stored,) = await project.conversations.append_messages(conversation.conversation_id, [make_message()])

        with pytest.raises(UnsafeText) as appended:
            await project.conversations.append_messages(conversation.conversation_id, [make_message(parts=(part,))])
        with pytest.raises(UnsafeText) as added:
            await project.conversations.create_parts(stored.message_id, [part])

        assert (appended.value.field, added.value.field) == (f"part.{field}", f"part.{field}")

    @pytest.mark.parametrize("value", [-1, MAX_SAFE + 1, 2**70, True, 1.5])
    @pytest.mark.parametrize("field", ["token_count", "identity_occurrence", "source_ordinal", "seq"])
    async def test_unsafe_integer(
        self, project: ProjectStorage, conversation: Conversation, field: str, value: Any
    ) -> None:
        """Numbers outside the safe integers are refused with their field; none of the batch is stored."""
        bad = replace(make_message(seq=1), **{field: value})

        with pytest.raises(OutOfRange) as refused:
            await project.conversations.create_messages(conversation.conversation_id, [make_message(seq=0), bad])

        assert refused.value.field == field
        assert await project.conversations.count_messages(conversation.conversation_id) == 0

    async def test_time_without_zone(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A time that does not say its zone is refused."""
        bad = replace(make_message(), occurred_at=START.replace(tzinfo=None))

        with pytest.raises(InvalidInput, match="occurred_at"):
            await project.conversations.append_messages(conversation.conversation_id, [bad])


class TestCreateMessages:
    async def test_explicit_sequence(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Messages keep the seq they come with, gaps included, and are read by it."""
        batch = [make_message(str(seq), seq=seq) for seq in (7, 0, MAX_SAFE)]

        stored = await project.conversations.create_messages(conversation.conversation_id, batch)

        assert [message.seq for message in stored] == [7, 0, MAX_SAFE]
        assert await contents(project, conversation.conversation_id) == ["0", "7", str(MAX_SAFE)]

    async def test_append_goes_on_behind(self, project: ProjectStorage, conversation: Conversation) -> None:
        """After explicit ones, append continues at the highest."""
        await project.conversations.create_messages(conversation.conversation_id, [make_message(seq=7)])

        stored = await project.conversations.append_messages(conversation.conversation_id, make_messages(2))

        assert [message.seq for message in stored] == [8, 9]

    @pytest.mark.parametrize("taken", [[3, 3], [5]])
    async def test_taken_seq(self, project: ProjectStorage, conversation: Conversation, taken: list[int]) -> None:
        """A seq that is stored or occurs twice refuses the whole batch."""
        await project.conversations.create_messages(conversation.conversation_id, [make_message(seq=5)])

        with pytest.raises(IdentityConflict):
            await project.conversations.create_messages(
                conversation.conversation_id, [make_message(seq=0), *(make_message(seq=seq) for seq in taken)]
            )

        assert await project.conversations.count_messages(conversation.conversation_id) == 1

    async def test_missing_seq(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every message needs its seq."""
        with pytest.raises(InvalidInput):
            await project.conversations.create_messages(conversation.conversation_id, [make_message()])

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """A segment that is not stored takes no messages."""
        with pytest.raises(UnknownConversation):
            await project.conversations.create_messages(99, [make_message(seq=0)])


class TestListMessages:
    @pytest.mark.parametrize(
        ("after_seq", "limit", "expected"),
        [
            (-1, None, [0, 1, 2, 3, 4]),
            (-1, -1, [0, 1, 2, 3, 4]),
            (-1, 0, []),
            (-1, 2, [0, 1]),
            (0, None, [1, 2, 3, 4]),
            (2, 1, [3]),
            (2, 99, [3, 4]),
            (4, None, []),
            (MAX_SAFE, None, []),
        ],
    )
    async def test_pages(
        self,
        project: ProjectStorage,
        conversation: Conversation,
        after_seq: int,
        limit: int | None,
        expected: list[int],
    ) -> None:
        """`after_seq` is exclusive; a limit of None or below zero is none, 0 gives nothing."""
        await stored_messages(project, conversation.conversation_id, 5)

        page = await project.conversations.list_messages(conversation.conversation_id, after_seq=after_seq, limit=limit)

        assert [message.seq for message in page] == expected

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """Every reading of one segment says that it is not stored."""
        conversations = project.conversations
        for read in (
            conversations.list_messages,
            conversations.find_last_message,
            conversations.find_last_seq,
            conversations.count_messages,
        ):
            with pytest.raises(UnknownConversation):
                await read(99)


class TestFindMessages:
    async def test_get_unknown(self, project: ProjectStorage) -> None:
        """A message that is not stored raises."""
        with pytest.raises(UnknownMessage):
            await project.conversations.get_message(99)

    async def test_by_id_in_the_order_given(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Known ids of any conversation come in the order asked for, unknown ones are left out."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        first, second = await stored_messages(project, conversation.conversation_id, 2)
        (third,) = await stored_messages(project, other.conversation_id, 1)

        found = await project.conversations.list_messages_by_id([third, 99, second, first, third])

        assert [message.message_id for message in found] == [third, second, first, third]
        assert await project.conversations.list_messages_by_id([]) == []

    async def test_forty_thousand_ids(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The number of ids is not bounded by what a statement can bind."""
        ids = await stored_messages(project, conversation.conversation_id, 3)

        found = await project.conversations.list_messages_by_id(range(40_000, 0, -1))

        assert [message.message_id for message in found] == ids[::-1]

    async def test_last(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The last is the one with the highest seq; an empty segment has none."""
        assert await project.conversations.find_last_message(conversation.conversation_id) is None
        assert await project.conversations.find_last_seq(conversation.conversation_id) is None
        await project.conversations.create_messages(
            conversation.conversation_id, [make_message("last", seq=9), make_message("first", seq=2)]
        )

        last = await project.conversations.find_last_message(conversation.conversation_id)

        assert last is not None
        assert last.content == "last"
        assert await project.conversations.find_last_seq(conversation.conversation_id) == 9

    async def test_has_message(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Content and role must be exactly these, in this segment."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        await project.conversations.append_messages(conversation.conversation_id, [make_message("Hello")])
        has = project.conversations.has_message

        assert await has(conversation.conversation_id, Role.USER, "Hello") is True
        assert await has(conversation.conversation_id, Role.USER, "hello") is False
        assert await has(conversation.conversation_id, Role.TOOL, "Hello") is False
        assert await has(other.conversation_id, Role.USER, "Hello") is False

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_has_message_with_unsafe_text(
        self, project: ProjectStorage, conversation: Conversation, text: str
    ) -> None:
        """An exact look-up refuses what cannot be stored."""
        with pytest.raises(UnsafeText, match="content"):
            await project.conversations.has_message(conversation.conversation_id, Role.USER, text)

    async def test_counts(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Messages are counted by segment and over all segments of the exact session."""
        second = await project.conversations.create_conversation(make_conversation())
        await stored_messages(project, conversation.conversation_id, 2)
        await stored_messages(project, second.conversation_id, 3)

        assert await project.conversations.count_messages(second.conversation_id) == 3
        assert await project.conversations.count_messages_of_session("session-1") == 5
        assert await project.conversations.count_messages_of_session("session") == 0


class TestDeleteMessages:
    async def test_everything_of_it_goes(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Message, parts, context item and search words go; what stays keeps its seq."""
        conversation_id = conversation.conversation_id
        first, second, third = await shown_messages(project, conversation_id, 3)
        before = (await project.conversations.get_conversation(conversation_id)).context_revision

        assert await project.conversations.delete_messages([second]) == 1

        assert [each.seq for each in await project.conversations.list_messages(conversation_id)] == [0, 2]
        assert set(await project.conversations.list_parts([first, second, third])) == {first, third}
        assert [each.message_id for each in await shown(project, conversation_id)] == [first, third]
        after = (await project.conversations.get_conversation(conversation_id)).context_revision
        assert after == before + 1
        words = MatchQuery(words=("message",))
        found = await project.lexical_search.match_messages(words, SearchFilters(), limit=9)
        assert {row.row_id for row in found.rows} == {first, third}
        assert await project.lexical_search.find_missing() == []

    async def test_summarized_and_unknown_are_skipped(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """What a summary covers stays, unknown ids do not matter."""
        ids = await shown_messages(project, conversation.conversation_id, 4)
        await compact_messages(project, conversation.conversation_id, ids[:2])

        assert await project.conversations.delete_messages([*ids[:3], 99, ids[2]]) == 1
        assert await project.conversations.delete_messages([]) == 0

        stored = await project.conversations.list_messages(conversation.conversation_id)
        assert [each.message_id for each in stored] == [ids[0], ids[1], ids[3]]

    async def test_base_of_a_fork_stays(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message that another conversation starts at or shows is kept."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        fork = await new_fork(project, conversation, ids[1])
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[1])

        assert await project.conversations.delete_messages(ids) == 1

        assert len(await shown(project, fork.conversation_id)) == 2
        assert await project.conversations.count_messages(conversation.conversation_id) == 2

    async def test_key_is_free_again(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A deleted message's key can be stored again, and its id is never given twice."""
        conversation_id = conversation.conversation_id
        (first,) = await project.conversations.append_messages(conversation_id, [make_message(ingest_key=KEY)])
        await project.conversations.delete_messages([first.message_id])

        (again,) = await project.conversations.append_messages(conversation_id, [make_message(ingest_key=KEY)])

        assert again.message_id > first.message_id

    async def test_forty_thousand_ids(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The number of ids is not bounded by what a statement can bind."""
        await stored_messages(project, conversation.conversation_id, 3)

        assert await project.conversations.delete_messages(range(1, 40_001)) == 3


class TestIsolation:
    async def test_the_other_project_sees_and_changes_nothing(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Ids of one project mean nothing in another one."""
        ids = await stored_messages(project, conversation.conversation_id, 2)
        other = other_project.conversations

        assert await other.list_messages_by_id(ids) == []
        assert await other.list_parts(ids) == {}
        assert await other.has_message(conversation.conversation_id, Role.USER, "message 0") is False
        assert await other.delete_messages(ids) == 0
        with pytest.raises(UnknownMessage):
            await other.get_message(ids[0])
        with pytest.raises(UnknownConversation):
            await other.append_messages(conversation.conversation_id, make_messages(1))
        assert await contents(project, conversation.conversation_id) == ["message 0", "message 1"]

    async def test_one_ingest_key_in_two_projects(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Ingest keys are unique in a project, not in a home."""
        other = await other_project.conversations.create_conversation(make_conversation())
        await project.conversations.append_messages(conversation.conversation_id, [make_message(ingest_key=KEY)])

        stored = await other_project.conversations.append_messages(
            other.conversation_id, [make_message(ingest_key=KEY)]
        )

        assert stored[0].ingest_key == KEY


class TestCountExclusions:
    async def test_by_conversation_and_reason(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Messages in context are not counted, nor those of another project."""
        await project.conversations.append_messages(
            conversation.conversation_id,
            [
                make_message("a", exclusion=Exclusion.REWOUND),
                make_message("b", exclusion=Exclusion.REWOUND),
                make_message("c", exclusion=Exclusion.META),
                make_message("d"),
            ],
        )

        assert await project.conversations.count_exclusions() == {
            conversation.conversation_id: {Exclusion.META: 1, Exclusion.REWOUND: 2}
        }
        assert await other_project.conversations.count_exclusions() == {}
