"""Whether a leaf pass is due, told after every turn from the newest items alone, however long the conversation is."""

from __future__ import annotations

from collections.abc import Sequence

from lcm.compaction.incremental import is_leaf_pass_due
from lcm.compaction.policy import CompactionPolicy
from lcm.domain.context import ContextItem
from lcm.domain.tool_pairs import fresh_tail, is_closed
from lcm.storage.contracts.project import Repositories

_FIRST_PAGE = 64


async def is_leaf_pass_due_in(repositories: Repositories, conversation_id: int, policy: CompactionPolicy) -> bool:
    """The same as `is_leaf_pass_due` of all items.

    Pages are read newest first until it is certain where the fresh tail starts; what lies before it is only added up.

    Raises:
        UnknownConversation.
    """
    items: list[ContextItem] = []
    while True:
        limit = max(_FIRST_PAGE, len(items))
        before = items[0].position if items else None
        page = await repositories.context.list_newest(conversation_id, before_position=before, limit=limit)
        items[:0] = reversed(page)
        if len(page) < limit:
            return is_leaf_pass_due(items, policy)
        start = _certain_tail_start(items, policy)
        if start is not None:
            position = items[start].position if start < len(items) else items[-1].position + 1
            return await repositories.context.has_raw_tokens(
                conversation_id, policy.leaf_chunk_tokens, before_position=position
            )


def _certain_tail_start(items: Sequence[ContextItem], policy: CompactionPolicy) -> int | None:
    """Where the fresh tail starts, if older items cannot change that."""
    tail = fresh_tail(items, count=policy.fresh_tail_count, max_tokens=policy.fresh_tail_max_tokens)
    return tail.start if tail.is_bounded and is_closed(items, tail.start) else None
