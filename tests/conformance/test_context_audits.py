"""The contract `ContextAuditRepository`, and the operations of the context that go with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lcm.domain.context import AuditAction
from lcm.domain.conversations import Conversation
from lcm.domain.messages import Exclusion
from lcm.errors import IdentityConflict, NotFound, UnknownConversation, UnknownMessage, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import (
    UNSAFE_TEXTS,
    Abandoned,
    compact_messages,
    new_fork,
    of_message,
    of_summary,
    shown,
    shown_messages,
)
from tests.factories import START, FakeClock, make_conversation, make_message

OUT, IN = AuditAction.EXCLUDE, AuditAction.INCLUDE
UNKNOWN = 9_999


async def take_out(project: ProjectStorage, conversation: Conversation, *message_ids: int) -> None:
    async with project.transaction() as tx:
        await tx.context_audits.note(conversation.conversation_id, message_ids, OUT, "why")
        await tx.context.exclude_messages(conversation.conversation_id, message_ids, Exclusion.AUDITED)


async def shown_fork(project: ProjectStorage, base: Conversation, message_id: int) -> Conversation:
    """A fork that shows its base's context up to a message."""
    fork = await new_fork(project, base, message_id)
    await project.context.copy_base(fork.conversation_id, base.conversation_id, message_id)
    return fork


