"""Repair: summaries that are only a truncation of their source are written again, and take their place."""

from __future__ import annotations

from lcm.compaction.condense import condensed_source, new_condensed
from lcm.compaction.leaf import leaf_source, new_leaf
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor, ConversationRun, start_run
from lcm.domain.summaries import NewSummary, Summary, SummaryKind, SummaryOrigin
from lcm.errors import IdentityConflict
from lcm.large_files.shown import with_file_summaries
from lcm.storage.contracts.project import ProjectStorage


async def repair_conversation(compactor: Compactor, project: ProjectStorage, conversation_id: int) -> CompactionResult:
    """Ask again for every summary in use that fell back to truncation, the least deep first.

    A better text takes the place of the old one, in every context and below every summary; one that is again no better
    than truncation changes nothing. `summaries_created` counts the replaced ones.

    Raises:
        UnknownConversation: no such conversation in this project.
        StorageError: the storage failed; what was replaced before stays.
    """
    run = await start_run(compactor, project, conversation_id)
    result = await run.complete(lambda: _repair(run))
    await run.read()
    return run.result(result.stop_reason, result.message)


async def _repair(run: ConversationRun) -> StopReason:
    fallbacks = await run.scope.project.summaries.list_fallbacks(run.scope.conversation_id)
    for fallback in fallbacks:
        if reason := run.limit():
            return reason
        await _replace(run, fallback)
    if not fallbacks:
        return StopReason.NOTHING_TO_COMPACT
    return StopReason.DONE if run.summaries_created else StopReason.NO_PROGRESS


async def _replace(run: ConversationRun, fallback: Summary) -> None:
    run.passes += 1
    with run.metered():
        new = await _rewritten(run, fallback)
    if new.origin is SummaryOrigin.TRUNCATED:
        return
    try:
        await run.scope.project.summaries.supersede(fallback.summary_key, new)
    except IdentityConflict:
        return  # another repair was faster
    run.summaries_created += 1


async def _rewritten(run: ConversationRun, fallback: Summary) -> NewSummary:
    """The summary of the same sources, without what precedes them: that may have been written much later."""
    scope, summaries = run.scope, run.scope.project.summaries
    if fallback.kind is SummaryKind.LEAF:
        messages = await summaries.list_messages(fallback.summary_key)
        shown = await with_file_summaries(scope.project.large_files, messages)
        written = await scope.write(leaf_source(scope, shown, previous=None))
        return new_leaf(scope.conversation_id, messages, written)
    children = await summaries.list_children(fallback.summary_key)
    written = await scope.write(condensed_source(scope, fallback.depth, children, previous=None))
    return new_condensed(scope.conversation_id, fallback.depth, children, written)
