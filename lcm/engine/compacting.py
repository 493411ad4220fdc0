"""Compaction of a project as it was asked for: a batch, a replay, until under a target, or a repair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lcm.compaction.batch import (
    Candidate,
    compact_batch,
    discover,
    ends_batch,
    safely,
)
from lcm.compaction.repair import repair_conversation
from lcm.compaction.replay import replay_project
from lcm.compaction.result import CompactionResult
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import plan_of, sweep_conversation
from lcm.compaction.until_under import compact_until_under
from lcm.domain.compaction_state import CompactionMode
from lcm.storage.contracts.project import ProjectStorage

Finished = Callable[[CompactionResult], None]


class Task(StrEnum):
    """What a compaction is to do: see the modules of the same names in `compaction`."""

    SWEEP = "sweep"
    REPLAY = "replay"
    UNTIL_UNDER = "until_under"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class CompactionOrder:
    """What was asked for.

    Attributes:
        conversation_ids: only these, whatever earlier runs left; None is every conversation that has work.
        target_tokens, max_rounds: of UNTIL_UNDER.
        min_tokens: smaller contexts are left alone, unless they were named.
        max_concurrency: most conversations at once; a replay takes one after another.
    """

    task: Task = Task.SWEEP
    conversation_ids: tuple[int, ...] | None = None
    target_tokens: int = 0
    max_rounds: int = 10
    min_tokens: int = 0
    max_concurrency: int = 1


async def find_work(project: ProjectStorage, compactor: Compactor, order: CompactionOrder) -> list[Candidate]:
    """The conversations that the order is about, in the order in which they are taken."""
    if order.conversation_ids is not None:
        return [await _named(project, compactor, each) for each in order.conversation_ids]
    mode = CompactionMode.REPLAY if order.task is Task.REPLAY else CompactionMode.SWEEP
    return await discover(project, compactor, mode=mode, min_tokens=order.min_tokens)


async def compact_project(
    project: ProjectStorage,
    compactor: Compactor,
    order: CompactionOrder,
    candidates: Sequence[Candidate],
    *,
    finished: Finished | None = None,
) -> list[CompactionResult]:
    """Do what was ordered with these conversations; one result each, in their order.

    Raises:
        UnknownConversation: it was removed meanwhile. Failures of one conversation's storage are results.
    """
    match order.task:
        case Task.SWEEP if order.conversation_ids is None:
            return await compact_batch(
                project, compactor, candidates, max_concurrency=order.max_concurrency, finished=finished
            )
        case Task.REPLAY:
            return await replay_project(project, compactor, candidates, finished=finished)
    return await _one_by_one(project, compactor, order, candidates, finished)


async def _one_by_one(
    project: ProjectStorage,
    compactor: Compactor,
    order: CompactionOrder,
    candidates: Sequence[Candidate],
    finished: Finished | None,
) -> list[CompactionResult]:
    results: list[CompactionResult] = []
    for candidate in candidates:
        if results and ends_batch(results[-1], compactor):
            break
        result = await safely(candidate, lambda each=candidate: _compact(project, compactor, order, each))  # type: ignore[misc]
        results.append(result)
        if finished is not None:
            finished(result)
    return results + [candidate.not_tried for candidate in candidates[len(results) :]]


async def _compact(
    project: ProjectStorage, compactor: Compactor, order: CompactionOrder, candidate: Candidate
) -> CompactionResult:
    conversation_id = candidate.conversation.conversation_id
    match order.task:
        case Task.REPAIR:
            return await repair_conversation(compactor, project, conversation_id)
        case Task.UNTIL_UNDER:
            return await compact_until_under(
                compactor,
                project,
                conversation_id,
                target_tokens=order.target_tokens,
                max_rounds=order.max_rounds,
            )
    return await sweep_conversation(compactor, project, conversation_id)


async def _named(project: ProjectStorage, compactor: Compactor, conversation_id: int) -> Candidate:
    conversation = await project.conversations.get_conversation(conversation_id)
    items = await project.context.list_items(conversation_id)
    return Candidate(conversation, plan_of(conversation_id, items, compactor.policy))
