"""What must hold of a stored context, read from the store without any help of the code that wrote it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


async def context_refs(project: ProjectStorage, conversation_id: int) -> list[ItemRef]:
    return [item.ref for item in await project.context.list_items(conversation_id)]


async def reached_message_ids(project: ProjectStorage, conversation_id: int) -> list[int]:
    """Every message the context stands for, in order of the context and of the links below its summaries."""
    reached: list[int] = []
    for ref in await context_refs(project, conversation_id):
        reached += await _below(project, ref)
    return reached


async def _below(project: ProjectStorage, ref: ItemRef) -> list[int]:
    if ref.message_id is not None:
        return [ref.message_id]
    assert ref.summary_key is not None
    messages = [message.message_id for message in await project.summaries.list_messages(ref.summary_key)]
    for child in await project.summaries.list_children(ref.summary_key):
        messages += await _below(project, ItemRef(summary_key=child.summary_key))
    return messages


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
    """Every summary's depth, range, sums and counts are those of what it was made from; none is left over."""
    summaries = await project.summaries.list_summaries(conversation_id)
    shown = {ref.summary_key for ref in await context_refs(project, conversation_id)}
    for summary in summaries:
        await _require_true_figures(project, summary)
        uppers = await project.summaries.list_uppers(summary.summary_key)
        own = [upper for upper in uppers if upper.conversation_id == conversation_id]
        assert len(own) + (summary.summary_key in shown) == 1
    items = await project.context.list_items(conversation_id)
    assert [item.ordinal for item in items] == list(range(len(items)))
    assert await project.context.count_tokens(conversation_id) == sum(item.token_count for item in items)


async def _require_true_figures(project: ProjectStorage, summary: Summary) -> None:
    children = await project.summaries.list_children(summary.summary_key)
    messages = await project.summaries.list_messages(summary.summary_key)
    subtree = await project.summaries.list_subtree(summary.summary_key)
    below = await _messages_below(project, [summary.summary_key, *(entry.summary.summary_key for entry in subtree)])
    assert summary.kind is (SummaryKind.CONDENSED if children else SummaryKind.LEAF)
    assert bool(children) != bool(messages)
    assert {child.depth for child in children} <= {summary.depth - 1}
    assert (summary.depth == 0) == bool(messages)
    assert summary.token_count == estimate_tokens(summary.content)
    assert summary.descendant_count == len(subtree)
    assert summary.descendant_token_count == sum(entry.summary.token_count for entry in subtree)
    assert summary.source_message_token_count == sum(message.token_count for message in below)
    assert summary.earliest_at == min(message.occurred_at for message in below)
    assert summary.latest_at == max(message.occurred_at for message in below)


async def _messages_below(project: ProjectStorage, keys: list[uuid.UUID]) -> list[Message]:
    return [message for key in keys for message in await project.summaries.list_messages(key)]


async def open_calls(project: ProjectStorage, conversation_id: int) -> int:
    """Calls in the ledger that were reserved and never ended."""
    calls = await project.model_calls.list_calls(conversation_id)
    return sum(call.outcome.status is CallStatus.RESERVED for call in calls)
