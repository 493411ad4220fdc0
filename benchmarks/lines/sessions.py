"""What an agent waits for in a long session: one more turn, the assembled context, an opened summary."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from benchmarks.figures import Budget, Line, line
from benchmarks.lines.compacting import compacted_home
from benchmarks.sizes import Sizes
from benchmarks.stores import CLIENT, Store, least_cpu_ms, open_store
from benchmarks.transcripts import CWD, Session
from benchmarks.workplace import Workplace
from lcm.assembly.assembler import assemble
from lcm.domain.summaries import Summary
from lcm.engine.importing import ProjectAccess
from lcm.engine.lifecycle import Engine
from lcm.retrieval.expand import expand

_TURN_MESSAGES = 3
_CONTEXT_BUDGET = 200_000
_SEED = 7


def measure_turn(work: Workplace) -> list[Line]:
    """Three records appended to the transcript, then the hook after a turn."""
    sizes = work.sizes
    long = asyncio.run(_turn_cpu_ms(work, sizes.session))
    small = asyncio.run(_turn_cpu_ms(work, sizes.small_session))
    name = f"one more turn after {sizes.session:,} messages"
    beside = Budget(times_floor=1.5)
    return [
        line(name, long, "ms", budget=Budget(plus=8), is_full=sizes.is_full),
        line(f"{name}, not {sizes.small_session:,}", long, "ms", floor=small, budget=beside, is_full=sizes.is_full),
    ]


def measure_context(work: Workplace) -> list[Line]:
    """Before and after a full sweep."""
    before = work.home_of(work.long_session(work.sizes.session))
    after = compacted_home(work, work.sizes.session)
    return asyncio.run(_measure_context(work.sizes, before, after))


async def _turn_cpu_ms(work: Workplace, messages: int) -> float:
    """CPU of a turn in this process, all threads: the least of several turns after one that warms up."""
    folder = work.scratch(f"turn-{messages}")
    folder.mkdir()
    session = Session(_SEED)
    path = folder / f"{session.session_id}.jsonl"
    _append(path, session, messages)
    async with open_store(folder / "home") as store:
        engine = Engine(_access(store), store.settings, CWD)
        await engine.after_turn(path, CLIENT)
        turns = [await _one_turn(engine, path, session) for _ in range(work.sizes.light_runs + 1)]
    return min(turns[1:])


async def _one_turn(engine: Engine, path: Path, session: Session) -> float:
    _append(path, session, _TURN_MESSAGES)
    started = time.process_time()
    report = await engine.after_turn(path, CLIENT)
    used = time.process_time() - started
    if report.counts.messages_new != _TURN_MESSAGES:
        raise AssertionError(f"The turn brought {report.counts.messages_new} messages, not {_TURN_MESSAGES}.")
    return 1_000 * used


def _append(path: Path, session: Session, messages: int) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(session.lines(messages))


def _access(store: Store) -> ProjectAccess:
    return ProjectAccess(store.projects.open, store.projects.preparer_for, store.projects.known_roots())


async def _measure_context(sizes: Sizes, before: Path, after: Path) -> list[Line]:
    figures = {
        f"assembly of {sizes.session:,} messages": await _assembly_ms(before, sizes.light_runs),
        "assembly after compaction": await _assembly_ms(after, sizes.light_runs),
        **await _expansions_ms(after, sizes.light_runs),
    }
    budget = Budget(plus=20)
    return [line(name, value, "ms", budget=budget, is_full=sizes.is_full) for name, value in figures.items()]


async def _assembly_ms(home: Path, runs: int) -> float:
    async with open_store(home) as store:
        project, conversation_id = await store.project(), await store.conversation_id()
        count = store.settings.compaction.fresh_tail_count
        return await least_cpu_ms(
            lambda: assemble(project, conversation_id, budget=_CONTEXT_BUDGET, fresh_tail_count=count), runs
        )


async def _expansions_ms(home: Path, runs: int) -> dict[str, float]:
    """Of the deepest summary, and of a leaf with its messages."""
    async with open_store(home) as store:
        project = await store.project()
        summaries = await project.summaries.list_summaries(await store.conversation_id())
        deepest, leaf = max(summaries, key=_depth), min(summaries, key=_depth)
        return {
            "expansion of the deepest summary": await least_cpu_ms(
                lambda: expand(project, deepest.summary_id, depth=1), runs
            ),
            "expansion of a leaf with its messages": await least_cpu_ms(
                lambda: expand(project, leaf.summary_id, depth=1, include_messages=True), runs
            ),
        }


def _depth(summary: Summary) -> int:
    return summary.depth
