"""`SummaryRepository.supersede`: a better text takes the place of a summary, and every sum and link stays true."""

from __future__ import annotations

import uuid
from dataclasses import fields, replace

import pytest

from lcm.domain.conversations import Conversation
from lcm.domain.summaries import NewSummary, Summary, SummaryOrigin
from lcm.errors import IdentityConflict, InvalidInput, UnknownSummary
from lcm.storage.contracts.lexical_search import MatchQuery, SearchFilters
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import (
    Abandoned,
    compact_messages,
    compact_summaries,
    gather,
    new_fork,
    of_message,
    of_summary,
    shown_messages,
)
from tests.factories import FakeClock, make_summary

NOBODY = uuid.UUID("01890000-0000-7000-8000-00000000dead")


def better(old: Summary, content: str = "a better text", token_count: int = 7) -> NewSummary:
    values = {field.name: getattr(old, field.name) for field in fields(NewSummary)}
    return NewSummary(**{**values, "content": content, "token_count": token_count})


async def shown(project: ProjectStorage, conversation: Conversation) -> list[object]:
    return [item.ref for item in await project.context.list_items(conversation.conversation_id)]


class TestSupersede:
    async def test_a_leaf_in_context(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The successor has the sources and the place; the old node has neither and names its successor."""
        ids = await shown_messages(project, conversation.conversation_id, 3)
        old = await compact_messages(project, conversation.conversation_id, ids[:2])
        before = (await project.conversations.get_conversation(conversation.conversation_id)).context_revision

        new = await project.summaries.supersede(old.summary_key, better(old))

        after = (await project.conversations.get_conversation(conversation.conversation_id)).context_revision
        assert await shown(project, conversation) == [of_summary(new), of_message(ids[2])]
        assert [each.message_id for each in await project.summaries.list_messages(new.summary_key)] == ids[:2]
        assert (await project.summaries.get_summary(old.summary_id)).superseded_by_key == new.summary_key
        assert after == before + 1
        assert await project.context.find_place(conversation.conversation_id, ids[0]) == of_summary(new)

    async def test_below_an_upper_summary(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock
    ) -> None:
        """The upper one merges the successor in the same place, and the sums of all above follow its tokens."""
        ids = await shown_messages(project, conversation.conversation_id, 4)
        leaves = [await compact_messages(project, conversation.conversation_id, [each]) for each in ids]
        lower = [
            await compact_summaries(project, conversation.conversation_id, pair) for pair in (leaves[:2], leaves[2:])
        ]
        top = await compact_summaries(project, conversation.conversation_id, lower)
        sums = {each.summary_key: each.descendant_token_count for each in (*lower, top)}
        clock.advance()

        new = await project.summaries.supersede(leaves[1].summary_key, better(leaves[1], token_count=103))

        listed = await project.summaries.list_by_key([*(each.summary_key for each in lower), top.summary_key])
        more = [each.descendant_token_count - sums[each.summary_key] for each in listed]
        assert more == [100, 0, 100]
        children = await project.summaries.list_children(lower[0].summary_key)
        assert [each.summary_key for each in children] == [leaves[0].summary_key, new.summary_key]
        assert await shown(project, conversation) == [of_summary(top)]

    async def test_a_condensed_one_takes_its_children_along(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """They lie below the successor, and can be reached from it."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        leaves = [await compact_messages(project, conversation.conversation_id, [each]) for each in ids]
        old = await compact_summaries(project, conversation.conversation_id, leaves)

        new = await project.summaries.supersede(old.summary_key, better(old))

        subtree = await project.summaries.list_subtree(new.summary_key)
        assert [entry.summary.summary_key for entry in subtree] == [each.summary_key for each in leaves]
        assert await project.context.find_place(conversation.conversation_id, ids[1]) == of_summary(new)

    async def test_in_the_context_of_a_fork_too(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A summary that two contexts show is replaced in both."""
        ids = await shown_messages(project, conversation.conversation_id, 2)
        old = await compact_messages(project, conversation.conversation_id, ids[:1])
        fork = await new_fork(project, conversation, ids[1])
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[1])

        new = await project.summaries.supersede(old.summary_key, better(old))

        assert await shown(project, conversation) == [of_summary(new), of_message(ids[1])]
        assert await shown(project, fork) == [of_summary(new), of_message(ids[1])]

    async def test_search_finds_the_successor_only(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The old text is not in use any more; the new one is."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        old = await compact_messages(project, conversation.conversation_id, ids)

        new = await project.summaries.supersede(old.summary_key, better(old))

        either = MatchQuery(words=("leaf", "better"), require_all=False)
        found = await project.lexical_search.match_summaries(either, SearchFilters(), limit=10)
        assert [row.summary_id for row in found.rows] == [new.summary_id]

    async def test_twice_is_refused(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Of two repairs at once one wins; the other leaves no node behind."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        old = await compact_messages(project, conversation.conversation_id, ids)

        first = await project.summaries.supersede(old.summary_key, better(old))
        with pytest.raises(IdentityConflict):
            await project.summaries.supersede(old.summary_key, better(old, "another text"))

        listed = await project.summaries.list_summaries(conversation.conversation_id)
        assert [each.summary_key for each in listed] == [old.summary_key, first.summary_key]

    async def test_two_at_once_leave_one(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Side by side as one after the other."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        old = await compact_messages(project, conversation.conversation_id, ids)

        async def attempt(number: int) -> bool:
            try:
                await project.summaries.supersede(old.summary_key, better(old, f"text {number}"))
            except IdentityConflict:
                return False
            return True

        assert sorted(await gather(*(attempt(number) for number in range(3)))) == [False, False, True]
        assert len(await project.summaries.list_summaries(conversation.conversation_id)) == 2

    async def test_is_rolled_back_whole(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Place, links and sums are what they were."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        old = await compact_messages(project, conversation.conversation_id, ids)

        async def abandoned() -> None:
            async with project.transaction() as tx:
                await tx.summaries.supersede(old.summary_key, better(old))
                raise Abandoned

        with pytest.raises(Abandoned):
            await abandoned()

        assert await project.summaries.list_summaries(conversation.conversation_id) == [old]
        assert await shown(project, conversation) == [of_summary(old)]

    @pytest.mark.parametrize("change", [{"depth": 1}, {"descendant_count": 1}, {"file_ids": ("file_1",)}])
    async def test_other_sources_are_refused(
        self, project: ProjectStorage, conversation: Conversation, change: dict[str, object]
    ) -> None:
        """Only the text and how it came about may differ."""
        ids = await shown_messages(project, conversation.conversation_id, 1)
        old = await compact_messages(project, conversation.conversation_id, ids)

        with pytest.raises(InvalidInput):
            await project.summaries.supersede(old.summary_key, replace(better(old), **change))  # type: ignore[arg-type]

    async def test_an_unknown_summary_is_refused(self, project: ProjectStorage, conversation: Conversation) -> None:
        """There is nothing to take the place of."""
        with pytest.raises(UnknownSummary):
            await project.summaries.supersede(NOBODY, make_summary(conversation.conversation_id))


class TestListFallbacks:
    async def test_lists_what_is_only_truncated_and_in_use(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """The least deep first; written by a model, or superseded, they are not listed."""
        made = [
            await project.summaries.insert_summary(
                make_summary(conversation.conversation_id, f"text {depth} {origin}", depth=depth, origin=origin)
            )
            for depth, origin in (
                (1, SummaryOrigin.TRUNCATED),
                (0, SummaryOrigin.TRUNCATED),
                (0, SummaryOrigin.MODEL),
                (0, SummaryOrigin.TRUNCATED),
            )
        ]
        ids = await shown_messages(project, conversation.conversation_id, 1)
        await project.summaries.link_messages(made[3].summary_key, ids)
        await project.summaries.supersede(made[3].summary_key, replace(better(made[3]), origin=SummaryOrigin.MODEL))

        listed = await project.summaries.list_fallbacks(conversation.conversation_id)
        assert [each.summary_key for each in listed] == [made[1].summary_key, made[0].summary_key]
