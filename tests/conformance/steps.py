"""Steps that several conformance tests take: filling a context, compacting a range of it, reading it back."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from lcm.domain.context import ItemRef
from lcm.domain.conversations import Conversation, Relation
from lcm.domain.summaries import Summary
from lcm.storage.contracts.project import ProjectStorage, Repositories
from tests.factories import make_conversation, make_messages, make_summary

#: Texts that not every backend can store.
UNSAFE_TEXTS = ("a\0b", "a\ud800b")
MAX_SAFE = 9_007_199_254_740_991

T = TypeVar("T")


class Abandoned(Exception):
    """Raised by a test to roll a transaction back."""


async def gather(*operations: Coroutine[Any, Any, T]) -> list[T]:
    return list(await asyncio.gather(*operations))


def of_message(message_id: int) -> ItemRef:
    return ItemRef(message_id=message_id)


def of_summary(summary: Summary) -> ItemRef:
    return ItemRef(summary_key=summary.summary_key)


async def stored_messages(repositories: Repositories, conversation_id: int, count: int) -> list[int]:
    """Ids of `count` new messages that are not in the context."""
    stored = await repositories.conversations.append_messages(conversation_id, make_messages(count))
    return [message.message_id for message in stored]


async def shown_messages(repositories: Repositories, conversation_id: int, count: int) -> list[int]:
    """Ids of `count` new messages at the end of the context."""
    ids = await stored_messages(repositories, conversation_id, count)
    await repositories.context.append_messages(conversation_id, ids)
    return ids


async def new_leaf(tx: Repositories, conversation_id: int, message_ids: Sequence[int]) -> Summary:
    leaf = await tx.summaries.insert_summary(make_summary(conversation_id, f"leaf of {list(message_ids)}"))
    await tx.summaries.link_messages(leaf.summary_key, message_ids)
    return leaf


async def new_condensed(tx: Repositories, conversation_id: int, children: Sequence[Summary]) -> Summary:
    depth = 1 + max(child.depth for child in children)
    made = make_summary(conversation_id, f"over {[child.summary_id for child in children]}", depth=depth)
    condensed = await tx.summaries.insert_summary(made)
    await tx.summaries.link_children(condensed.summary_key, [child.summary_key for child in children])
    return condensed


async def compact_messages(project: ProjectStorage, conversation_id: int, message_ids: Sequence[int]) -> Summary:
    """Replace these messages by a leaf, in one transaction."""
    async with project.transaction() as tx:
        leaf = await new_leaf(tx, conversation_id, message_ids)
        await tx.context.replace_range(conversation_id, [of_message(each) for each in message_ids], leaf.summary_key)
    return leaf


async def compact_summaries(project: ProjectStorage, conversation_id: int, children: Sequence[Summary]) -> Summary:
    """Replace these summaries by a condensed one, in one transaction."""
    async with project.transaction() as tx:
        condensed = await new_condensed(tx, conversation_id, children)
        await tx.context.replace_range(conversation_id, [of_summary(each) for each in children], condensed.summary_key)
    return condensed


async def new_fork(repositories: Repositories, base: Conversation, message_id: int) -> Conversation:
    """A conversation based on another one at a message, its context still empty."""
    return await repositories.conversations.create_conversation(
        make_conversation(
            f"fork-{uuid.uuid4()}",
            relation=Relation.FORK,
            base_conversation_id=base.conversation_id,
            base_message_id=message_id,
        )
    )


async def shown(repositories: Repositories, conversation_id: int) -> list[ItemRef]:
    return [item.ref for item in await repositories.context.list_items(conversation_id)]


async def contents(repositories: Repositories, conversation_id: int) -> list[str]:
    return [message.content for message in await repositories.conversations.list_messages(conversation_id)]
