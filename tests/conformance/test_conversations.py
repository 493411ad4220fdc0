"""The contract `ConversationRepository`: conversations."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from lcm.domain.conversations import Conversation, Relation
from lcm.errors import IdentityConflict, InvalidInput, UnknownConversation, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import UNSAFE_TEXTS, compact_messages, gather, shown_messages
from tests.factories import START, FakeClock, make_conversation, make_message

KEY = uuid.UUID("01890000-0000-7000-8000-000000000001")


class TestCreateConversation:
    async def test_what_is_given_is_stored(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every field of the new conversation comes back."""
        new = make_conversation(
            "session-2",
            client="claude",
            title="Fix the login",
            conversation_key=KEY,
            relation=Relation.SUBAGENT,
            base_conversation_id=conversation.conversation_id,
            base_message_id=7,
            parent_tool_call_id="call-1",
        )

        made = await project.conversations.create_conversation(new)

        assert made == Conversation(
            conversation_id=made.conversation_id,
            conversation_key=KEY,
            session_id="session-2",
            client="claude",
            title="Fix the login",
            relation=Relation.SUBAGENT,
            base_conversation_id=conversation.conversation_id,
            base_message_id=7,
            parent_tool_call_id="call-1",
            context_revision=0,
            bootstrapped_at=None,
            created_at=START,
            updated_at=START,
        )
        assert await project.conversations.get_conversation(made.conversation_id) == made

    async def test_each_call_starts_a_segment(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A session that has a segment gets a second one with a key of its own."""
        second = await project.conversations.create_conversation(make_conversation())

        assert second.session_id == conversation.session_id
        assert second.conversation_id > conversation.conversation_id
        assert second.conversation_key != conversation.conversation_key

    async def test_taken_key(self, project: ProjectStorage) -> None:
        """A key names one conversation of a project."""
        await project.conversations.create_conversation(make_conversation(conversation_key=KEY))

        with pytest.raises(IdentityConflict):
            await project.conversations.create_conversation(make_conversation("session-2", conversation_key=KEY))

        assert len(await project.conversations.list_conversations()) == 1

    async def test_unknown_base(self, project: ProjectStorage) -> None:
        """A base that is not stored is refused."""
        with pytest.raises(IdentityConflict):
            await project.conversations.create_conversation(make_conversation(base_conversation_id=99))

    async def test_base_message_without_base_conversation(self, project: ProjectStorage) -> None:
        """A message alone does not say where a fork starts."""
        with pytest.raises(InvalidInput):
            await project.conversations.create_conversation(make_conversation(base_message_id=1))

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["session_id", "client", "title", "parent_tool_call_id"])
    async def test_unsafe_text(self, project: ProjectStorage, field: str, text: str) -> None:
        """Text that not every backend holds is refused with its field, by both ways to create."""
        new = replace(make_conversation(), **{field: text})  # type: ignore[arg-type] # a field by name

        with pytest.raises(UnsafeText) as created:
            await project.conversations.create_conversation(new)
        with pytest.raises(UnsafeText) as found:
            await project.conversations.get_or_create_conversation(new)

        assert (created.value.field, found.value.field) == (field, field)
        assert await project.conversations.list_conversations() == []


class TestGetOrCreateConversation:
    async def test_creates_the_first(self, project: ProjectStorage) -> None:
        """A session without a segment gets one, and the second call finds it."""
        first = await project.conversations.get_or_create_conversation(make_conversation())
        second = await project.conversations.get_or_create_conversation(make_conversation(title="other"))

        assert second == first
        assert first.title is None

    async def test_finds_the_newest(self, project: ProjectStorage, clock: FakeClock) -> None:
        """Of several segments the one created last is taken."""
        await project.conversations.create_conversation(make_conversation())
        clock.advance()
        newest = await project.conversations.create_conversation(make_conversation())

        assert await project.conversations.get_or_create_conversation(make_conversation()) == newest

    async def test_equal_times_are_resolved_by_id(self, project: ProjectStorage) -> None:
        """Of segments created at one moment the one with the greater id is taken."""
        made = [await project.conversations.create_conversation(make_conversation()) for _ in range(3)]

        assert await project.conversations.get_or_create_conversation(make_conversation()) == made[2]

    async def test_newer_time_wins_over_greater_id(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A segment stored later with an earlier time, after the clock was set back, is not the newest."""
        newest = await project.conversations.create_conversation(make_conversation())
        clock.advance(-60)
        await project.conversations.create_conversation(make_conversation())

        assert await project.conversations.get_or_create_conversation(make_conversation()) == newest

    @pytest.mark.parametrize("session_id", ["SESSION-1", "session-1 ", "session-", "session_1"])
    async def test_only_the_exact_session(
        self, project: ProjectStorage, conversation: Conversation, session_id: str
    ) -> None:
        """Case, spaces and beginnings make another session."""
        other = await project.conversations.get_or_create_conversation(make_conversation(session_id))

        assert other.conversation_id != conversation.conversation_id

    async def test_key_decides(self, project: ProjectStorage, conversation: Conversation) -> None:
        """With a key only the conversation of that key counts, whatever its session has."""
        made = await project.conversations.get_or_create_conversation(make_conversation(conversation_key=KEY))
        again = await project.conversations.get_or_create_conversation(make_conversation(conversation_key=KEY))

        assert made.conversation_id != conversation.conversation_id
        assert again == made

    async def test_twenty_tasks_converge(self, project: ProjectStorage) -> None:
        """Concurrent calls for one session agree on one segment."""
        calls = [project.conversations.get_or_create_conversation(make_conversation()) for _ in range(20)]

        found = await gather(*calls)

        assert len({each.conversation_id for each in found}) == 1
        assert len(await project.conversations.list_conversations()) == 1

    async def test_twenty_tasks_converge_in_a_transaction(self, project: ProjectStorage) -> None:
        """Concurrent calls inside one transaction agree as well."""
        async with project.transaction() as tx:
            found = await gather(*[tx.conversations.get_or_create_conversation(make_conversation()) for _ in range(20)])

        assert len({each.conversation_id for each in found}) == 1


class TestFindConversation:
    async def test_get_unknown(self, project: ProjectStorage) -> None:
        """An id that is not stored raises, also one that no backend can hold."""
        for conversation_id in (1, -1, 2**53):
            with pytest.raises(UnknownConversation):
                await project.conversations.get_conversation(conversation_id)
        with pytest.raises(InvalidInput):
            await project.conversations.get_conversation(2**70)

    async def test_find_by_key(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A key finds its conversation, another one finds nothing."""
        assert await project.conversations.find_by_key(conversation.conversation_key) == conversation
        assert await project.conversations.find_by_key(KEY) is None

    async def test_find_newest_of_session(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The newest segment of the exact session, else nothing."""
        newest = await project.conversations.create_conversation(make_conversation())

        assert await project.conversations.find_newest_of_session("session-1") == newest
        assert await project.conversations.find_newest_of_session("session") is None

    async def test_list_of_session(self, project: ProjectStorage, conversation: Conversation, clock: FakeClock) -> None:
        """Segments of the exact session come by creation time, then id."""
        second = await project.conversations.create_conversation(make_conversation())
        await project.conversations.create_conversation(make_conversation("session-2"))
        clock.advance(-60)
        earliest = await project.conversations.create_conversation(make_conversation())

        found = await project.conversations.list_of_session("session-1")

        assert found == [earliest, conversation, second]

    @pytest.mark.parametrize(("limit", "count"), [(None, 3), (-1, 3), (0, 0), (2, 2), (9, 3)])
    async def test_list_conversations(self, project: ProjectStorage, limit: int | None, count: int) -> None:
        """All by (time, id); a limit cuts the end, None and negative ones do not."""
        made = [await project.conversations.create_conversation(make_conversation(name)) for name in ("b", "a", "c")]

        assert await project.conversations.list_conversations(limit=limit) == made[:count]

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_session(self, project: ProjectStorage, text: str) -> None:
        """Look-ups refuse what cannot be stored, naming the field."""
        for look_up in (
            project.conversations.find_newest_of_session,
            project.conversations.list_of_session,
            project.conversations.count_messages_of_session,
        ):
            with pytest.raises(UnsafeText, match="session_id"):
                await look_up(text)


class TestListOverviews:
    async def test_figures(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Counts, depths, tokens and times of one conversation."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        await compact_messages(project, conversation_id, ids[:3])

        (overview,) = await project.conversations.list_overviews(conversation_id)

        assert overview.conversation.conversation_id == conversation_id
        assert (overview.message_count, overview.raw_tokens) == (4, 8)
        assert (overview.summary_count, overview.max_depth) == (1, 0)
        assert (overview.raw_context_items, overview.context_tokens) == (1, 5)
        assert (overview.first_at, overview.last_at) == (START, START + timedelta(minutes=3))

    async def test_empty_conversation(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A conversation without messages has zeros and no times."""
        (overview,) = await project.conversations.list_overviews()

        assert (overview.message_count, overview.summary_count, overview.context_tokens) == (0, 0, 0)
        assert (overview.max_depth, overview.first_at, overview.last_at) == (None, None, None)

    async def test_order_and_choice(self, project: ProjectStorage, conversation: Conversation) -> None:
        """All by (time, id), one when asked for, none for an unknown id."""
        second = await project.conversations.create_conversation(make_conversation("session-2"))
        await shown_messages(project, second.conversation_id, 1)

        all_of_them = await project.conversations.list_overviews()
        one = await project.conversations.list_overviews(conversation.conversation_id)

        assert [(each.conversation.session_id, each.message_count) for each in all_of_them] == [
            ("session-1", 0),
            ("session-2", 1),
        ]
        assert [each.conversation.session_id for each in one] == ["session-1"]
        assert await project.conversations.list_overviews(99) == []


class TestUpdateConversation:
    async def test_what_is_given_changes(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock
    ) -> None:
        """Title and parent tool call are set, the rest stays, and the time of the change is kept."""
        clock.advance(60)
        changed = await project.conversations.update_conversation(
            conversation.conversation_id, title="New", parent_tool_call_id="call-9"
        )

        assert changed == replace(
            conversation, title="New", parent_tool_call_id="call-9", updated_at=START + timedelta(seconds=60)
        )

    async def test_absent_fields_stay(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A second change of one field does not undo the first of another."""
        await project.conversations.update_conversation(conversation.conversation_id, title="New")
        changed = await project.conversations.update_conversation(
            conversation.conversation_id, parent_tool_call_id="call-9"
        )

        assert (changed.title, changed.parent_tool_call_id) == ("New", "call-9")

    async def test_base_is_copied(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Relation and base come from the given conversation, nothing else of it."""
        later = await project.conversations.create_conversation(make_conversation("session-2"))
        base = make_conversation(
            "ignored", relation=Relation.FORK, base_conversation_id=conversation.conversation_id, base_message_id=3
        )

        changed = await project.conversations.update_conversation(later.conversation_id, base=base)

        assert (changed.relation, changed.base_conversation_id, changed.base_message_id) == (Relation.FORK, 1, 3)
        assert changed.session_id == "session-2"

    async def test_unknown(self, project: ProjectStorage) -> None:
        """A conversation that is not stored cannot be changed."""
        with pytest.raises(UnknownConversation):
            await project.conversations.update_conversation(99, title="New")

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["title", "parent_tool_call_id"])
    async def test_unsafe_text(
        self, project: ProjectStorage, conversation: Conversation, field: str, text: str
    ) -> None:
        """Unsafe text is refused with its field and changes nothing."""
        with pytest.raises(UnsafeText) as refused:
            await project.conversations.update_conversation(conversation.conversation_id, **{field: text})  # type: ignore[arg-type] # a field by name

        assert refused.value.field == field
        assert await project.conversations.get_conversation(conversation.conversation_id) == conversation


class TestMarkBootstrapped:
    async def test_the_first_call_counts(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The first time is kept, later ones change nothing."""
        await project.conversations.mark_bootstrapped(conversation.conversation_id, START)
        await project.conversations.mark_bootstrapped(conversation.conversation_id, START + timedelta(days=1))

        stored = await project.conversations.get_conversation(conversation.conversation_id)
        assert stored.bootstrapped_at == START

    async def test_unknown(self, project: ProjectStorage) -> None:
        """A conversation that is not stored cannot be marked."""
        with pytest.raises(UnknownConversation):
            await project.conversations.mark_bootstrapped(99, START)

    async def test_time_without_zone(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A time that does not say its zone is refused."""
        with pytest.raises(InvalidInput, match="at"):
            await project.conversations.mark_bootstrapped(conversation.conversation_id, START.replace(tzinfo=None))


class TestIsolation:
    async def test_the_other_project_sees_nothing(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """No id, key or session of one project finds anything in another one."""
        await project.conversations.append_messages(conversation.conversation_id, [make_message()])
        other = other_project.conversations

        assert await other.list_conversations() == []
        assert await other.list_overviews() == []
        assert await other.list_of_session("session-1") == []
        assert await other.find_newest_of_session("session-1") is None
        assert await other.find_by_key(conversation.conversation_key) is None
        assert await other.count_messages_of_session("session-1") == 0
        with pytest.raises(UnknownConversation):
            await other.get_conversation(conversation.conversation_id)

    async def test_one_key_in_two_projects(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """Keys are unique in a project, not in a home."""
        here = await project.conversations.create_conversation(make_conversation(conversation_key=KEY))
        there = await other_project.conversations.create_conversation(make_conversation("s", conversation_key=KEY))

        assert here.session_id == "session-1"
        assert there.session_id == "s"