class TestNote:
    async def test_a_row_for_each_message(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock
    ) -> None:
        """What, why, when, and the mark from before, in the order given; the same when they are listed."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        noted = await project.context_audits.note(conversation.conversation_id, ids, OUT, "poison")

        assert [(each.message_id, each.action, each.reason) for each in noted] == [
            (ids[0], OUT, "poison"),
            (ids[1], OUT, "poison"),
        ]
        assert {(each.conversation_id, each.exclusion_before, each.created_at) for each in noted} == {
            (conversation.conversation_id, None, START)
        }
        assert await project.context_audits.list_audits() == noted

    async def test_keeps_the_mark_from_before(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message that is put back was audited."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        await take_out(project, conversation, *ids)
        (noted,) = await project.context_audits.note(conversation.conversation_id, ids, IN, "back")

        assert noted.exclusion_before is Exclusion.AUDITED

    async def test_a_later_call_has_a_later_time(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock
    ) -> None:
        """Also when the clock stands still or goes back: what came last decides."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        for action in (OUT, IN, OUT):
            await project.context_audits.note(conversation.conversation_id, ids, action, "why")
            clock.advance(-60)

        listed = await project.context_audits.list_audits(message_id=ids[0])
        assert [each.action for each in listed] == [OUT, IN, OUT]
        assert [each.created_at - START for each in listed] == [timedelta(microseconds=n) for n in range(3)]

    async def test_what_cannot_be_recorded_is_refused(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Nothing is written about what does not exist, nor a text that not every backend stores."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        audits = project.context_audits
        with pytest.raises(UnknownMessage):
            await audits.note(conversation.conversation_id, [*ids, UNKNOWN], OUT, "why")
        with pytest.raises(UnknownConversation):
            await audits.note(UNKNOWN, ids, OUT, "why")
        for text in UNSAFE_TEXTS:
            with pytest.raises(UnsafeText):
                await audits.note(conversation.conversation_id, ids, OUT, text)

        assert await audits.list_audits() == []

    async def test_is_rolled_back_with_its_transaction(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A record of what did not happen is gone."""
        ids = await shown_messages(project, conversation.conversation_id, 1)

        async def abandoned() -> None:
            async with project.transaction() as tx:
                await tx.context_audits.note(conversation.conversation_id, ids, OUT, "why")
                raise Abandoned

        with pytest.raises(Abandoned):
            await abandoned()

        assert await project.context_audits.list_audits() == []

    async def test_another_project_sees_nothing(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Neither the record nor the messages of one project are another one's."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        await take_out(project, conversation, *ids)

        assert await other_project.context_audits.list_audits() == []
        assert await other_project.context_audits.list_taken_out(conversation.conversation_id) == []


class TestListAudits:
    async def test_of_one_context_and_of_one_message(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Both narrow the list, alone and together; the order is that of recording, then of message ids."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        fork = await shown_fork(project, conversation, ids[1])
        await project.context_audits.note(conversation.conversation_id, [ids[1], ids[0]], OUT, "a")
        await project.context_audits.note(fork.conversation_id, ids[:1], OUT, "b")

        audits = project.context_audits
        of_context = await audits.list_audits(conversation_id=conversation.conversation_id)
        of_message = await audits.list_audits(message_id=ids[0])
        of_both = await audits.list_audits(conversation_id=fork.conversation_id, message_id=ids[0])
        assert [each.message_id for each in of_context] == ids
        assert sorted(each.reason for each in of_message) == ["a", "b"]
        assert [each.reason for each in of_both] == ["b"]


class TestListTakenOut:
    async def test_until_they_are_put_back(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Taken out twice and put back once is taken out; ascending ids."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        await take_out(project, conversation, ids[2], ids[0])
        assert await project.context_audits.list_taken_out(conversation.conversation_id) == [ids[0], ids[2]]

        await project.context_audits.note(conversation.conversation_id, ids[:1], IN, "back")
        await project.context.restore_messages(conversation.conversation_id, None, ids[:1])
        assert await project.context_audits.list_taken_out(conversation.conversation_id) == [ids[2]]

        await take_out(project, conversation, ids[0])
        assert await project.context_audits.list_taken_out(conversation.conversation_id) == [ids[0], ids[2]]

    async def test_not_what_its_client_took_back(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A rewound message is out for another reason now, although it was in no context when it was rewound."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        await take_out(project, conversation, *ids)
        await project.context.exclude_messages(conversation.conversation_id, ids[:1], Exclusion.REWOUND)

        assert await project.context_audits.list_taken_out(conversation.conversation_id) == [ids[1]]
        assert (await project.conversations.get_message(ids[0])).exclusion is Exclusion.REWOUND


class TestListNeighbours:
    async def test_nearest_first_in_every_source(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A source holds its own messages and those that another one brought; limits count in each source."""
        first = await project.ingest.get_or_create_source("claude", "a.jsonl")
        second = await project.ingest.get_or_create_source("claude", "b.jsonl")
        stored = await project.conversations.append_messages(
            conversation.conversation_id,
            [
                *(make_message(f"a{n}", source_id=first.source_id, source_ordinal=n) for n in (1, 2, 3)),
                make_message("b5", source_id=second.source_id, source_ordinal=5),
            ],
        )
        a1, a2, a3, b5 = (each.message_id for each in stored)
        await project.ingest.record_places(second.source_id, [(a3, 7)])
        here, audits = [conversation.conversation_id], project.context_audits

        assert await audits.list_neighbours(a3, here) == [a2, a1, b5]
        assert await audits.list_neighbours(a3, here, limit=1) == [a2, b5]
        assert await audits.list_neighbours(a1, here, is_later=True) == [a2, a3]
        assert await audits.list_neighbours(b5, here, is_later=True) == [a3]
        assert await audits.list_neighbours(a3, []) == []

    async def test_without_a_source_there_are_none(self, project: ProjectStorage, conversation: Conversation) -> None:
        """What a program gave stands in no source."""
        ids = await shown_messages(project, conversation.conversation_id, 2)

        assert await project.context_audits.list_neighbours(ids[1], [conversation.conversation_id]) == []


class TestRestoreMessages:
    async def test_behind_an_item_and_unmarked(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The context is as before, the mark is gone, and the revision moves on."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        await take_out(project, conversation, ids[0], ids[1])
        before = await project.conversations.get_conversation(conversation.conversation_id)
        await project.context.restore_messages(conversation.conversation_id, None, ids[:1])
        await project.context.restore_messages(conversation.conversation_id, of_message(ids[0]), [ids[1]])

        assert await shown(project, conversation.conversation_id) == [of_message(each) for each in ids]
        assert (await project.conversations.get_message(ids[0])).exclusion is None
        after = await project.conversations.get_conversation(conversation.conversation_id)
        assert after.context_revision == before.context_revision + 2

    async def test_what_was_not_taken_out_by_hand_is_refused(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A rewound message stays out, one in context stays once, and an unknown place is no place; nothing changes."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        await take_out(project, conversation, ids[2])
        await project.context.exclude_messages(conversation.conversation_id, ids[:1], Exclusion.REWOUND)
        context = project.context
        with pytest.raises(IdentityConflict):
            await context.restore_messages(conversation.conversation_id, None, [ids[0]])
        with pytest.raises(IdentityConflict):
            await context.restore_messages(conversation.conversation_id, None, [ids[2], ids[1]])
        with pytest.raises(NotFound):
            await context.restore_messages(conversation.conversation_id, of_message(UNKNOWN), [ids[2]])
        with pytest.raises(UnknownConversation):
            await context.restore_messages(UNKNOWN, None, [ids[2]])

        assert await shown(project, conversation.conversation_id) == [of_message(ids[1])]
        assert (await project.conversations.get_message(ids[2])).exclusion is Exclusion.AUDITED

    async def test_a_base_message_returns_to_a_fork(self, project: ProjectStorage, conversation: Conversation) -> None:
        """It was not marked when it left the fork, and has no mark to lose."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        fork = await shown_fork(project, conversation, ids[1])
        await take_out(project, fork, ids[0])
        assert await project.context_audits.list_taken_out(fork.conversation_id) == [ids[0]]
        await project.context.restore_messages(fork.conversation_id, None, ids[:1])

        assert await shown(project, fork.conversation_id) == [of_message(each) for each in ids]


class TestCopyBase:
    async def test_what_was_taken_out_of_the_fork_stays_out(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Also when the base is copied anew because the fork begins later."""
        ids = await shown_messages(project, conversation.conversation_id, 4)
        fork = await shown_fork(project, conversation, ids[2])
        await take_out(project, fork, ids[1])
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[3])

        assert await shown(project, fork.conversation_id) == [of_message(each) for each in (ids[0], ids[2], ids[3])]

    async def test_a_summary_beside_it_is_copied(self, project: ProjectStorage, conversation: Conversation) -> None:
        """What was taken out of the base before is in no fork of it."""
        ids = await shown_messages(project, conversation.conversation_id, 4)
        await take_out(project, conversation, ids[2])
        leaf = await compact_messages(project, conversation.conversation_id, ids[:2])
        fork = await project.conversations.create_conversation(make_conversation("session-2"))
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[3])

        assert await shown(project, fork.conversation_id) == [of_summary(leaf), of_message(ids[3])]
