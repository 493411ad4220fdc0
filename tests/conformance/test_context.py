"""The contract `ContextRepository`."""

from __future__ import annotations

import uuid
from datetime import timedelta
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.conversations import Conversation
from lcm.domain.messages import Exclusion, MessagePart, PartType, Role
from lcm.domain.summaries import SummaryKind
from lcm.errors import ContextChanged, IdentityConflict, NotFound, UnknownConversation, UnknownSummary
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import (
    compact_messages,
    compact_summaries,
    gather,
    new_fork,
    new_leaf,
    of_message,
    of_summary,
    shown,
    shown_messages,
    stored_messages,
)
from tests.factories import START, make_conversation, make_message, make_summary

NOBODY = uuid.UUID("01890000-0000-7000-8000-00000000dead")


async def revision_of(project: ProjectStorage, conversation: Conversation) -> int:
    return (await project.conversations.get_conversation(conversation.conversation_id)).context_revision


class TestListItems:
    async def test_items_carry_what_decisions_need(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message shows its role, time, tokens and tool ids, a summary its id, kind, depth and end."""
        conversation_id = conversation.conversation_id
        parts = (
            MessagePart(0, PartType.TOOL_CALL, 0, 2, tool_call_id="call-2", tool_name="Read"),
            MessagePart(1, PartType.TOOL_RESULT, 2, 2, tool_call_id="call-0"),
            MessagePart(2, PartType.TOOL_CALL, 2, 2, tool_call_id="call-1", tool_name="Edit"),
        )
        (first,) = await shown_messages(project, conversation_id, 1)
        leaf = await compact_messages(project, conversation_id, [first])
        new = make_message("{}", role="assistant", minutes=9, token_count=7, api_message_id="msg_1", parts=parts)
        (stored,) = await project.conversations.append_messages(conversation_id, [new])
        await project.context.append_messages(conversation_id, [stored.message_id])

        items = await project.context.list_items(conversation_id)

        assert items == [
            ContextItem(
                ordinal=0,
                position=items[0].position,
                ref=of_summary(leaf),
                token_count=3,
                occurred_at=START + timedelta(minutes=30),
                summary_id=leaf.summary_id,
                kind=SummaryKind.LEAF,
                depth=0,
            ),
            ContextItem(
                ordinal=1,
                position=items[1].position,
                ref=of_message(stored.message_id),
                token_count=7,
                occurred_at=START + timedelta(minutes=9),
                role=Role.ASSISTANT,
                api_message_id="msg_1",
                tool_call_ids=("call-2", "call-1"),
                tool_result_ids=("call-0",),
            ),
        ]

    @pytest.mark.parametrize(
        ("newest_first", "limit", "ordinals"),
        [
            (False, None, [0, 1, 2, 3]),
            (False, -1, [0, 1, 2, 3]),
            (False, 2, [0, 1]),
            (False, 0, []),
            (True, None, [3, 2, 1, 0]),
            (True, 3, [3, 2, 1]),
            (True, 0, []),
        ],
    )
    async def test_first_pages(
        self,
        project: ProjectStorage,
        conversation: Conversation,
        newest_first: bool,
        limit: int | None,
        ordinals: list[int],
    ) -> None:
        """From either end; ordinals are ranks among all items, whatever the page."""
        ids = await shown_messages(project, conversation.conversation_id, 4)

        page = await project.context.list_items(conversation.conversation_id, newest_first=newest_first, limit=limit)

        assert [item.ordinal for item in page] == ordinals
        assert [item.ref.message_id for item in page] == [ids[ordinal] for ordinal in ordinals]

    @pytest.mark.parametrize("newest_first", [True, False])
    async def test_pages_before_a_position(
        self, project: ProjectStorage, conversation: Conversation, newest_first: bool
    ) -> None:
        """A position bounds the page, exclusive, from either end."""
        await shown_messages(project, conversation.conversation_id, 5)
        whole = await project.context.list_items(conversation.conversation_id)

        page = await project.context.list_items(
            conversation.conversation_id, newest_first=newest_first, before_position=whole[3].position, limit=2
        )

        assert page == (whole[2:0:-1] if newest_first else whole[:2])

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """Every operation says that the conversation is not stored."""
        context: Any = project.context
        calls = [
            context.list_items(99),
            context.list_depths(99),
            context.count_tokens(99),
            context.count_items(99),
            context.append_messages(99, []),
            context.append_summary(99, NOBODY),
            context.insert_messages_after(99, None, []),
            context.find_place(99, 1),
            context.find_nearest_place(99, 1),
            context.replace_range(99, [of_message(1)], NOBODY),
            context.exclude_messages(99, [1], Exclusion.META),
            context.copy_base(99, 1, 1),
        ]
        for call in calls:
            with pytest.raises(UnknownConversation):
                await call


class TestFigures:
    async def test_empty(self, project: ProjectStorage, conversation: Conversation) -> None:
        """An empty context has no items, tokens or depths."""
        assert await project.context.list_items(conversation.conversation_id) == []
        assert await project.context.list_items(conversation.conversation_id, newest_first=True) == []
        assert await project.context.count_items(conversation.conversation_id) == 0
        assert await project.context.count_tokens(conversation.conversation_id) == 0
        assert await project.context.list_depths(conversation.conversation_id) == []

    async def test_tokens_and_items(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Tokens of messages and summaries in context are summed; what a summary covers is not counted."""
        ids = await shown_messages(project, conversation.conversation_id, 4)
        await compact_messages(project, conversation.conversation_id, ids[:3])

        assert await project.context.count_tokens(conversation.conversation_id) == 5
        assert await project.context.count_items(conversation.conversation_id) == 2

    @pytest.mark.parametrize(
        ("before_ordinal", "depths"), [(None, [0, 1]), (0, []), (1, [1]), (2, [0, 1]), (3, [0, 1]), (9, [0, 1])]
    )
    async def test_depths(
        self, project: ProjectStorage, conversation: Conversation, before_ordinal: int | None, depths: list[int]
    ) -> None:
        """Distinct depths ascending, of items with a smaller ordinal only."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        leaves = [await compact_messages(project, conversation_id, [each]) for each in ids[:3]]
        await compact_summaries(project, conversation_id, leaves[:2])

        assert await project.context.list_depths(conversation_id, before_ordinal=before_ordinal) == depths


class TestAppend:
    async def test_after_the_last(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Messages and summaries go to the end in the given order; each call is one revision."""
        first, second, third = await stored_messages(project, conversation.conversation_id, 3)
        leaf = await project.summaries.insert_summary(make_summary(conversation.conversation_id))

        await project.context.append_messages(conversation.conversation_id, [second, first])
        await project.context.append_summary(conversation.conversation_id, leaf.summary_key)
        await project.context.append_messages(conversation.conversation_id, [third])

        refs = [of_message(second), of_message(first), of_summary(leaf), of_message(third)]
        assert await shown(project, conversation.conversation_id) == refs
        assert await revision_of(project, conversation) == 3

    async def test_taken_message_leaves_nothing(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message that is shown already, or given twice, refuses the whole call and the revision stays."""
        first, second = await stored_messages(project, conversation.conversation_id, 2)
        await project.context.append_messages(conversation.conversation_id, [first])

        for ids in ([second, first], [second, second], [second, 99]):
            with pytest.raises(IdentityConflict):
                await project.context.append_messages(conversation.conversation_id, ids)

        assert await shown(project, conversation.conversation_id) == [of_message(first)]
        assert await revision_of(project, conversation) == 1

    async def test_taken_summary(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A summary is shown once; an unknown one is refused."""
        leaf = await project.summaries.insert_summary(make_summary(conversation.conversation_id))
        await project.context.append_summary(conversation.conversation_id, leaf.summary_key)

        for key in (leaf.summary_key, NOBODY):
            with pytest.raises(IdentityConflict):
                await project.context.append_summary(conversation.conversation_id, key)

    async def test_twenty_tasks_append(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Concurrent appends all land, each once."""
        ids = await stored_messages(project, conversation.conversation_id, 20)

        await gather(*[project.context.append_messages(conversation.conversation_id, [each]) for each in ids])

        refs = await shown(project, conversation.conversation_id)
        assert {ref.message_id for ref in refs} == set(ids)
        assert await revision_of(project, conversation) == 20


class TestInsertMessagesAfter:
    async def test_places(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Behind a message, behind a summary, before all and behind the last, in the given order."""
        conversation_id = conversation.conversation_id
        a, b = await shown_messages(project, conversation_id, 2)
        leaf = await compact_messages(project, conversation_id, [a])
        late = await stored_messages(project, conversation_id, 8)

        await project.context.insert_messages_after(conversation_id, of_summary(leaf), late[0:2])
        await project.context.insert_messages_after(conversation_id, None, late[2:4])
        await project.context.insert_messages_after(conversation_id, of_message(b), late[4:6])
        await project.context.insert_messages_after(conversation_id, of_message(late[0]), late[6:8])

        order = [late[2], late[3], None, late[0], late[6], late[7], late[1], b, late[4], late[5]]
        assert [ref.message_id for ref in await shown(project, conversation_id)] == order

    async def test_into_an_empty_context(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Before all of nothing is the whole context."""
        ids = await stored_messages(project, conversation.conversation_id, 3)

        await project.context.insert_messages_after(conversation.conversation_id, None, ids)

        assert await shown(project, conversation.conversation_id) == [of_message(each) for each in ids]

    async def test_unknown_place(self, project: ProjectStorage, conversation: Conversation) -> None:
        """An item that is not shown here is no place, and nothing is written."""
        (late,) = await stored_messages(project, conversation.conversation_id, 1)

        for after in (of_message(late), of_message(99), ItemRef(summary_key=NOBODY)):
            with pytest.raises(NotFound):
                await project.context.insert_messages_after(conversation.conversation_id, after, [late])

        assert await shown(project, conversation.conversation_id) == []
        assert await revision_of(project, conversation) == 0

    async def test_taken_message(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message that is shown already is refused."""
        first, second = await shown_messages(project, conversation.conversation_id, 2)

        with pytest.raises(IdentityConflict):
            await project.context.insert_messages_after(conversation.conversation_id, of_message(first), [second])

    @pytest.mark.parametrize(("count", "batch"), [(200, 1), (2_000, 7), (2_000, 2_000)])
    async def test_two_thousand_late_records_at_one_place(
        self, project: ProjectStorage, conversation: Conversation, count: int, batch: int
    ) -> None:
        """However late records arrive, one by one or at once, they fit between two neighbours."""
        conversation_id = conversation.conversation_id
        first, last, *late = await stored_messages(project, conversation_id, count + 2)
        await project.context.append_messages(conversation_id, [first, last])
        after = first
        async with project.transaction() as tx:
            for start in range(0, count, batch):
                page = late[start : start + batch]
                await tx.context.insert_messages_after(conversation_id, of_message(after), page)
                after = page[-1]

        items = await project.context.list_items(conversation_id)

        assert [item.ref.message_id for item in items] == [first, *late, last]
        assert [item.ordinal for item in items] == list(range(count + 2))

    async def test_room_is_made_between_crowded_neighbours(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Always behind the first: the newest late record comes first, and no order is lost."""
        conversation_id = conversation.conversation_id
        first, *ids = await shown_messages(project, conversation_id, 200)
        late = await stored_messages(project, conversation_id, 300)

        async with project.transaction() as tx:
            for each in late:
                await tx.context.insert_messages_after(conversation_id, of_message(first), [each])

        refs = await shown(project, conversation_id)
        assert [ref.message_id for ref in refs] == [first, *reversed(late), *ids]


class TestReplaceRange:
    async def test_the_summary_takes_the_place(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The items go, the summary stands where the first stood, the rest stays; one revision."""
        ids = await shown_messages(project, conversation.conversation_id, 5)
        before = await project.context.list_items(conversation.conversation_id)

        leaf = await compact_messages(project, conversation.conversation_id, ids[1:4])

        after = await project.context.list_items(conversation.conversation_id)
        assert [item.ref for item in after] == [of_message(ids[0]), of_summary(leaf), of_message(ids[4])]
        assert [item.position for item in after] == [before[n].position for n in (0, 1, 4)]
        assert await revision_of(project, conversation) == 2

    async def test_summaries_by_a_condensed_one(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Summaries are replaced the same way."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        leaves = [await compact_messages(project, conversation.conversation_id, [each]) for each in ids]

        condensed = await compact_summaries(project, conversation.conversation_id, leaves)

        assert await shown(project, conversation.conversation_id) == [of_summary(condensed)]

    @pytest.mark.parametrize(
        "expected",
        [
            [],
            [1, 0],
            [0, 2],
            [0, 0],
            [0, 99],
            [4, 5],
        ],
        ids=["nothing", "wrong order", "gap", "twice", "unknown", "one of them not in context"],
    )
    async def test_other_items_than_expected(
        self, project: ProjectStorage, conversation: Conversation, expected: list[int]
    ) -> None:
        """The items must be there, contiguous and in this order; else nothing is written."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 5)
        ids += await stored_messages(project, conversation_id, 1)
        leaf = await new_leaf(project, conversation_id, ids)
        before = await project.context.list_items(conversation_id)

        with pytest.raises(ContextChanged):
            await project.context.replace_range(
                conversation_id, [of_message(ids[n] if n < 99 else 99) for n in expected], leaf.summary_key
            )

        assert await project.context.list_items(conversation_id) == before
        assert await revision_of(project, conversation) == 1

    async def test_second_compactor_loses(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Of two tasks that replace the same items one wins, and the other changes nothing."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 3)

        async def is_first() -> bool:
            try:
                await compact_messages(project, conversation_id, ids)
            except IdentityConflict:  # ContextChanged is one
                return False
            return True

        assert sorted(await gather(is_first(), is_first())) == [False, True]
        assert len(await project.summaries.list_summaries(conversation_id)) == 1

    async def test_stale_items(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Items that a late record has parted meanwhile are no longer contiguous."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 2)
        late = await stored_messages(project, conversation_id, 1)
        leaf = await new_leaf(project, conversation_id, ids)
        await project.context.insert_messages_after(conversation_id, of_message(ids[0]), late)

        with pytest.raises(ContextChanged):
            await project.context.replace_range(conversation_id, [of_message(e) for e in ids], leaf.summary_key)

    async def test_summary_of_another_conversation(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A context shows summaries made for it."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        ids = await shown_messages(project, conversation.conversation_id, 2)
        leaf = await new_leaf(project, other.conversation_id, ids)

        with pytest.raises(IdentityConflict) as refused:
            await project.context.replace_range(
                conversation.conversation_id, [of_message(each) for each in ids], leaf.summary_key
            )

        assert not isinstance(refused.value, ContextChanged)
        assert await shown(project, conversation.conversation_id) == [of_message(each) for each in ids]

    @pytest.mark.parametrize("linked", [[], [0], [1, 0], [0, 1, 2]])
    async def test_summary_not_linked_to_these_items(
        self, project: ProjectStorage, conversation: Conversation, linked: list[int]
    ) -> None:
        """The links must name exactly the replaced items, in their order."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 3)
        leaf = await project.summaries.insert_summary(make_summary(conversation_id))
        if linked:
            await project.summaries.link_messages(leaf.summary_key, [ids[n] for n in linked])

        with pytest.raises(IdentityConflict):
            await project.context.replace_range(conversation_id, [of_message(e) for e in ids[:2]], leaf.summary_key)

        assert await project.context.count_items(conversation_id) == 3

    async def test_unknown_summary(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A summary must be stored before."""
        ids = await shown_messages(project, conversation.conversation_id, 1)

        with pytest.raises(UnknownSummary):
            await project.context.replace_range(conversation.conversation_id, [of_message(ids[0])], NOBODY)


class TestFindPlace:
    async def test_through_two_levels(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message is shown by itself, by its leaf, or by what merges its leaf."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 5)
        leaves = [await compact_messages(project, conversation_id, [each]) for each in ids[:4]]
        condensed = await compact_summaries(project, conversation_id, leaves[:2])
        top = await compact_summaries(project, conversation_id, [condensed, leaves[2]])
        find_place = project.context.find_place

        assert await find_place(conversation_id, ids[0]) == of_summary(top)
        assert await find_place(conversation_id, ids[2]) == of_summary(top)
        assert await find_place(conversation_id, ids[3]) == of_summary(leaves[3])
        assert await find_place(conversation_id, ids[4]) == of_message(ids[4])

    async def test_not_shown(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Unknown messages and those outside the context have no place."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        (outside,) = await stored_messages(project, conversation.conversation_id, 1)
        await project.context.exclude_messages(conversation.conversation_id, ids[:1], Exclusion.META)

        for message_id in (ids[0], outside, 99):
            assert await project.context.find_place(conversation.conversation_id, message_id) is None

    async def test_nearest_earlier(self, project: ProjectStorage, conversation: Conversation) -> None:
        """What is not shown is looked for at its nearest earlier neighbour, through summaries."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        leaf = await compact_messages(project, conversation_id, ids[:2])
        (outside,) = await stored_messages(project, conversation_id, 1)
        await project.context.exclude_messages(conversation_id, ids[2:3], Exclusion.REWOUND)
        find = project.context.find_nearest_place

        assert await find(conversation_id, ids[2]) == of_summary(leaf)
        assert await find(conversation_id, outside) == of_message(ids[3])
        assert await find(conversation_id, ids[0]) == of_summary(leaf)
        assert await find(conversation_id, 99) is None

    async def test_nothing_earlier(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Without an earlier neighbour there is no place."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        await project.context.exclude_messages(conversation.conversation_id, ids[:1], Exclusion.META)

        assert await project.context.find_nearest_place(conversation.conversation_id, ids[0]) is None

    async def test_a_fork_has_places_of_its_own(self, project: ProjectStorage, conversation: Conversation) -> None:
        """One message stands under different summaries in a base and in its fork, and neither disturbs the other."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        base_leaf = await compact_messages(project, conversation_id, ids[:2])
        fork = await new_fork(project, conversation, ids[2])
        await project.context.copy_base(fork.conversation_id, conversation_id, ids[2])
        fork_leaf = await compact_messages(project, fork.conversation_id, ids[2:3])
        fork_top = await compact_summaries(project, fork.conversation_id, [base_leaf, fork_leaf])
        find_place = project.context.find_place

        assert await find_place(fork.conversation_id, ids[0]) == of_summary(fork_top)
        assert await find_place(fork.conversation_id, ids[2]) == of_summary(fork_top)
        assert await find_place(fork.conversation_id, ids[3]) is None
        assert await find_place(conversation_id, ids[0]) == of_summary(base_leaf)
        assert await find_place(conversation_id, ids[2]) == of_message(ids[2])

    async def test_nearest_in_a_fork_reaches_into_the_base(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A base message that the fork does not show is looked for at its neighbour in the base."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        await project.context.exclude_messages(conversation.conversation_id, ids[1:2], Exclusion.META)
        fork = await new_fork(project, conversation, ids[2])
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[2])

        assert await project.context.find_nearest_place(fork.conversation_id, ids[1]) == of_message(ids[0])


class TestExcludeMessages:
    async def test_raw_messages_leave(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Shown messages leave and are marked; what is under a summary, or unknown, stays as it is."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        leaf = await compact_messages(project, conversation_id, ids[:2])
        before = await revision_of(project, conversation)

        count = await project.context.exclude_messages(conversation_id, [*ids[:3], 99], Exclusion.REWOUND)

        assert count == 1
        assert await shown(project, conversation_id) == [of_summary(leaf), of_message(ids[3])]
        marks = [each.exclusion for each in await project.conversations.list_messages(conversation_id)]
        assert marks == [None, None, Exclusion.REWOUND, None]
        assert await revision_of(project, conversation) == before + 1

    async def test_nothing_to_exclude(self, project: ProjectStorage, conversation: Conversation) -> None:
        """When nothing is shown nothing changes."""
        ids = await stored_messages(project, conversation.conversation_id, 1)

        assert await project.context.exclude_messages(conversation.conversation_id, ids, Exclusion.META) == 0
        assert await project.context.exclude_messages(conversation.conversation_id, [], Exclusion.META) == 0
        assert await revision_of(project, conversation) == 0


class TestCopyBase:
    async def test_items_up_to_the_fork_point(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The fork starts with the base's items up to and including the message; the base stays as it is."""
        ids = await shown_messages(project, conversation.conversation_id, 4)
        leaf = await compact_messages(project, conversation.conversation_id, ids[:2])
        fork = await new_fork(project, conversation, ids[2])
        before = await project.context.list_items(conversation.conversation_id)

        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[2])

        assert await shown(project, fork.conversation_id) == [of_summary(leaf), of_message(ids[2])]
        assert await project.context.list_items(conversation.conversation_id) == before
        assert await revision_of(project, fork) == 1

    @pytest.mark.parametrize(
        ("at", "expected"),
        [
            (0, ["m0"]),
            (1, ["leaf0"]),
            (2, ["leaf0", "m2"]),
            (3, ["leaf0", "leaf1"]),
            (4, ["leaf0", "leaf1", "m4"]),
            (5, ["top"]),
            (6, ["top", "m6"]),
        ],
    )
    async def test_summaries_past_the_fork_point_are_opened(
        self, project: ProjectStorage, conversation: Conversation, at: int, expected: list[str]
    ) -> None:
        """A summary that reaches past the fork point is opened, level by level, until every item lies before it."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 8)
        leaves = [await compact_messages(project, conversation_id, ids[n : n + 2]) for n in (0, 2, 4)]
        top = await compact_summaries(project, conversation_id, leaves)
        fork = await new_fork(project, conversation, ids[at])

        await project.context.copy_base(fork.conversation_id, conversation_id, ids[at])

        names = {of_message(each): f"m{n}" for n, each in enumerate(ids)}
        names |= {of_summary(each): f"leaf{n}" for n, each in enumerate(leaves)} | {of_summary(top): "top"}
        assert [names[ref] for ref in await shown(project, fork.conversation_id)] == expected

    async def test_two_opened_levels(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A third level is opened as well, and whole branches before the point stay closed."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 8)
        leaves = [await compact_messages(project, conversation_id, ids[n : n + 2]) for n in (0, 2, 4, 6)]
        left = await compact_summaries(project, conversation_id, leaves[:2])
        right = await compact_summaries(project, conversation_id, leaves[2:])
        await compact_summaries(project, conversation_id, [left, right])
        fork = await new_fork(project, conversation, ids[4])

        await project.context.copy_base(fork.conversation_id, conversation_id, ids[4])

        assert await shown(project, fork.conversation_id) == [of_summary(left), of_message(ids[4])]

    async def test_fork_point_outside_the_context(self, project: ProjectStorage, conversation: Conversation) -> None:
        """When the message is not shown, the base's items up to its nearest earlier neighbour are copied."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        await project.context.exclude_messages(conversation_id, ids[2:3], Exclusion.META)
        fork = await new_fork(project, conversation, ids[2])

        await project.context.copy_base(fork.conversation_id, conversation_id, ids[2])

        assert await shown(project, fork.conversation_id) == [of_message(ids[0]), of_message(ids[1])]

    async def test_fork_of_a_fork(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The second fork may start at a message of its own base or of that one's base, shown or not."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 4)
        await project.context.exclude_messages(conversation_id, ids[1:2], Exclusion.META)
        first = await new_fork(project, conversation, ids[2])
        await project.context.copy_base(first.conversation_id, conversation_id, ids[2])
        own = await shown_messages(project, first.conversation_id, 2)

        async def forked_at(message_id: int) -> list[int | None]:
            fork = await new_fork(project, first, message_id)
            await project.context.copy_base(fork.conversation_id, first.conversation_id, message_id)
            return [ref.message_id for ref in await shown(project, fork.conversation_id)]

        assert await forked_at(own[0]) == [ids[0], ids[2], own[0]]
        assert await forked_at(ids[0]) == [ids[0]]
        assert await forked_at(ids[1]) == [ids[0]]

    async def test_nothing_to_copy(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message of elsewhere, or a base that shows nothing, gives an empty context."""
        ids = await stored_messages(project, conversation.conversation_id, 1)
        fork = await new_fork(project, conversation, ids[0])

        for message_id in (ids[0], 99):
            await project.context.copy_base(fork.conversation_id, conversation.conversation_id, message_id)

        assert await shown(project, fork.conversation_id) == []

    async def test_unknown_base(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A base that is not stored is refused."""
        with pytest.raises(UnknownConversation):
            await project.context.copy_base(conversation.conversation_id, 99, 1)

    async def test_base_compacts_on(self, project: ProjectStorage, conversation: Conversation) -> None:
        """What the base does later with its items does not change the fork."""
        conversation_id = conversation.conversation_id
        ids = await shown_messages(project, conversation_id, 3)
        fork = await new_fork(project, conversation, ids[1])
        await project.context.copy_base(fork.conversation_id, conversation_id, ids[1])

        await compact_messages(project, conversation_id, ids)

        assert await shown(project, fork.conversation_id) == [of_message(ids[0]), of_message(ids[1])]


class TestSequences:
    """Any sequence of operations leaves the context that a plain list would have."""

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["append", "insert", "replace", "exclude"]),
                st.integers(0, 40),
                st.integers(1, 4),
            ),
            max_size=25,
        )
    )
    async def test_equals_a_list(self, project: ProjectStorage, steps: list[tuple[str, int, int]]) -> None:
        """Append, insert, replace and exclude in any order: same items, ordinals 0..n-1, ascending positions."""
        made = await project.conversations.create_conversation(make_conversation())
        model: list[ItemRef] = []

        for step in steps:
            await apply_step(project, made.conversation_id, model, step)

        items = await project.context.list_items(made.conversation_id)
        assert [item.ref for item in items] == model
        assert [item.ordinal for item in items] == list(range(len(model)))
        assert [item.position for item in items] == sorted({item.position for item in items})


async def apply_step(
    project: ProjectStorage, conversation_id: int, model: list[ItemRef], step: tuple[str, int, int]
) -> None:
    """One operation on the stored context and on its model."""
    kind, at, count = step
    context = project.context
    start = at % (len(model) + 1)
    chosen = model[start : start + count]
    if kind in {"append", "insert"}:
        ids = await stored_messages(project, conversation_id, count)
        refs = [of_message(each) for each in ids]
        if kind == "append":
            await context.append_messages(conversation_id, ids)
            model += refs
        else:
            await context.insert_messages_after(conversation_id, model[start - 1] if start else None, ids)
            model[start:start] = refs
    elif kind == "exclude":
        ids = [ref.message_id for ref in chosen if ref.message_id is not None]
        assert await context.exclude_messages(conversation_id, ids, Exclusion.AUDITED) == len(ids)
        model[start : start + count] = [ref for ref in chosen if ref.message_id is None]
    elif chosen:
        run = list(takewhile(lambda ref: (ref.message_id is None) is (chosen[0].message_id is None), chosen))
        model[start : start + len(run)] = [await replaced(project, conversation_id, run)]


async def replaced(project: ProjectStorage, conversation_id: int, run: list[ItemRef]) -> ItemRef:
    """Compact messages into a leaf, or summaries into a condensed one."""
    if run[0].message_id is not None:
        ids = [ref.message_id for ref in run if ref.message_id is not None]
        return of_summary(await compact_messages(project, conversation_id, ids))
    keys = [ref.summary_key for ref in run if ref.summary_key is not None]
    children = await project.summaries.list_by_key(keys)
    return of_summary(await compact_summaries(project, conversation_id, children))
