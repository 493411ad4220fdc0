"""The contract `ConversationRepository`: parts of messages."""

from __future__ import annotations

import pytest

from lcm.domain.content_digest import content_digest
from lcm.domain.conversations import Conversation
from lcm.domain.messages import MessagePart, PartType
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnknownMessage, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, stored_messages
from tests.factories import make_conversation, make_message

CALL = MessagePart(0, PartType.TOOL_CALL, 0, 2, tool_call_id="call-1", tool_name="Read", metadata='{"a": 1}')
RESULT = MessagePart(1, PartType.TOOL_RESULT, 2, 2, tool_call_id="call-1", is_error=False, file_id="file_1")
REASONING = MessagePart(MAX_SAFE, PartType.REASONING, text="", metadata="not json, kept as it is")


def result_of(call_id: str) -> MessagePart:
    return MessagePart(0, PartType.TOOL_RESULT, 0, 0, tool_call_id=call_id)


class TestListParts:
    async def test_parts_come_back(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every field of every kind of part is stored, by ordinal, whatever order they were given in."""
        new = make_message("{}", parts=(REASONING, RESULT, CALL))
        (stored,) = await project.conversations.append_messages(conversation.conversation_id, [new])

        parts = await project.conversations.list_parts([stored.message_id])

        assert parts == {stored.message_id: (CALL, RESULT, REASONING)}

    async def test_messages_without_parts_are_absent(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Only messages that have parts are keys; unknown ids do not matter."""
        stored = await project.conversations.append_messages(
            conversation.conversation_id, [make_message(parts=()), make_message()]
        )

        parts = await project.conversations.list_parts([each.message_id for each in stored] + [99])

        assert list(parts) == [stored[1].message_id]
        assert await project.conversations.list_parts([]) == {}

    async def test_error_mark_has_three_values(self, project: ProjectStorage, conversation: Conversation) -> None:
        """True, False and unknown stay apart."""
        marks = (True, False, None)
        parts = tuple(MessagePart(n, PartType.TOOL_RESULT, 0, 0, is_error=mark) for n, mark in enumerate(marks))
        (stored,) = await project.conversations.append_messages(
            conversation.conversation_id, [make_message(parts=parts)]
        )

        found = await project.conversations.list_parts([stored.message_id])

        assert [part.is_error for part in found[stored.message_id]] == [True, False, None]


class TestCreateParts:
    async def test_added_parts(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Parts can be added later; the digest then covers them."""
        (stored,) = await project.conversations.append_messages(
            conversation.conversation_id, [make_message("{}", parts=(CALL,))]
        )

        await project.conversations.create_parts(stored.message_id, [RESULT])

        parts = await project.conversations.list_parts([stored.message_id])
        assert parts[stored.message_id] == (CALL, RESULT)
        renewed = await project.conversations.get_message(stored.message_id)
        assert renewed.content_sha256 == content_digest("user", "{}", (CALL, RESULT))

    async def test_taken_ordinal_leaves_nothing(self, project: ProjectStorage, conversation: Conversation) -> None:
        """An ordinal that is taken refuses all given parts and leaves the digest."""
        (stored,) = await project.conversations.append_messages(
            conversation.conversation_id, [make_message("{}", parts=(CALL,))]
        )

        with pytest.raises(IdentityConflict):
            await project.conversations.create_parts(stored.message_id, [RESULT, CALL])

        assert await project.conversations.list_parts([stored.message_id]) == {stored.message_id: (CALL,)}
        assert await project.conversations.get_message(stored.message_id) == stored

    @pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 6), (6, 6), (0, None), (None, 3)])
    async def test_span_outside_the_content(
        self, project: ProjectStorage, conversation: Conversation, start: int | None, end: int | None
    ) -> None:
        """A span lies inside the content; 5 code points end at 5."""
        (message_id,) = [
            each.message_id
            for each in await project.conversations.append_messages(
                conversation.conversation_id, [make_message("h👩llo", parts=())]
            )
        ]

        with pytest.raises(OutOfRange):
            await project.conversations.create_parts(message_id, [MessagePart(0, PartType.TEXT, start, end)])
        await project.conversations.create_parts(message_id, [MessagePart(0, PartType.TEXT, 5, 5)])

    @pytest.mark.parametrize("part", [MessagePart(0, PartType.TEXT), MessagePart(0, PartType.TEXT, 0, 1, text="h")])
    async def test_span_or_text(self, project: ProjectStorage, conversation: Conversation, part: MessagePart) -> None:
        """A part has a span or a text of its own, never both or neither."""
        with pytest.raises(InvalidInput):
            await project.conversations.append_messages(conversation.conversation_id, [make_message(parts=(part,))])

    @pytest.mark.parametrize("ordinal", [-1, MAX_SAFE + 1])
    async def test_ordinal_out_of_range(
        self, project: ProjectStorage, conversation: Conversation, ordinal: int
    ) -> None:
        """Ordinals are safe integers."""
        part = MessagePart(ordinal, PartType.TEXT, 0, 1)

        with pytest.raises(OutOfRange, match="ordinal"):
            await project.conversations.append_messages(conversation.conversation_id, [make_message(parts=(part,))])

    async def test_unknown_message(self, project: ProjectStorage) -> None:
        """A message that is not stored takes no parts."""
        with pytest.raises(UnknownMessage):
            await project.conversations.create_parts(99, [CALL])

    async def test_nothing_to_add(self, project: ProjectStorage, conversation: Conversation) -> None:
        """No parts change nothing."""
        (message_id,) = await stored_messages(project, conversation.conversation_id, 1)
        before = await project.conversations.get_message(message_id)

        await project.conversations.create_parts(message_id, [])

        assert await project.conversations.get_message(message_id) == before


class TestCountParts:
    async def test_of_the_project(self, project: ProjectStorage, conversation: Conversation) -> None:
        """All parts of all messages."""
        await project.conversations.append_messages(
            conversation.conversation_id, [make_message("{}", parts=(CALL, RESULT)), make_message()]
        )

        assert await project.conversations.count_parts() == 3


class TestFindToolResults:
    async def test_lowest_message_that_holds_a_result(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Results count, calls do not; the lowest id answers when there are several."""
        batch = [
            make_message("{}", parts=(CALL,)),
            make_message(parts=(result_of("call-1"),)),
            make_message(parts=(result_of("call-1"),)),
            make_message(parts=(result_of("call-2 'x'"),)),
        ]
        stored = await project.conversations.append_messages(conversation.conversation_id, batch)

        found = await project.conversations.find_tool_results(["call-1", "call-2 'x'", "call-3"])

        assert found == {"call-1": stored[1].message_id, "call-2 'x'": stored[3].message_id}
        assert await project.conversations.find_tool_results([]) == {}

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, text: str) -> None:
        """A call id that cannot be stored is refused."""
        with pytest.raises(UnsafeText, match="tool_call_id"):
            await project.conversations.find_tool_results(["call-1", text])

    async def test_other_project(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A result in another project answers nothing."""
        await project.conversations.append_messages(
            conversation.conversation_id, [make_message(parts=(result_of("call-1"),))]
        )

        assert await other_project.conversations.find_tool_results(["call-1"]) == {}


class TestFindCallers:
    async def test_the_conversation_of_the_first_call(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A call that two conversations make belongs to the one with the lower message; results make no call."""
        second = await project.conversations.create_conversation(make_conversation("session-2"))
        for each in (conversation, second):
            await project.conversations.append_messages(
                each.conversation_id, [make_message("{}", parts=(CALL,)), make_message(parts=(result_of("call-2"),))]
            )

        found = await project.conversations.find_callers(["call-1", "call-2", "call-3"])
        assert found == {"call-1": conversation.conversation_id}
        assert await project.conversations.find_callers([]) == {}

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, text: str) -> None:
        """A call id that cannot be stored is refused."""
        with pytest.raises(UnsafeText, match="tool_call_id"):
            await project.conversations.find_callers(["call-1", text])

    async def test_other_project(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A call in another project has no caller here."""
        await project.conversations.append_messages(conversation.conversation_id, [make_message("{}", parts=(CALL,))])

        assert await other_project.conversations.find_callers(["call-1"]) == {}
