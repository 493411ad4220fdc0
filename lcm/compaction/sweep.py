"""The full sweep: leaf passes until no chunk is left, then condensations from the shallowest depth on."""

from __future__ import annotations

from dataclasses import replace

from lcm.compaction.chunks import choose_condensation, iter_condensations, iter_leaf_chunks
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason, SweepPlan
from lcm.compaction.run import Compactor, ConversationRun, start_run
from lcm.domain.context import ContextItem
from lcm.storage.contracts.project import ProjectStorage


async def sweep_conversation(
    compactor: Compactor,
    project: ProjectStorage,
    conversation_id: int,
    *,
    hard: bool = False,
    seed: str | None = None,
) -> CompactionResult:
    """Compact one conversation as far as the policy goes.

    Each pass is stored by itself: cancelled or killed at any point, the context is the one before or after a pass, and
    the next sweep goes on from it. A summarizer that fails in the middle ends the sweep, not what was done before.

    With `hard`, for when space is short, summaries are condensed by the hard fan-out. `seed` is what the first leaf
    continues when no summary precedes it.

    Raises:
        UnknownConversation: no such conversation in this project.
        StorageError: the storage failed; what earlier passes stored stays.
    """
    run = await start_run(compactor, project, conversation_id, seed=seed)
    return await run.complete(lambda: sweep(run, hard=hard))


async def sweep(run: ConversationRun, *, hard: bool = False) -> StopReason:
    """Both phases of a sweep over what the run has read; raises what `ConversationRun.attempt` does."""
    return await _compact_leaves(run) or await _condense(run, hard=hard) or run.end()


async def plan_sweep(project: ProjectStorage, conversation_id: int, policy: CompactionPolicy) -> SweepPlan:
    """What `sweep_conversation` would start with; calls no model and writes nothing.

    Raises:
        UnknownConversation: no such conversation in this project.
    """
    return plan_of(conversation_id, await project.context.list_items(conversation_id), policy)


def plan_of(conversation_id: int, items: list[ContextItem], policy: CompactionPolicy) -> SweepPlan:
    leaves = list(iter_leaf_chunks(items, policy))
    condensations = list(iter_condensations(items, policy))
    return SweepPlan(
        conversation_id=conversation_id,
        context_tokens=sum(item.token_count for item in items),
        leaf_chunks=len(leaves),
        leaf_messages=sum(len(chunk.items) for chunk in leaves),
        leaf_tokens=sum(chunk.token_count for chunk in leaves),
        condensations=len(condensations),
        condensation_tokens=sum(chunk.token_count for chunk in condensations),
    )


async def _compact_leaves(run: ConversationRun) -> StopReason | None:
    """Phase 1; a reason when it ends the sweep. The chunks are chosen once: none depends on one before it."""
    removed = 0
    for planned in list(iter_leaf_chunks(run.items, run.policy)):
        chunk = replace(planned, start=planned.start - removed)
        if chunk.items[0].ref in run.fruitless:
            continue
        if reason := run.limit():
            return reason
        if await run.attempt(chunk):
            removed += len(chunk.items) - 1
        elif chunk.token_count >= run.policy.leaf_target_tokens:
            return StopReason.NO_PROGRESS
    return None


async def _condense(run: ConversationRun, *, hard: bool) -> StopReason | None:
    """Phase 2; a reason when it ends the sweep."""
    while chunk := choose_condensation(run.items, run.policy, hard=hard):
        if reason := run.limit():
            return reason
        if not await run.attempt(chunk):
            return StopReason.NO_PROGRESS
    return None
