"""The full sweep: leaf passes until no chunk is left, then condensations from the shallowest depth on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lcm.clock import Clock, utc_now
from lcm.compaction.chunks import (
    CondenseChunk,
    LeafChunk,
    choose_condensation,
    holds,
    iter_condensations,
    iter_leaf_chunks,
)
from lcm.compaction.condense import run_condensed_pass
from lcm.compaction.leaf import run_leaf_pass
from lcm.compaction.meter import CallMeter
from lcm.compaction.passes import PassScope
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason, SweepPlan, SweepProgress
from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.summaries import Summary
from lcm.errors import ContextChanged, IdentityConflict, SummarizerError
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import Summarizer

#: Who loses this often without a summary of its own in between leaves the work to the other compaction.
_MAX_LOSSES = 3


async def sweep_conversation(
    project: ProjectStorage,
    conversation_id: int,
    *,
    summarizer: Summarizer,
    policy: CompactionPolicy,
    scrub: Callable[[str], str],
    clock: Clock = utc_now,
    hard: bool = False,
    progress: Callable[[SweepProgress], None] | None = None,
) -> CompactionResult:
    """Compact one conversation as far as the policy goes.

    Each pass is stored by itself: cancelled or killed at any point, the context is the one before or after a pass, and
    the next sweep goes on from it. A summarizer that fails in the middle ends the sweep, not what was done before.

    `scrub` removes secrets from what a model is given and from what it wrote. With `hard`, for when space is short,
    summaries are condensed by the hard fan-out. `progress` is called after each pass.

    Raises:
        UnknownConversation: no such conversation in this project.
        StorageError: the storage failed; what earlier passes stored stays.
    """
    scope = PassScope(project, conversation_id, summarizer, policy, scrub, CallMeter(project.model_calls))
    sweep = _Sweep(scope, clock, hard, progress, clock() + timedelta(seconds=policy.max_seconds))
    await sweep.read()
    return await sweep.run()


async def plan_sweep(project: ProjectStorage, conversation_id: int, policy: CompactionPolicy) -> SweepPlan:
    """What `sweep_conversation` would start with; calls no model and writes nothing.

    Raises:
        UnknownConversation: no such conversation in this project.
    """
    items = await project.context.list_items(conversation_id)
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


@dataclass(slots=True)
class _Sweep:
    """A running sweep: the items as read once, kept in step with what is stored, and the totals.

    The items are not read again for a pass, which would make a long conversation quadratic; `replace_range` is the
    guard against what others did meanwhile. Decisions go by index: ordinals in the list are those of the last read.
    """

    scope: PassScope
    clock: Clock
    hard: bool
    progress: Callable[[SweepProgress], None] | None
    deadline: datetime
    items: list[ContextItem] = field(default_factory=list)
    tokens_before: int = 0
    tokens_now: int = 0
    passes: int = 0
    summaries_created: int = 0
    losses: int = 0
    fruitless: set[ItemRef] = field(default_factory=set)

    async def read(self) -> None:
        """Read all items, at the start and after another compaction was faster."""
        self.scope.known.clear()
        self.items = await self.scope.project.context.list_items(self.scope.conversation_id)
        self.tokens_now = sum(item.token_count for item in self.items)
        if self.passes == 0:
            self.tokens_before = self.tokens_now

    async def run(self) -> CompactionResult:
        while True:
            try:
                reason = await self._compact_leaves() or await self._condense() or self._end()
            except ContextChanged:
                if self.losses < _MAX_LOSSES:
                    continue
                reason = StopReason.CONTEXT_CHANGED
            except SummarizerError as error:
                return self._result(StopReason.SUMMARIZER_UNAVAILABLE, str(error))
            return self._result(reason)

    async def _compact_leaves(self) -> StopReason | None:
        """Phase 1; a reason when it ends the sweep. The chunks are chosen once: none depends on one before it."""
        removed = 0
        for planned in list(iter_leaf_chunks(self.items, self.scope.policy)):
            chunk = replace(planned, start=planned.start - removed)
            if chunk.items[0].ref in self.fruitless:
                continue
            if reason := self._limit():
                return reason
            if await self._attempt(chunk, run_leaf_pass(self.scope, self.items, chunk)):
                removed += len(chunk.items) - 1
            elif chunk.token_count >= self.scope.policy.leaf_target_tokens:
                return StopReason.NO_PROGRESS
        return None

    async def _condense(self) -> StopReason | None:
        """Phase 2; a reason when it ends the sweep."""
        while chunk := choose_condensation(self.items, self.scope.policy, hard=self.hard):
            if reason := self._limit():
                return reason
            if not await self._attempt(chunk, run_condensed_pass(self.scope, self.items, chunk)):
                return StopReason.NO_PROGRESS
        return None

    def _limit(self) -> StopReason | None:
        if self.passes >= self.scope.policy.max_passes:
            return StopReason.PASS_LIMIT
        return StopReason.TIME_LIMIT if self.clock() >= self.deadline else None

    def _end(self) -> StopReason:
        """The reason when nothing is left to do."""
        if self.losses:
            return StopReason.CONTEXT_CHANGED
        if self.summaries_created:
            return StopReason.DONE
        return StopReason.NO_PROGRESS if self.fruitless else StopReason.NOTHING_TO_COMPACT

    async def _attempt(self, chunk: LeafChunk | CondenseChunk, run: Awaitable[Summary | None]) -> bool:
        """Run one pass and take over its result; whether a summary was stored.

        Raises:
            ContextChanged: another compaction was faster; the items are read again.
            IdentityConflict: the chunk is still in the context but cannot be replaced: `lcm verify` tells why.
        """
        self.passes += 1
        try:
            summary = await run
        except IdentityConflict as conflict:
            await self._lose(chunk, conflict)
            raise ContextChanged from conflict
        if summary is None:
            self.fruitless.add(chunk.items[0].ref)
        else:
            self._take_over(chunk, summary)
        self._report()
        return summary is not None

    async def _lose(self, chunk: LeafChunk | CondenseChunk, conflict: IdentityConflict) -> None:
        """Read what another compaction left; who links sources second meets their new links before the new context."""
        self.losses += 1
        await self.read()
        if not isinstance(conflict, ContextChanged) and holds(self.items, chunk.refs):
            raise conflict

    def _take_over(self, chunk: LeafChunk | CondenseChunk, summary: Summary) -> None:
        """Do to the items what was done to the stored context."""
        self.items[chunk.start : chunk.end] = [_item_of(summary, chunk)]
        self.tokens_now += summary.token_count - chunk.token_count
        self.summaries_created += 1
        self.losses = 0

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(SweepProgress(self.passes, self.summaries_created, self.tokens_before, self.tokens_now))

    def _result(self, reason: StopReason, message: str | None = None) -> CompactionResult:
        return CompactionResult(
            conversation_id=self.scope.conversation_id,
            stop_reason=reason,
            summaries_created=self.summaries_created,
            passes=self.passes,
            tokens_before=self.tokens_before,
            tokens_after=self.tokens_now,
            model_calls=self.scope.meter.calls,
            cost_micros=self.scope.meter.cost_micros,
            message=message,
        )


def _item_of(summary: Summary, chunk: LeafChunk | CondenseChunk) -> ContextItem:
    """The item that shows a summary in the place of its sources."""
    return ContextItem(
        ordinal=chunk.start,
        position=chunk.items[0].position,
        ref=ItemRef(summary_key=summary.summary_key),
        token_count=summary.token_count,
        occurred_at=summary.earliest_at,
        summary_id=summary.summary_id,
        kind=summary.kind,
        depth=summary.depth,
    )
