"""Forks: a context that starts with another conversation's items is compacted by edges of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lcm.assembly.assembler import assemble
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.domain.context import ItemRef
from lcm.domain.conversations import Conversation, NewConversation, Relation
from lcm.storage.contracts.integrity import SummaryRow
from lcm.storage.contracts.project import ProjectStorage
from tests.engine.context_proofs import expanded_places, reached_message_ids, require_true_figures
from tests.unit.compaction.sweeping import SMALL, FakeSummarizer, append_session, ids, start_session

MESSAGES = 60


@dataclass(frozen=True)
class Forked:
    base: int
    fork: int
    shared: list[int]


@dataclass(frozen=True)
class State:
    """All that compacting another conversation must not touch."""

    conversation: Conversation
    refs: list[ItemRef]
    summaries: list[SummaryRow]


async def compact(project: ProjectStorage, conversation_id: int) -> None:
    result = await sweep_conversation(Compactor(FakeSummarizer(), SMALL, str), project, conversation_id)
    assert result.summaries_created > 0


async def fork(project: ProjectStorage, base: int, shared: list[int]) -> Forked:
    """A conversation that starts with the base's context up to the last shared message."""
    new = NewConversation("forked", relation=Relation.FORK, base_conversation_id=base, base_message_id=shared[-1])
    conversation = await project.conversations.create_conversation(new)
    await project.context.copy_base(conversation.conversation_id, base, shared[-1])
    return Forked(base, conversation.conversation_id, shared)


async def state(project: ProjectStorage, conversation_id: int) -> State:
    items = await project.context.list_items(conversation_id)
    return State(
        conversation=await project.conversations.get_conversation(conversation_id),
        refs=[item.ref for item in items],
        summaries=await summaries_of(project, conversation_id),
    )


async def summaries_of(project: ProjectStorage, conversation_id: int) -> list[SummaryRow]:
    rows = await project.integrity.list_summaries(limit=1000)
    return [row for row in rows if row.conversation_id == conversation_id]


async def require_own_edges(project: ProjectStorage, conversation_id: int) -> None:
    """Every link of its summaries is of this conversation, and live."""
    for summary in await summaries_of(project, conversation_id):
        children = {(link.conversation_id, link.is_live) for link in summary.children}
        assert children | {(link.conversation_id, link.is_live) for link in summary.sources} == {
            (conversation_id, True)
        }


@pytest.fixture
async def base(project: ProjectStorage) -> tuple[int, list[int]]:
    conversation_id, messages = await start_session(project, MESSAGES)
    return conversation_id, ids(messages)


class TestForkOfACompactedBase:
    async def test_goes_on_from_the_summaries_of_the_base(
        self, project: ProjectStorage, base: tuple[int, list[int]]
    ) -> None:
        """The fork merges the base's summaries by its own edges; the base keeps context, revision and edges."""
        base_id, shared = base
        await compact(project, base_id)
        forked = await fork(project, base_id, shared)
        own = ids(await append_session(project, forked.fork, range(MESSAGES, 2 * MESSAGES)))
        before = await state(project, base_id)

        await compact(project, forked.fork)

        assert await state(project, base_id) == before
        assert await reached_message_ids(project, forked.fork) == shared + own
        assert await reached_message_ids(project, base_id) == shared
        await require_own_edges(project, forked.fork)
        await require_true_figures(project, forked.fork)

    async def test_is_left_alone_when_the_base_goes_on(
        self, project: ProjectStorage, base: tuple[int, list[int]]
    ) -> None:
        """The base grows and is compacted again after the fork was; the fork's context stays what it is."""
        base_id, shared = base
        await compact(project, base_id)
        forked = await fork(project, base_id, shared)
        await append_session(project, forked.fork, range(MESSAGES, 2 * MESSAGES))
        await compact(project, forked.fork)
        before = await state(project, forked.fork)
        more = ids(await append_session(project, base_id, range(MESSAGES, 2 * MESSAGES)))

        await compact(project, base_id)

        assert await state(project, forked.fork) == before
        assert await reached_message_ids(project, base_id) == shared + more
        await require_own_edges(project, base_id)
        await require_true_figures(project, base_id)

    @pytest.mark.parametrize("kept", [1, 7, 20, 33, 56])
    async def test_at_a_summarized_message_opens_the_summary(
        self, project: ProjectStorage, base: tuple[int, list[int]], kept: int
    ) -> None:
        """Wherever the fork leaves the base, its context stands for exactly what came before, and can be compacted."""
        base_id, shared = base
        await compact(project, base_id)
        forked = await fork(project, base_id, shared[:kept])
        assert await reached_message_ids(project, forked.fork) == shared[:kept]
        own = ids(await append_session(project, forked.fork, range(MESSAGES, 2 * MESSAGES)))
        before = await state(project, base_id)

        await compact(project, forked.fork)

        assert await state(project, base_id) == before
        assert await reached_message_ids(project, forked.fork) == shared[:kept] + own
        await require_own_edges(project, forked.fork)
        await require_true_figures(project, forked.fork)


class TestForkOfARawBase:
    async def test_and_its_base_summarize_the_same_messages_apart(
        self, project: ProjectStorage, base: tuple[int, list[int]]
    ) -> None:
        """Compacted after the fork, the base leaves the fork's raw items; both end with leaves of their own."""
        base_id, shared = base
        forked = await fork(project, base_id, shared)
        await compact(project, base_id)
        assert await reached_message_ids(project, forked.fork) == shared
        before = await state(project, base_id)

        await compact(project, forked.fork)

        assert await state(project, base_id) == before
        assert await reached_message_ids(project, forked.fork) == shared
        for conversation_id in (forked.base, forked.fork):
            await require_own_edges(project, conversation_id)
            await require_true_figures(project, conversation_id)

    async def test_opens_down_to_the_messages_of_the_base(
        self, project: ProjectStorage, base: tuple[int, list[int]]
    ) -> None:
        """Expand and the assembled context of the fork show the base's messages under their own places."""
        base_id, shared = base
        forked = await fork(project, base_id, shared)
        await compact(project, forked.fork)

        context = await assemble(project, forked.fork, budget=100_000)

        assert await expanded_places(project, forked.fork) == [(base_id, seq) for seq in range(MESSAGES)]
        assert context.messages[-1].refs == (f"{base_id}:{MESSAGES - 1}",)

    async def test_of_a_fork_works_the_same(self, project: ProjectStorage, base: tuple[int, list[int]]) -> None:
        """A fork of a compacted fork of a compacted base: three contexts, one order, edges apart."""
        base_id, shared = base
        await compact(project, base_id)
        first = await fork(project, base_id, shared)
        own = ids(await append_session(project, first.fork, range(MESSAGES, 2 * MESSAGES)))
        await compact(project, first.fork)
        second = await fork(project, first.fork, own[:31])
        before = [await state(project, each) for each in (base_id, first.fork)]

        await append_session(project, second.fork, range(MESSAGES, 2 * MESSAGES))
        await compact(project, second.fork)

        assert [await state(project, each) for each in (base_id, first.fork)] == before
        assert (await reached_message_ids(project, second.fork))[: MESSAGES + 31] == shared + own[:31]
        await require_own_edges(project, second.fork)
        await require_true_figures(project, second.fork)
