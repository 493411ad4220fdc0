"""The contract `SummaryRepository`."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from lcm.domain.conversations import Conversation
from lcm.domain.summaries import EscalationLevel, NewSummary, Summary, SummaryKind, SummaryOrigin
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnknownSummary, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import (
    MAX_SAFE,
    UNSAFE_TEXTS,
    gather,
    new_condensed,
    new_fork,
    new_leaf,
    shown_messages,
    stored_messages,
)
from tests.factories import START, FakeClock, make_conversation, make_summary

NOBODY = uuid.UUID("01890000-0000-7000-8000-00000000dead")


async def leaves_of(project: ProjectStorage, conversation: Conversation, count: int) -> list[Summary]:
    """Leaves over one message each, not in the context."""
    ids = await stored_messages(project, conversation.conversation_id, count)
    return [await new_leaf(project, conversation.conversation_id, [each]) for each in ids]


class TestInsertSummary:
    async def test_what_is_given_is_stored(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every field comes back, with file ids in their order and the time of insertion."""
        new = NewSummary(
            conversation_id=conversation.conversation_id,
            kind=SummaryKind.CONDENSED,
            depth=3,
            content="Über die Anmeldung",
            token_count=MAX_SAFE,
            earliest_at=START,
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

        stored = await project.summaries.insert_summary(new)

        assert stored.created_at == START
        assert stored.superseded_by_key is None
        assert {name: getattr(stored, name) for name in NewSummary.__slots__} == {
            name: getattr(new, name) for name in NewSummary.__slots__
        }
        assert await project.summaries.get_summary(stored.summary_id) == stored

    async def test_ids(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The id has the documented form; equal content at one moment still gives two nodes."""
        made = [
            await project.summaries.insert_summary(make_summary(conversation.conversation_id, "same")) for _ in range(3)
        ]

        assert all(re.fullmatch("sum_[0-9a-f]{16}", each.summary_id) for each in made)
        assert len({each.summary_id for each in made}) == 3
        assert len({each.summary_key for each in made}) == 3

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["content", "model", "prompt_version", "file_ids"])
    async def test_unsafe_text(
        self, project: ProjectStorage, conversation: Conversation, field: str, text: str
    ) -> None:
        """Unsafe text is refused with its field and nothing is stored."""
        value = ("file_1", text) if field == "file_ids" else text
        new = replace(make_summary(conversation.conversation_id), **{field: value})  # type: ignore[arg-type] # a field by name

        with pytest.raises(UnsafeText) as refused:
            await project.summaries.insert_summary(new)

        assert refused.value.field == field
        assert await project.summaries.list_summaries(conversation.conversation_id) == []

    @pytest.mark.parametrize("value", [-1, MAX_SAFE + 1])
    @pytest.mark.parametrize(
        "field", ["token_count", "descendant_count", "descendant_token_count", "source_message_token_count", "depth"]
    )
    async def test_unsafe_integer(
        self, project: ProjectStorage, conversation: Conversation, field: str, value: int
    ) -> None:
        """Numbers outside the safe integers are refused with their field."""
        new = replace(make_summary(conversation.conversation_id), **{field: value})  # type: ignore[arg-type] # a field by name

        with pytest.raises(OutOfRange) as refused:
            await project.summaries.insert_summary(new)

        assert refused.value.field == field

    async def test_kind_and_depth_agree(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A leaf has depth 0, a condensed summary more."""
        leaf = make_summary(conversation.conversation_id)

        with pytest.raises(InvalidInput):
            await project.summaries.insert_summary(replace(leaf, depth=1))
        with pytest.raises(InvalidInput):
            await project.summaries.insert_summary(replace(leaf, kind=SummaryKind.CONDENSED))

    async def test_times(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The range must not end before it starts, and times say their zone."""
        new = make_summary(conversation.conversation_id)

        with pytest.raises(InvalidInput):
            await project.summaries.insert_summary(replace(new, latest_at=START - timedelta(seconds=1)))
        with pytest.raises(InvalidInput, match="earliest_at"):
            await project.summaries.insert_summary(replace(new, earliest_at=START.replace(tzinfo=None)))

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """A summary belongs to a stored conversation."""
        with pytest.raises(IdentityConflict):
            await project.summaries.insert_summary(make_summary(99))


class TestLinkMessages:
    async def test_link_order_is_kept(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Source messages come back in the order they were linked in."""
        first, second, third = await stored_messages(project, conversation.conversation_id, 3)

        leaf = await new_leaf(project, conversation.conversation_id, [third, first, second])

        sources = await project.summaries.list_messages(leaf.summary_key)
        assert [each.message_id for each in sources] == [third, first, second]
        assert await project.summaries.list_children(leaf.summary_key) == []

    async def test_one_live_leaf_for_a_message(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A message that has a leaf refuses a second one; nothing of the second link is left."""
        ids = await stored_messages(project, conversation.conversation_id, 2)
        await new_leaf(project, conversation.conversation_id, [ids[1]])
        second = await project.summaries.insert_summary(make_summary(conversation.conversation_id))

        with pytest.raises(IdentityConflict):
            await project.summaries.link_messages(second.summary_key, ids)

        assert await project.summaries.list_messages(second.summary_key) == []

    async def test_one_live_leaf_for_each_conversation(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A fork may summarize a message of its base that the base has summarized too."""
        ids = await stored_messages(project, conversation.conversation_id, 1)
        await new_leaf(project, conversation.conversation_id, ids)
        fork = await new_fork(project, conversation, ids[0])

        leaf = await new_leaf(project, fork.conversation_id, ids)

        assert [each.message_id for each in await project.summaries.list_messages(leaf.summary_key)] == ids

    async def test_twenty_tasks_link_one_message(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Of concurrent leaves over one message exactly one is linked."""
        ids = await stored_messages(project, conversation.conversation_id, 1)
        leaves = [await project.summaries.insert_summary(make_summary(conversation.conversation_id)) for _ in range(20)]

        async def is_linked(leaf: Summary) -> bool:
            try:
                await project.summaries.link_messages(leaf.summary_key, ids)
            except IdentityConflict:
                return False
            return True

        assert sum(await gather(*[is_linked(leaf) for leaf in leaves])) == 1

    async def test_refused_links(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Unknown summary, unknown message, no message, a message twice, a condensed summary."""
        conversation_id = conversation.conversation_id
        ids = await stored_messages(project, conversation_id, 1)
        leaf = await project.summaries.insert_summary(make_summary(conversation_id))
        condensed = await project.summaries.insert_summary(make_summary(conversation_id, depth=1))

        with pytest.raises(UnknownSummary):
            await project.summaries.link_messages(NOBODY, ids)
        with pytest.raises(IdentityConflict):
            await project.summaries.link_messages(leaf.summary_key, [*ids, 99])
        with pytest.raises(IdentityConflict):
            await project.summaries.link_messages(leaf.summary_key, ids * 2)
        with pytest.raises(InvalidInput):
            await project.summaries.link_messages(leaf.summary_key, [])
        with pytest.raises(InvalidInput):
            await project.summaries.link_messages(condensed.summary_key, ids)


class TestLinkChildren:
    async def test_link_order_is_kept(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Children come back in link order, and each names the upper one."""
        leaves = await leaves_of(project, conversation, 3)

        upper = await new_condensed(project, conversation.conversation_id, leaves[::-1])

        assert await project.summaries.list_children(upper.summary_key) == leaves[::-1]
        assert await project.summaries.list_uppers(leaves[0].summary_key) == [upper]
        assert await project.summaries.list_messages(upper.summary_key) == []
        assert await project.summaries.list_uppers(upper.summary_key) == []

    async def test_one_live_upper_for_a_summary(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A summary that is merged refuses a second merge; nothing of the second link is left."""
        leaves = await leaves_of(project, conversation, 2)
        await new_condensed(project, conversation.conversation_id, leaves[1:])
        second = await project.summaries.insert_summary(make_summary(conversation.conversation_id, depth=1))

        with pytest.raises(IdentityConflict):
            await project.summaries.link_children(second.summary_key, [each.summary_key for each in leaves])

        assert await project.summaries.list_children(second.summary_key) == []

    async def test_children_are_less_deep(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Depth grows upwards, so there is no cycle; depths below may differ."""
        leaves = await leaves_of(project, conversation, 2)
        middle = await new_condensed(project, conversation.conversation_id, leaves[:1])
        top = await new_condensed(project, conversation.conversation_id, [middle, leaves[1]])
        same = await project.summaries.insert_summary(make_summary(conversation.conversation_id, "x", depth=2))

        for upper, child in ((same, top), (middle, top), (same, same)):
            with pytest.raises(OutOfRange):
                await project.summaries.link_children(upper.summary_key, [child.summary_key])
        assert [each.depth for each in await project.summaries.list_children(top.summary_key)] == [1, 0]

    async def test_refused_links(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Unknown upper one, unknown child, no child, a child twice, a leaf on top."""
        (leaf,) = await leaves_of(project, conversation, 1)
        upper = await project.summaries.insert_summary(make_summary(conversation.conversation_id, depth=1))
        link = project.summaries.link_children

        with pytest.raises(UnknownSummary):
            await link(NOBODY, [leaf.summary_key])
        with pytest.raises(UnknownSummary):
            await link(upper.summary_key, [leaf.summary_key, NOBODY])
        with pytest.raises(InvalidInput):
            await link(upper.summary_key, [])
        with pytest.raises(IdentityConflict):
            await link(upper.summary_key, [leaf.summary_key, leaf.summary_key])
        with pytest.raises(InvalidInput):
            await link(leaf.summary_key, [upper.summary_key])


class TestFindSummaries:
    async def test_get_unknown(self, project: ProjectStorage) -> None:
        """An id that is not stored raises."""
        with pytest.raises(UnknownSummary):
            await project.summaries.get_summary("sum_0000000000000000")

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_id(self, project: ProjectStorage, text: str) -> None:
        """Ids that cannot be stored are refused."""
        with pytest.raises(UnsafeText, match="summary_id"):
            await project.summaries.get_summary(text)
        with pytest.raises(UnsafeText, match="summary_id"):
            await project.summaries.find_by_prefix(text)
        with pytest.raises(UnsafeText, match="session_id"):
            await project.summaries.list_recent(limit=1, session_id=text)

    async def test_by_key_in_the_order_given(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Known keys come in the order asked for, unknown ones are left out."""
        first, second = await leaves_of(project, conversation, 2)

        found = await project.summaries.list_by_key([second.summary_key, NOBODY, first.summary_key])

        assert found == [second, first]
        assert await project.summaries.list_by_key([]) == []

    async def test_forty_thousand_keys(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The number of keys is not bounded by what a statement can bind."""
        (leaf,) = await leaves_of(project, conversation, 1)
        keys = [uuid.UUID(int=number) for number in range(40_000)]

        assert await project.summaries.list_by_key([*keys, leaf.summary_key]) == [leaf]

    async def test_by_prefix(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Summaries whose id begins so, by id; a limit cuts the end; wildcards are plain characters."""
        made = await leaves_of(project, conversation, 5)
        by_id = sorted(made, key=lambda each: each.summary_id)

        assert await project.summaries.find_by_prefix("sum_") == by_id
        assert await project.summaries.find_by_prefix("sum_", limit=2) == by_id[:2]
        assert await project.summaries.find_by_prefix("sum_", limit=0) == []
        assert await project.summaries.find_by_prefix(made[3].summary_id) == [made[3]]
        assert await project.summaries.find_by_prefix("s%") == []
        assert await project.summaries.find_by_prefix("sumX") == []
        with pytest.raises(OutOfRange):
            await project.summaries.find_by_prefix("sum_", limit=-1)

    async def test_list_of_a_conversation(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock
    ) -> None:
        """By creation time, then by insertion."""
        first, second = await leaves_of(project, conversation, 2)
        clock.advance(-60)
        earlier = await project.summaries.insert_summary(make_summary(conversation.conversation_id))

        assert await project.summaries.list_summaries(conversation.conversation_id) == [earlier, first, second]
        assert await project.summaries.list_summaries(99) == []

    async def test_recent(self, project: ProjectStorage, conversation: Conversation, clock: FakeClock) -> None:
        """Newest first with ties by insertion, of the project or of one exact session."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        first, second = await leaves_of(project, conversation, 2)
        clock.advance()
        (third,) = await leaves_of(project, other, 1)
        recent = project.summaries.list_recent

        assert await recent(limit=9) == [third, second, first]
        assert await recent(limit=2) == [third, second]
        assert await recent(limit=9, session_id="session-1") == [second, first]
        assert await recent(limit=9, session_id="session") == []
        assert await recent(limit=0) == []
        with pytest.raises(OutOfRange, match="limit"):
            await recent(limit=-1)


class TestListSubtree:
    async def test_levels_and_paths(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Everything below, by level and path, with the upper one of each."""
        leaves = await leaves_of(project, conversation, 3)
        left = await new_condensed(project, conversation.conversation_id, leaves[:2])
        top = await new_condensed(project, conversation.conversation_id, [left, leaves[2]])

        found = await project.summaries.list_subtree(top.summary_key)

        assert [(each.summary, each.parent_key, each.depth_from_root, each.path) for each in found] == [
            (left, top.summary_key, 1, (0,)),
            (leaves[2], top.summary_key, 1, (1,)),
            (leaves[0], left.summary_key, 2, (0, 0)),
            (leaves[1], left.summary_key, 2, (0, 1)),
        ]

    @pytest.mark.parametrize(("max_depth", "count"), [(0, 0), (1, 2), (2, 4), (9, 4), (None, 4)])
    async def test_depth_limit(
        self, project: ProjectStorage, conversation: Conversation, max_depth: int | None, count: int
    ) -> None:
        """`max_depth` counts levels below the root."""
        leaves = await leaves_of(project, conversation, 3)
        left = await new_condensed(project, conversation.conversation_id, leaves[:2])
        top = await new_condensed(project, conversation.conversation_id, [left, leaves[2]])

        found = await project.summaries.list_subtree(top.summary_key, max_depth=max_depth)

        assert len(found) == count

    async def test_several_paths(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A summary that is reached twice appears once, on the shorter path."""
        base_leaf, other_leaf = await leaves_of(project, conversation, 2)
        middle = await new_condensed(project, conversation.conversation_id, [base_leaf, other_leaf])
        fork = await project.conversations.create_conversation(make_conversation("fork"))
        top = await new_condensed(project, fork.conversation_id, [middle, other_leaf])

        found = await project.summaries.list_subtree(top.summary_key)

        assert [(each.summary, each.path) for each in found] == [
            (middle, (0,)),
            (other_leaf, (1,)),
            (base_leaf, (0, 0)),
        ]

    async def test_unknown(self, project: ProjectStorage) -> None:
        """A root that is not stored raises; lists of its neighbours are empty."""
        with pytest.raises(UnknownSummary):
            await project.summaries.list_subtree(NOBODY)
        assert await project.summaries.list_children(NOBODY) == []
        assert await project.summaries.list_uppers(NOBODY) == []
        assert await project.summaries.list_messages(NOBODY) == []


class TestIsolation:
    async def test_the_other_project_sees_nothing(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Ids and keys of one project find nothing in another one."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        leaf = await new_leaf(project, conversation.conversation_id, ids)
        other = other_project.summaries

        assert await other.list_by_key([leaf.summary_key]) == []
        assert await other.find_by_prefix("sum_") == []
        assert await other.list_recent(limit=9) == []
        assert await other.list_summaries(conversation.conversation_id) == []
        assert await other.list_messages(leaf.summary_key) == []
        with pytest.raises(UnknownSummary):
            await other.get_summary(leaf.summary_id)
        with pytest.raises(UnknownSummary):
            await other.link_messages(leaf.summary_key, ids)
