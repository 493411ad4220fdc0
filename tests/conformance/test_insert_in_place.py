"""`SummaryRepository.insert_in_place`: the same as inserting, linking and replacing one by one, all or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from lcm.domain.context import ItemRef
from lcm.domain.conversations import Conversation
from lcm.domain.summaries import EscalationLevel, NewSummary, SummaryKind, SummaryOrigin
from lcm.errors import ContextChanged, IdentityConflict, InvalidInput, OutOfRange, UnknownConversation, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import (
    UNSAFE_TEXTS,
    Abandoned,
    compact_messages,
    gather,
    new_leaf,
    of_message,
    of_summary,
    shown,
    shown_messages,
)
from tests.factories import START, make_conversation, make_summary


async def revision_of(project: ProjectStorage, conversation: Conversation) -> int:
    return (await project.conversations.get_conversation(conversation.conversation_id)).context_revision


class TestInsertInPlace:
    async def test_leaf(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The leaf stands where its messages stood and opens to them; the context changed once."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 5)

        leaf = await project.summaries.insert_in_place(
            make_summary(conversation_id), [of_message(each) for each in ids[1:4]]
        )

        assert await shown(project, conversation_id) == [of_message(ids[0]), of_summary(leaf), of_message(ids[4])]
        assert [each.message_id for each in await project.summaries.list_messages(leaf.summary_key)] == ids[1:4]
        assert await project.context.find_place(conversation_id, ids[2]) == of_summary(leaf)
        assert await revision_of(project, conversation) == 2

    async def test_condensed(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A condensed summary stands where the summaries it merges stood."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        leaves = [await compact_messages(project, conversation_id, [each]) for each in ids[:3]]

        top = await project.summaries.insert_in_place(
            make_summary(conversation_id, depth=1), [of_summary(each) for each in leaves]
        )

        assert await shown(project, conversation_id) == [of_summary(top), of_message(ids[3])]
        assert await project.summaries.list_children(top.summary_key) == leaves

    async def test_what_is_returned_is_what_is_stored(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Every field comes back as it is read later, times in UTC."""
        [message_id] = await shown_messages(project, conversation.conversation_id, 1)
        new = NewSummary(
            conversation_id=conversation.conversation_id,
            kind=SummaryKind.LEAF,
            depth=0,
            content="Über die Anmeldung",
            token_count=7,
            earliest_at=START.astimezone(timezone(timedelta(hours=9))),
            latest_at=None,
            descendant_count=2,
            descendant_token_count=30,
            source_message_token_count=400,
            file_ids=("file_b", "file_a"),
            origin=SummaryOrigin.TRUNCATED,
            level=EscalationLevel.FALLBACK,
            model="fake/model",
            prompt_version="v1",
        )

        stored = await project.summaries.insert_in_place(new, [of_message(message_id)])

        assert await project.summaries.get_summary(stored.summary_id) == stored
        assert stored.earliest_at is not None
        assert stored.earliest_at.utcoffset() == timedelta(0)
        assert {name: getattr(stored, name) for name in NewSummary.__slots__} == {
            name: getattr(new, name) for name in NewSummary.__slots__
        }

    async def test_is_found_by_its_words(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The search index holds the new text."""
        [message_id] = await shown_messages(project, conversation.conversation_id, 1)

        await project.summaries.insert_in_place(
            make_summary(conversation.conversation_id, "zebra crossing"), [of_message(message_id)]
        )

        assert await project.lexical_search.find_missing() == []

    async def test_equal_contents_at_one_moment(self, project: ProjectStorage, conversation: Conversation) -> None:
        """They get ids of their own."""
        ids = await shown_messages(project, conversation.conversation_id, 3)

        made = [
            await project.summaries.insert_in_place(
                make_summary(conversation.conversation_id, "same"), [of_message(each)]
            )
            for each in ids
        ]

        assert len({each.summary_id for each in made}) == 3

    async def test_second_compactor_loses(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Of two tasks that replace the same items one wins, and the other changes nothing."""
        conversation_id = conversation.conversation_id
        refs = [of_message(each) for each in await shown_messages(project, conversation_id, 3)]

        async def is_first() -> bool:
            try:
                await project.summaries.insert_in_place(make_summary(conversation_id), refs)
            except ContextChanged:
                return False
            return True

        assert sorted(await gather(is_first(), is_first())) == [False, True]
        assert len(await project.summaries.list_summaries(conversation_id)) == 1

    async def test_is_undone_with_its_transaction(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Rolled back, the context is as before."""
        conversation_id = conversation.conversation_id
        refs = [of_message(each) for each in await shown_messages(project, conversation_id, 2)]

        async def begin_and_give_up() -> None:
            async with project.transaction() as tx:
                await tx.summaries.insert_in_place(make_summary(conversation_id), refs)
                raise Abandoned

        with pytest.raises(Abandoned):
            await begin_and_give_up()

        assert await shown(project, conversation_id) == refs
        assert await project.summaries.list_summaries(conversation_id) == []


class TestRefusals:
    @pytest.mark.parametrize("expected", [[0, 2], [1, 0], [0, 0], [3, 4], [4, 3], [99], [0, 99], [1, 2, 3, 4, 0]])
    async def test_not_these_items(
        self, project: ProjectStorage, conversation: Conversation, expected: list[int]
    ) -> None:
        """Gaps, other orders, repetitions, and items that are not there: nothing is written."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 5)
        await compact_messages(project, conversation_id, ids[4:])
        before = await project.context.list_items(conversation_id)
        revision = await revision_of(project, conversation)

        with pytest.raises(ContextChanged):
            await project.summaries.insert_in_place(
                make_summary(conversation_id), [of_message(ids[n] if n < 99 else 99) for n in expected]
            )

        assert await project.context.list_items(conversation_id) == before
        assert await revision_of(project, conversation) == revision
        assert len(await project.summaries.list_summaries(conversation_id)) == 1

    async def test_items_of_another_conversation(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Sources are looked for in the summary's own context only."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        ids = await shown_messages(project, other.conversation_id, 2)

        with pytest.raises(ContextChanged):
            await project.summaries.insert_in_place(
                make_summary(conversation.conversation_id), [of_message(each) for each in ids]
            )

        assert await shown(project, other.conversation_id) == [of_message(each) for each in ids]

    async def test_a_source_with_a_live_leaf(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message is under one summary at most; the summary made for it is not left behind."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 2)
        stray = await new_leaf(project, conversation_id, ids[:1])

        with pytest.raises(IdentityConflict) as refused:
            await project.summaries.insert_in_place(make_summary(conversation_id), [of_message(each) for each in ids])

        assert not isinstance(refused.value, ContextChanged)
        assert await project.summaries.list_summaries(conversation_id) == [stray]
        assert await shown(project, conversation_id) == [of_message(each) for each in ids]

    async def test_sources_of_the_wrong_kind(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A leaf is made from messages, a condensed summary from summaries, and neither from nothing."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 2)
        leaf = await compact_messages(project, conversation_id, ids[:1])
        wrong: list[tuple[int, list[ItemRef]]] = [
            (0, []),
            (1, []),
            (0, [of_summary(leaf)]),
            (1, [of_message(ids[1])]),
            (1, [of_summary(leaf), of_message(ids[1])]),
        ]

        for depth, sources in wrong:
            with pytest.raises(InvalidInput):
                await project.summaries.insert_in_place(make_summary(conversation_id, depth=depth), sources)

    async def test_a_source_that_is_not_less_deep(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Depth grows upwards."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 1)
        leaf = await compact_messages(project, conversation_id, ids)
        middle = await project.summaries.insert_in_place(make_summary(conversation_id, depth=1), [of_summary(leaf)])

        with pytest.raises(OutOfRange):
            await project.summaries.insert_in_place(make_summary(conversation_id, depth=1), [of_summary(middle)])

        assert await shown(project, conversation_id) == [of_summary(middle)]

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """A summary belongs to a conversation of the project."""
        with pytest.raises(UnknownConversation):
            await project.summaries.insert_in_place(make_summary(99), [of_message(1)])

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, conversation: Conversation, text: str) -> None:
        """What not every backend can store is refused before anything is written."""
        [message_id] = await shown_messages(project, conversation.conversation_id, 1)

        with pytest.raises(UnsafeText):
            await project.summaries.insert_in_place(
                replace(make_summary(conversation.conversation_id), content=text), [of_message(message_id)]
            )


class TestHasRawTokens:
    async def test_adds_up_messages_only(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Summaries in between do not count, nor does what stands at the position or behind it."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 6)  # two tokens each
        await compact_messages(project, conversation_id, ids[1:3])
        before = (await project.context.list_items(conversation_id))[-2].position

        assert await project.context.has_raw_tokens(conversation_id, 4, before_position=before)
        assert not await project.context.has_raw_tokens(conversation_id, 5, before_position=before)

    async def test_far_back(self, project: ProjectStorage, conversation: Conversation) -> None:
        """It looks as far as it must: 600 messages of two tokens each."""
        conversation_id = conversation.conversation_id
        await shown_messages(project, conversation_id, 600)
        behind = (await project.context.list_items(conversation_id))[-1].position + 1

        total = await project.context.count_tokens(conversation_id)
        assert await project.context.has_raw_tokens(conversation_id, total, before_position=behind)
        assert not await project.context.has_raw_tokens(conversation_id, total + 1, before_position=behind)

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """No conversation, no answer."""
        with pytest.raises(UnknownConversation):
            await project.context.has_raw_tokens(99, 1, before_position=1)
