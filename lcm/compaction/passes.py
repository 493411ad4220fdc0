"""What a leaf pass and a condensed pass share: what they work with, and the transaction that stores the result."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lcm.compaction.chunks import CondenseChunk, LeafChunk
from lcm.compaction.meter import CallMeter
from lcm.compaction.policy import CompactionPolicy
from lcm.domain.summaries import NewSummary, Summary
from lcm.errors import ContextChanged
from lcm.log import get_logger
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import CallGate, SourceText, Summarizer, WrittenSummary
from lcm.summarizer.escalation import write_summary

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PassScope:
    """What every pass over one conversation works with.

    Attributes:
        seed: what the first leaf continues when no summary precedes it.
        gate: decides whether the provider is asked; None always asks.
        known: summaries of the context that were read or stored already; they never change while they are in it.
    """

    project: ProjectStorage
    conversation_id: int
    summarizer: Summarizer
    policy: CompactionPolicy
    scrub: Callable[[str], str]
    meter: CallMeter
    seed: str | None = None
    gate: CallGate | None = None
    known: dict[uuid.UUID, Summary] = field(default_factory=dict)

    async def write(self, source: SourceText) -> WrittenSummary:
        """Ask for the text of a summary; no transaction may be open."""
        ledger = self.meter.ledger
        return await write_summary(self.summarizer, source, ledger=ledger, scrub=self.scrub, gate=self.gate)

    async def list_summaries(self, keys: Sequence[uuid.UUID]) -> list[Summary]:
        """The summaries that exist among these keys, in the order given; the storage is asked for unknown ones only."""
        unknown = [key for key in keys if key not in self.known]
        if unknown:
            found = await self.project.summaries.list_by_key(unknown)
            self.known.update((summary.summary_key, summary) for summary in found)
        return [self.known[key] for key in keys if key in self.known]

    def take_over(self, summary: Summary, chunk: LeafChunk | CondenseChunk) -> None:
        """Know a summary that was stored, and forget those that it replaced."""
        for ref in chunk.refs:
            if ref.summary_key is not None:
                self.known.pop(ref.summary_key, None)
        self.known[summary.summary_key] = summary


def require_sources(found: Sequence[object], chunk: LeafChunk | CondenseChunk) -> None:
    """Refuse to summarize a part of a chunk only.

    Raises:
        ContextChanged: a source is gone since the items were read.
    """
    if len(found) != len(chunk.items):
        raise ContextChanged


async def store_if_saving(scope: PassScope, chunk: LeafChunk | CondenseChunk, new: NewSummary) -> Summary | None:
    """Store a summary, link its sources and put it in their place, all or nothing; None when it saves too little.

    Raises:
        ContextChanged, IdentityConflict: the sources are not in this context any more, or already under a summary.
    """
    if not scope.policy.is_saving(chunk.token_count, new.token_count):
        _log("summary_discarded", chunk, new)
        return None
    summary = await scope.project.summaries.insert_in_place(new, chunk.refs)
    scope.take_over(summary, chunk)
    _log("summary_stored", chunk, new)
    return summary


def _log(event: str, chunk: LeafChunk | CondenseChunk, new: NewSummary) -> None:
    log.info(
        event,
        conversation_id=new.conversation_id,
        depth=new.depth,
        sources=len(chunk.items),
        source_tokens=chunk.token_count,
        summary_tokens=new.token_count,
        escalation=str(new.level),
        origin=str(new.origin),
    )
