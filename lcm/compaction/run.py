"""A run of passes over one conversation: its items in step with what is stored, its totals, its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lcm.clock import Clock, utc_now
from lcm.compaction.chunks import CondenseChunk, LeafChunk, holds
from lcm.compaction.condense import run_condensed_pass
from lcm.compaction.leaf import run_leaf_pass
from lcm.compaction.limits import RunLimits
from lcm.compaction.meter import CallMeter
from lcm.compaction.passes import PassScope
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason, SweepProgress
from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.summaries import Summary
from lcm.errors import ContextChanged, IdentityConflict, SummarizerError
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import CallGate, Summarizer
from lcm.summarizer.gate import ProviderGate

#: Who loses this often without a summary of its own in between leaves the work to the other compaction.
_MAX_LOSSES = 3


@dataclass(frozen=True, slots=True)
class Compactor:
    """What compaction of every mode works with.

    Attributes:
        scrub: removes secrets from what a model is given and from what it wrote.
        limits: shared by all conversations of one command, beside the policy's own for each conversation.
        progress: called after each pass.
        gate: of the project's provider, shared by what runs side by side; None makes one for each conversation.
    """

    summarizer: Summarizer
    policy: CompactionPolicy
    scrub: Callable[[str], str]
    clock: Clock = utc_now
    limits: RunLimits = field(default_factory=RunLimits)
    progress: Callable[[SweepProgress], None] | None = None
    gate: CallGate | None = None

    def gate_of(self, project: ProjectStorage) -> CallGate | None:
        """What calls to a remote summarizer go through."""
        if self.gate is not None or not self.summarizer.is_remote:
            return self.gate
        return ProviderGate(project.breakers, self.summarizer.model, clock=self.clock)


@dataclass(slots=True)
class ConversationRun:
    """The items as read once, kept in step with what is stored, and the totals of the run.

    The items are not read again for a pass, which would make a long conversation quadratic; the storage compares them
    when a summary replaces them, and so guards against what others did meanwhile. Decisions go by index: ordinals in
    the list are those of the last read.

    Attributes:
        revision: of the conversation as far as this run knows it: as read, and one more for each stored summary.
        fruitless: first items of the chunks whose summary saved too little.
        last_stored: the summary stored last.
    """

    scope: PassScope
    compactor: Compactor
    deadline: datetime
    items: list[ContextItem] = field(default_factory=list)
    revision: int = 0
    tokens_before: int = 0
    tokens_now: int = 0
    passes: int = 0
    summaries_created: int = 0
    losses: int = 0
    fruitless: set[ItemRef] = field(default_factory=set)
    last_stored: Summary | None = None

    @property
    def policy(self) -> CompactionPolicy:
        return self.scope.policy

    async def read(self) -> None:
        """Read all items, at the start and after another compaction was faster."""
        self.scope.known.clear()
        # The revision first: what is added in between is then seen as new by the next run.
        conversation = await self.scope.project.conversations.get_conversation(self.scope.conversation_id)
        self.revision = conversation.context_revision
        self.items = await self.scope.project.context.list_items(self.scope.conversation_id)
        self.tokens_now = sum(item.token_count for item in self.items)
        if self.passes == 0:
            self.tokens_before = self.tokens_now

    async def complete(self, work: Callable[[], Awaitable[StopReason]]) -> CompactionResult:
        """Do the work, again from what is stored now when another compaction was faster, and tell how it ended."""
        while True:
            try:
                reason = await work()
            except ContextChanged:
                if self.losses < _MAX_LOSSES:
                    continue
                reason = StopReason.CONTEXT_CHANGED
            except SummarizerError as error:
                return self.result(StopReason.SUMMARIZER_UNAVAILABLE, str(error))
            return self.result(reason)

    async def attempt(self, chunk: LeafChunk | CondenseChunk) -> bool:
        """Run one pass and take over its result; whether a summary was stored.

        Raises:
            ContextChanged: another compaction was faster; the items were read again.
            IdentityConflict: the chunk is still in the context but cannot be replaced: `lcm verify` tells why.
            SummarizerError: no answer; nothing was changed.
        """
        self.passes += 1
        try:
            summary = await self._pass(chunk)
        except IdentityConflict as conflict:
            await self._lose(chunk, conflict)
            raise ContextChanged from conflict
        if summary is None:
            self.fruitless.add(chunk.items[0].ref)
        else:
            self._take_over(chunk, summary)
        self._report()
        return summary is not None

    def limit(self) -> StopReason | None:
        """The limit that forbids another pass."""
        if self.passes >= self.policy.max_passes:
            return StopReason.PASS_LIMIT
        now = self.compactor.clock()
        return StopReason.TIME_LIMIT if now >= self.deadline else self.compactor.limits.reached(now)

    def end(self) -> StopReason:
        """The reason when nothing is left to do."""
        if self.losses:
            return StopReason.CONTEXT_CHANGED
        if self.summaries_created:
            return StopReason.DONE
        return StopReason.NO_PROGRESS if self.fruitless else StopReason.NOTHING_TO_COMPACT

    def result(self, reason: StopReason, message: str | None = None) -> CompactionResult:
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

    @contextmanager
    def metered(self) -> Iterator[None]:
        """Count what one pass uses towards the limits of the whole command, also when it fails."""
        meter = self.scope.meter
        tokens, cost = meter.tokens, meter.cost_micros
        try:
            yield
        finally:
            self.compactor.limits.use(tokens=meter.tokens - tokens, cost_micros=_difference(meter.cost_micros, cost))

    async def _pass(self, chunk: LeafChunk | CondenseChunk) -> Summary | None:
        with self.metered():
            if isinstance(chunk, LeafChunk):
                return await run_leaf_pass(self.scope, self.items, chunk)
            return await run_condensed_pass(self.scope, self.items, chunk)

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
        self.revision += 1
        self.summaries_created += 1
        self.losses = 0
        self.last_stored = summary

    def _report(self) -> None:
        if self.compactor.progress is not None:
            self.compactor.progress(
                SweepProgress(self.passes, self.summaries_created, self.tokens_before, self.tokens_now)
            )


async def start_run(
    compactor: Compactor, project: ProjectStorage, conversation_id: int, *, seed: str | None = None
) -> ConversationRun:
    """A run that has read its conversation; `seed` is what its first leaf continues when no summary precedes it.

    Raises:
        UnknownConversation: no such conversation in this project.
    """
    meter = CallMeter(project.model_calls)
    scope = PassScope(
        project,
        conversation_id,
        compactor.summarizer,
        compactor.policy,
        compactor.scrub,
        meter,
        seed=seed,
        gate=compactor.gate_of(project),
    )
    run = ConversationRun(scope, compactor, compactor.clock() + timedelta(seconds=compactor.policy.max_seconds))
    await run.read()
    return run


def _difference(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before


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
