"""What must hold of a stored context, read from the store without any help of the code that wrote it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lcm.domain.context import ItemRef
from lcm.domain.messages import Message
from lcm.domain.model_calls import CallStatus
from lcm.domain.summaries import Summary, SummaryKind
from lcm.retrieval.expand import expand
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from lcm.tokens import estimate_tokens
from tests.engine.lcm_processes import ROOT
from tests.engine.stores import Store

MessagePlace = tuple[int, int]


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[ProjectStorage]:
    """The project of a home, closed at the end."""
    factory = SqliteFactory(home)
    try:
        yield await factory.open_project(ROOT)
    finally:
        await factory.close()


async def import_file(home: Path, path: Path) -> int:
    """Bring what is new in a transcript into the project; the id of its first conversation."""
    async with Store(home, root=ROOT) as store:
        report = await store.import_file(path, "claude")
    return min(report.conversation_ids)


@dataclass(frozen=True)
class Graph:
    """The summaries of a context with their links, as the store gives them in link order."""

    refs: list[ItemRef]
    summaries: dict[uuid.UUID, Summary]
    children: dict[uuid.UUID, list[Summary]]
    sources: dict[uuid.UUID, list[Message]]

    @property
    def message_ids(self) -> list[int]:
        """Every message the context stands for, in order of the context and of the links below its summaries."""
        reached: list[int] = []
        for ref in self.refs:
            if ref.message_id is not None:
                reached.append(ref.message_id)
            elif ref.summary_key is not None:
                reached += [message.message_id for message in self.messages_below(ref.summary_key)]
        return reached

    def messages_below(self, key: uuid.UUID) -> list[Message]:
        below = [message for child in self.children[key] for message in self.messages_below(child.summary_key)]
        return self.sources[key] + below

    def summaries_below(self, key: uuid.UUID) -> list[Summary]:
        return [each for child in self.children[key] for each in (child, *self.summaries_below(child.summary_key))]


async def read_graph(project: ProjectStorage, conversation_id: int) -> Graph:
    """All summaries in or below the context, of whatever conversation they are."""
    graph = Graph([item.ref for item in await project.context.list_items(conversation_id)], {}, {}, {})
    shown = [ref.summary_key for ref in graph.refs if ref.summary_key is not None]
    waiting = await project.summaries.list_by_key(shown)
    while waiting:
        summary = waiting.pop()
        graph.summaries[summary.summary_key] = summary
        graph.children[summary.summary_key] = await project.summaries.list_children(summary.summary_key)
        graph.sources[summary.summary_key] = await project.summaries.list_messages(summary.summary_key)
        waiting += graph.children[summary.summary_key]
    return graph


async def reached_message_ids(project: ProjectStorage, conversation_id: int) -> list[int]:
    return (await read_graph(project, conversation_id)).message_ids


async def expanded_places(project: ProjectStorage, conversation_id: int) -> list[MessagePlace]:
    """(conversation, seq) of every message in the context or given by the public expand of its summaries, sorted."""
    places: list[MessagePlace] = []
    for item in await project.context.list_items(conversation_id):
        if item.ref.message_id is not None:
            message = await project.conversations.get_message(item.ref.message_id)
            places.append((message.conversation_id, message.seq))
        elif item.summary_id is not None:
            opened_up = await expand(project, item.summary_id, depth=1000, include_messages=True)
            places += [(each.conversation_id, each.seq) for each in opened_up.expansions[0].messages]
    return sorted(places)


async def unexcluded_messages(project: ProjectStorage, conversation_id: int) -> list[Message]:
    messages = await project.conversations.list_messages(conversation_id)
    return [message for message in messages if message.exclusion is None]


async def require_true_figures(project: ProjectStorage, conversation_id: int) -> None:
    """Every summary's depth, range, sums and counts are those of what lies below it, and none is left over."""
    graph = await read_graph(project, conversation_id)
    for key in graph.summaries:
        _require_true_figures(graph, key)
    own = {each.summary_key for each in await project.summaries.list_summaries(conversation_id)}
    assert own <= set(graph.summaries)
    items = await project.context.list_items(conversation_id)
    assert [item.ordinal for item in items] == list(range(len(items)))
    assert await project.context.count_tokens(conversation_id) == sum(item.token_count for item in items)


def _require_true_figures(graph: Graph, key: uuid.UUID) -> None:
    summary, children, sources = graph.summaries[key], graph.children[key], graph.sources[key]
    summaries, messages = graph.summaries_below(key), graph.messages_below(key)
    assert (summary.kind is SummaryKind.LEAF, summary.depth == 0) == (bool(sources), bool(sources))
    assert bool(children) != bool(sources)
    assert {child.depth for child in children} <= {summary.depth - 1}
    assert summary.token_count == estimate_tokens(summary.content)
    assert summary.descendant_count == len(summaries) == len({each.summary_key for each in summaries})
    assert summary.descendant_token_count == sum(each.token_count for each in summaries)
    assert summary.source_message_token_count == sum(message.token_count for message in messages)
    assert summary.earliest_at == min(message.occurred_at for message in messages)
    assert summary.latest_at == max(message.occurred_at for message in messages)


async def open_calls(project: ProjectStorage, conversation_id: int) -> int:
    """Calls in the ledger that were reserved and never ended."""
    calls = await project.model_calls.list_calls(conversation_id)
    return sum(call.outcome.status is CallStatus.RESERVED for call in calls)
