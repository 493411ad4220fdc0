"""Compaction until a context is under a target: rounds of hard sweeps, for when a model's window overflows."""

from __future__ import annotations

from lcm.compaction.chunks import fresh_tail_start
from lcm.compaction.remembered import note, policy_digest, recall
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor, ConversationRun, start_run
from lcm.compaction.sweep import sweep
from lcm.domain.compaction_state import CompactionMode
from lcm.storage.contracts.project import ProjectStorage

#: Ends of a sweep after which another round may get further.
_GOES_ON = frozenset({StopReason.DONE, StopReason.CONTEXT_CHANGED})
#: Ends that would be the same again: remembered, so that an impossible target costs nothing the next time.
_SETTLED = frozenset({StopReason.TAIL_OVER_TARGET, StopReason.NO_PROGRESS, StopReason.NOTHING_TO_COMPACT})


async def compact_until_under(
    compactor: Compactor, project: ProjectStorage, conversation_id: int, *, target_tokens: int, max_rounds: int
) -> CompactionResult:
    """Sweep until the context has fewer than `target_tokens`, at most `max_rounds` times.

    The stop reason is `target_reached`, `tail_over_target` when the protected messages alone are too many,
    `no_progress` or `round_limit` when the rest does not shrink any further, or a limit. A target that was found
    impossible is remembered: while neither context nor policy changes, it is answered without a model call.

    Raises:
        UnknownConversation: no such conversation in this project.
        StorageError: the storage failed; what earlier passes stored stays.
    """
    run = await start_run(compactor, project, conversation_id)
    if run.tokens_now < target_tokens:
        return run.result(StopReason.TARGET_REACHED)
    digest = policy_digest(compactor, target_tokens)
    known = await recall(project, conversation_id, CompactionMode.UNTIL_UNDER)
    if known is not None and (known.context_revision, known.policy_sha256) == (run.revision, digest):
        return run.result(StopReason(known.stop_reason))
    result = await run.complete(lambda: _rounds(run, target_tokens, max_rounds))
    if result.stop_reason in _SETTLED:
        await note(run, CompactionMode.UNTIL_UNDER, digest, result.stop_reason)
    return result


async def _rounds(run: ConversationRun, target_tokens: int, max_rounds: int) -> StopReason:
    for _ in range(max_rounds):
        before = run.tokens_now
        reason = await sweep(run, hard=True)
        if run.tokens_now < target_tokens:
            return StopReason.TARGET_REACHED
        if run.tokens_now >= before or reason not in _GOES_ON:
            return _why_not(run, target_tokens, reason)
    return StopReason.TAIL_OVER_TARGET if _is_tail_over(run, target_tokens) else StopReason.ROUND_LIMIT


def _why_not(run: ConversationRun, target_tokens: int, reason: StopReason) -> StopReason:
    if reason not in _GOES_ON and reason not in _SETTLED:
        return reason
    if _is_tail_over(run, target_tokens):
        return StopReason.TAIL_OVER_TARGET
    return reason if reason is StopReason.CONTEXT_CHANGED else StopReason.NO_PROGRESS


def _is_tail_over(run: ConversationRun, target_tokens: int) -> bool:
    tail = run.items[fresh_tail_start(run.items, run.policy) :]
    return sum(item.token_count for item in tail) >= target_tokens
