"""Incremental compaction, after each turn: one leaf pass when enough is due, then condensations up to a depth."""

from __future__ import annotations

from collections.abc import Sequence

from lcm.compaction.chunks import choose_condensation, choose_leaf_chunk, fresh_tail_start
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor, ConversationRun, start_run
from lcm.domain.context import ContextItem
from lcm.storage.contracts.project import ProjectStorage


def is_leaf_pass_due(items: Sequence[ContextItem], policy: CompactionPolicy) -> bool:
    """Whether the raw messages outside the fresh tail fill a leaf chunk."""
    evictable = items[: fresh_tail_start(items, policy)]
    return sum(item.token_count for item in evictable if item.is_message) >= policy.leaf_chunk_tokens


async def compact_incrementally(
    compactor: Compactor, project: ProjectStorage, conversation_id: int, *, max_depth: int
) -> CompactionResult:
    """One leaf pass when it is due, then condensations of summaries less deep than `max_depth` (-1: of any depth).

    Best effort, for the moment after a turn: the conversation is the same or shorter afterwards, whatever fails.

    Raises:
        UnknownConversation: no such conversation in this project.
        StorageError: the storage failed; what earlier passes stored stays.
    """
    run = await start_run(compactor, project, conversation_id)
    return await run.complete(lambda: _increment(run, max_depth))


async def _increment(run: ConversationRun, max_depth: int) -> StopReason:
    return await _compact_oldest(run) or await _condense_up_to(run, max_depth) or run.end()


async def _compact_oldest(run: ConversationRun) -> StopReason | None:
    """The leaf pass; a reason when the increment ends with it. A second try after a lost race may find it done."""
    chunk = choose_leaf_chunk(run.items, run.policy)
    if run.summaries_created or chunk is None or not is_leaf_pass_due(run.items, run.policy):
        return None if run.summaries_created else run.end()
    return run.limit() or (None if await run.attempt(chunk) else StopReason.NO_PROGRESS)


async def _condense_up_to(run: ConversationRun, max_depth: int) -> StopReason | None:
    while chunk := choose_condensation(run.items, run.policy, below_depth=None if max_depth < 0 else max_depth):
        if reason := run.limit():
            return reason
        if not await run.attempt(chunk):
            return StopReason.NO_PROGRESS
    return None
