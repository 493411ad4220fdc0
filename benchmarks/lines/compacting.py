"""A full sweep of a long session, with a model that answers at once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.figures import Budget, Line, line
from benchmarks.stores import Store, open_store
from benchmarks.workplace import Workplace
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.composition.build import build_scrubber
from lcm.domain.summaries import SummaryOrigin
from lcm.summarizer.contract import SummaryAnswer, SummaryRequest

_MOST_GROWTH = 11


@dataclass(slots=True)
class InstantModel:
    """A remote model that answers at once with a text of the length asked for, each one different.

    Attributes:
        cpu_s: CPU time spent in here, which is not lcm's.
    """

    model: str = "benchmark/instant"
    origin: SummaryOrigin = SummaryOrigin.MODEL
    is_remote: bool = True
    calls: int = 0
    cpu_s: float = field(default=0.0)

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        started = time.process_time()
        self.calls += 1
        tokens = min(request.target_tokens, request.source.target_tokens)
        head = f"Part {self.calls}: "
        text = head + ("what was decided, tried and found " * (tokens // 8 + 1))[: 4 * tokens - len(head)].strip()
        self.cpu_s += time.process_time() - started
        return SummaryAnswer(text, input_tokens=request.source.token_count, output_tokens=tokens, cost_micros=1)


def measure_sweep(work: Workplace) -> list[Line]:
    sizes = work.sizes
    long = [asyncio.run(_sweep_cpu_s(work, sizes.session)) for _ in range(sizes.runs)]
    short = [asyncio.run(_sweep_cpu_s(work, sizes.short_session)) for _ in range(sizes.runs)]
    cpu, short_cpu = min(long), min(short)
    growth = Budget(times_floor=_MOST_GROWTH)
    return [
        line(f"sweep of {sizes.session:,} messages", cpu, "s", budget=Budget(plus=3), is_full=sizes.is_full),
        line(
            f"sweep of {sizes.session:,} messages, not {sizes.short_session:,}",
            cpu,
            "s",
            floor=short_cpu,
            budget=growth,
            is_full=sizes.is_full,
        ),
    ]


def compacted_home(work: Workplace, messages: int) -> Path:
    """A copy of the session's home after a full sweep."""
    home = work.copy_of(work.home_of(work.long_session(messages)), f"compacted-{messages}")
    asyncio.run(_sweep_home(home, InstantModel()))
    return home


async def sweep_store(store: Store, model: InstantModel) -> CompactionResult:
    """A full sweep of the home's only conversation, as `lcm compact` makes it."""
    project = await store.project()
    scrubber = build_scrubber(store.settings, project.root)
    compactor = Compactor(model, CompactionPolicy.manual(store.settings), scrub=lambda text: scrubber.scrub(text).text)
    result = await sweep_conversation(compactor, project, await store.conversation_id())
    if result.stop_reason is not StopReason.DONE:
        raise AssertionError(f"The sweep ended early: {result.stop_reason}.")
    return result


async def _sweep_home(home: Path, model: InstantModel) -> None:
    async with open_store(home) as store:
        await sweep_store(store, model)


async def _sweep_cpu_s(work: Workplace, messages: int) -> float:
    """CPU of one sweep in this process, all threads, without the model's."""
    home = work.copy_of(work.home_of(work.long_session(messages)), "sweep")
    model = InstantModel()
    async with open_store(home) as store:
        await store.conversation_id()
        started = time.process_time()
        await sweep_store(store, model)
        return time.process_time() - started - model.cpu_s
