"""Replay: the conversations of a project from the oldest on, each continuing the summary of the one before."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from lcm.compaction.batch import SETTLED, Candidate, ends_batch, safely
from lcm.compaction.remembered import note, policy_digest, recall
from lcm.compaction.result import CompactionResult
from lcm.compaction.run import Compactor, start_run
from lcm.compaction.sweep import sweep
from lcm.domain.compaction_state import CompactionMode
from lcm.domain.context import ContextItem
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import clip

#: A carried summary is given to the model up to here.
_MOST_SEED_CHARS = 50_000


async def replay_project(
    project: ProjectStorage,
    compactor: Compactor,
    candidates: Sequence[Candidate],
    *,
    finished: Callable[[CompactionResult], None] | None = None,
) -> list[CompactionResult]:
    """Sweep the candidates one after another, in their order; results in the same.

    The first leaf of each is given the last summary of the one before. That one is remembered with each conversation
    that is through, so a replay that was interrupted, or ended at a provider's limit, goes on at the conversation where
    it stopped, with the summary that it would have had, and pays for nothing that is stored.
    """
    results: list[CompactionResult] = []
    carried: uuid.UUID | None = None
    is_over = False
    for candidate in candidates:
        if is_over or not candidate.is_due:
            results.append(candidate.untouched)
            carried = await _carried_from(project, candidate) or carried
            continue
        replay = _Replay(project, compactor, candidate, carried)
        result = await safely(candidate, replay.run)
        carried = replay.carried
        is_over = ends_batch(result, compactor)
        results.append(result)
        if finished is not None:
            finished(result)
    return results


class _Replay:
    """One conversation of a replay; `carried` is what the next one continues."""

    def __init__(
        self, project: ProjectStorage, compactor: Compactor, candidate: Candidate, carried: uuid.UUID | None
    ) -> None:
        self._project = project
        self._compactor = compactor
        self._conversation_id = candidate.conversation.conversation_id
        self.carried = carried

    async def run(self) -> CompactionResult:
        seed = await self._seed()
        run = await start_run(self._compactor, self._project, self._conversation_id, seed=seed)
        result = await run.complete(lambda: sweep(run))
        self.carried = last_summary_key(run.items) or self.carried
        if result.stop_reason in SETTLED:
            digest = policy_digest(self._compactor)
            await note(run, CompactionMode.REPLAY, digest, result.stop_reason, self.carried)
        return result

    async def _seed(self) -> str | None:
        if self.carried is None:
            return None
        found = await self._project.summaries.list_by_key([self.carried])
        return clip(found[0].content, _MOST_SEED_CHARS) if found else None


def last_summary_key(items: Sequence[ContextItem]) -> uuid.UUID | None:
    """The newest summary of a context."""
    return next((item.ref.summary_key for item in reversed(items) if item.ref.summary_key is not None), None)


async def _carried_from(project: ProjectStorage, candidate: Candidate) -> uuid.UUID | None:
    """What a conversation that is not compacted now hands on: as remembered, else its own newest summary."""
    conversation_id = candidate.conversation.conversation_id
    state = await recall(project, conversation_id, CompactionMode.REPLAY)
    if state is not None and state.context_revision == candidate.conversation.context_revision:
        return state.last_summary_key
    return last_summary_key(await project.context.list_items(conversation_id))
