"""A batch: which conversations of a project have work, and compacting them one by one or side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.remembered import note, policy_digest
from lcm.compaction.result import CompactionResult, StopReason, SweepPlan
from lcm.compaction.run import Compactor, start_run
from lcm.compaction.sweep import plan_of, sweep
from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.domain.conversations import Conversation, ConversationOverview
from lcm.errors import IdentityConflict, StorageError
from lcm.storage.contracts.project import ProjectStorage

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
#: Ends that would be the same again, while neither the context nor the policy changes.
SETTLED = frozenset({StopReason.DONE, StopReason.NO_PROGRESS, StopReason.NOTHING_TO_COMPACT})
#: Ends that every conversation after it would meet too.
_ENDS_BATCH = frozenset(
    {
        StopReason.SUMMARIZER_UNAVAILABLE,
        StopReason.TIME_LIMIT,
        StopReason.PASS_LIMIT,
        StopReason.TOKEN_LIMIT,
        StopReason.COST_LIMIT,
        StopReason.UNKNOWN_COST,
    }
)
FAILURES = frozenset({StopReason.SUMMARIZER_UNAVAILABLE, StopReason.STORAGE_FAILED})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation that was looked at; `reason` is why it is left alone, None when it has work."""

    conversation: Conversation
    plan: SweepPlan
    reason: StopReason | None = None

    @property
    def is_due(self) -> bool:
        return self.reason is None

    @property
    def untouched(self) -> CompactionResult:
        """The result of leaving it alone, because it has no work or because the batch ended before."""
        return self._unchanged(self.reason or StopReason.NOT_TRIED)

    @property
    def not_tried(self) -> CompactionResult:
        return self._unchanged(StopReason.NOT_TRIED)

    def failed(self, message: str) -> CompactionResult:
        """The result when its storage failed."""
        return replace(self._unchanged(StopReason.STORAGE_FAILED), message=message)

    def _unchanged(self, reason: StopReason) -> CompactionResult:
        return CompactionResult(
            conversation_id=self.conversation.conversation_id,
            stop_reason=reason,
            summaries_created=0,
            passes=0,
            tokens_before=self.plan.context_tokens,
            tokens_after=self.plan.context_tokens,
            model_calls=0,
            cost_micros=0,
        )


async def discover(
    project: ProjectStorage,
    compactor: Compactor,
    *,
    mode: CompactionMode = CompactionMode.SWEEP,
    min_tokens: int = 0,
) -> list[Candidate]:
    """Every conversation of a project with its verdict: the largest context first, for a replay the oldest first.

    A conversation has work when a sweep would begin with a leaf chunk outside the fresh tail or with a condensation,
    its context has at least `min_tokens`, and no earlier run of the mode was through with the same context under the
    same policy. Writes nothing and calls no model.
    """
    digest = policy_digest(compactor)
    states = {state.conversation_id: state for state in await project.compaction_states.list_states(mode)}
    found = []
    for overview in _ordered(await project.conversations.list_overviews(), mode):
        conversation = overview.conversation
        plan = await _plan(project, overview, compactor.policy)
        is_settled = is_through(states.get(conversation.conversation_id), conversation.context_revision, digest)
        found.append(Candidate(conversation, plan, _reason(plan, min_tokens, is_settled=is_settled)))
    return found


def is_through(state: CompactionState | None, revision: int, digest: bytes) -> bool:
    """Whether a run was through with this very context under this very policy."""
    return state is not None and (state.context_revision, state.policy_sha256) == (revision, digest)


async def compact_batch(
    project: ProjectStorage,
    compactor: Compactor,
    candidates: Sequence[Candidate],
    *,
    max_concurrency: int = 1,
    finished: Callable[[CompactionResult], None] | None = None,
) -> list[CompactionResult]:
    """Sweep the candidates that have work, at most so many at once; results in the order of the candidates.

    A conversation whose storage fails is a failed result, and the others go on. A summarizer that is unavailable, or a
    limit of the whole run, ends the batch: what was not begun is `not_tried`.
    """
    gate = asyncio.Semaphore(max_concurrency)
    is_over = False

    async def sweep_one(candidate: Candidate) -> CompactionResult:
        nonlocal is_over
        async with gate:
            if is_over or not candidate.is_due:
                return candidate.untouched
            result = await safely(candidate, lambda: _sweep_and_note(project, compactor, candidate))
            if ends_batch(result, compactor):
                is_over = True
        if finished is not None:
            finished(result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(sweep_one(candidate)) for candidate in candidates]
    return [task.result() for task in tasks]


async def safely(candidate: Candidate, work: Callable[[], Awaitable[CompactionResult]]) -> CompactionResult:
    """The result of the work; a storage that fails for this conversation is a result too."""
    try:
        return await work()
    except (StorageError, IdentityConflict) as error:
        return candidate.failed(str(error))


def ends_batch(result: CompactionResult, compactor: Compactor) -> bool:
    """Whether nothing after this result has to be tried; a limit of the policy is one conversation's own."""
    if result.stop_reason not in _ENDS_BATCH:
        return False
    return result.stop_reason in FAILURES or compactor.limits.reached(compactor.clock()) is not None


async def _sweep_and_note(project: ProjectStorage, compactor: Compactor, candidate: Candidate) -> CompactionResult:
    run = await start_run(compactor, project, candidate.conversation.conversation_id)
    result = await run.complete(lambda: sweep(run))
    if result.stop_reason in SETTLED:
        await note(run, CompactionMode.SWEEP, policy_digest(compactor), result.stop_reason)
    return result


async def _plan(project: ProjectStorage, overview: ConversationOverview, policy: CompactionPolicy) -> SweepPlan:
    """Without anything to read when too few items are there for any work."""
    conversation_id = overview.conversation.conversation_id
    if overview.raw_context_items <= policy.fresh_tail_count and not overview.summary_count:
        return replace(plan_of(conversation_id, [], policy), context_tokens=overview.context_tokens)
    return plan_of(conversation_id, await project.context.list_items(conversation_id), policy)


def _reason(plan: SweepPlan, min_tokens: int, *, is_settled: bool) -> StopReason | None:
    if plan.is_empty:
        return StopReason.NOTHING_TO_COMPACT
    if plan.context_tokens < min_tokens:
        return StopReason.BELOW_MIN_TOKENS
    return StopReason.NO_PROGRESS if is_settled else None


def _ordered(overviews: Sequence[ConversationOverview], mode: CompactionMode) -> list[ConversationOverview]:
    if mode is CompactionMode.REPLAY:
        return sorted(overviews, key=lambda each: (each.first_at or _LONG_AGO, each.conversation.conversation_id))
    return sorted(overviews, key=lambda each: (-each.context_tokens, each.conversation.conversation_id))
