"""Measures what search finds in made-up coding sessions before and after their compaction; see README.md.

python benchmarks/recall/coding.py [--facts N] [--sessions N] [--messages N] [--seed N]
    [--model NAME] [--json]
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from benchmarks import processes
from benchmarks.recall.planted import ROOT, Planted, Sizes, write_sessions
from benchmarks.stores import CLIENT, open_store
from lcm.retrieval.expand import expand
from lcm.retrieval.search import ALL_LAYERS, SearchHit, search
from lcm.storage.contracts.lexical_search import TextKind
from lcm.storage.contracts.project import ProjectStorage

_LIMIT = 10
_DEEPEST = 64
_SUMMARIES = frozenset({TextKind.SUMMARY})
_USUAL = Sizes()


@dataclass(frozen=True, slots=True)
class Found:
    """Of one fact: among the first ten hits before compaction, after it, and after it also under a summary of them.

    `by_summary`: under one of the first ten summaries, when only summaries are searched.
    """

    kind: str
    before: bool
    after: bool
    after_opened: bool
    by_summary: bool


@dataclass(frozen=True, slots=True)
class Shares:
    """Of `n` facts; `loss` is what compaction took away."""

    n: int
    before: float
    after: float
    after_opened: float
    by_summary: float
    loss: float

    @classmethod
    def of(cls, found: Sequence[Found]) -> Shares:
        n = len(found)
        before, opened = sum(each.before for each in found), sum(each.after_opened for each in found)
        after, by_summary = sum(each.after for each in found), sum(each.by_summary for each in found)
        return cls(n, before / n, after / n, opened / n, by_summary / n, (before - opened) / n)


@click.command()
@click.option("--facts", type=click.IntRange(1), default=_USUAL.facts, show_default=True, help="Facts of each kind.")
@click.option("--sessions", type=click.IntRange(1), default=_USUAL.sessions, show_default=True)
@click.option("--messages", type=click.IntRange(100), default=_USUAL.messages, show_default=True, help="Of a session.")
@click.option("--seed", type=int, default=_USUAL.seed, show_default=True)
@click.option("--model", help="Compact with this model, as LiteLLM names it, instead of offline.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
def main(*, facts: int, sessions: int, messages: int, seed: int, model: str | None, as_json: bool) -> None:
    """Planted facts found before and after compaction, by kind."""
    sizes = Sizes(sessions=sessions, messages=messages, facts=facts, seed=seed)
    with tempfile.TemporaryDirectory(prefix="lcm-recall-") as folder:
        found = measure(Path(folder), sizes, model)
    shares = by_kind(found)
    if as_json:
        click.echo(json.dumps({kind: asdict(each) for kind, each in shares.items()}))
    else:
        _print_table(shares)


def measure(folder: Path, sizes: Sizes, model: str | None = None) -> list[Found]:
    """Import, ask, compact with the command line, ask again."""
    home = folder / "home"
    planted = write_sessions(folder / "sessions", sizes)
    before = asyncio.run(_import_and_ask(home, sorted((folder / "sessions").glob("*.jsonl")), planted))
    processes.run(processes.lcm("compact", "--project", ROOT, "--json"), _environment(folder, home, model))
    return [
        Found(each.fact.kind, was_found, *answers)
        for each, was_found, answers in zip(planted, before, asyncio.run(_ask_again(home, planted)), strict=True)
    ]


def by_kind(found: Sequence[Found]) -> dict[str, Shares]:
    """In the order of the kinds, and of all."""
    kinds = dict.fromkeys(each.kind for each in found)
    return {kind: Shares.of([each for each in found if each.kind == kind]) for kind in sorted(kinds)} | {
        "all": Shares.of(found)
    }


def _environment(folder: Path, home: Path, model: str | None) -> dict[str, str]:
    """Settings of lcm are taken from the environment only with a model, for its key and address."""
    if model is None:
        return {**processes.clean_environment(folder), "LCM_HOME": str(home), "LCM_SUMMARY_PROVIDER": "offline"}
    return {**os.environ, "LCM_HOME": str(home), "LCM_SUMMARY_MODEL": model}


async def _import_and_ask(home: Path, paths: Sequence[Path], planted: Sequence[Planted]) -> list[bool]:
    async with open_store(home) as store:
        importer = store.projects.importer(root=ROOT)
        for path in paths:
            await importer.import_file(path, CLIENT)
        project = await store.project()
        return [_has(await _hits(project, each), each) for each in planted]


async def _ask_again(home: Path, planted: Sequence[Planted]) -> list[tuple[bool, bool, bool]]:
    """Of each fact: found itself; itself or under a summary; under a summary when only these are searched."""
    async with open_store(home) as store:
        project = await store.project()
        below = _Below(project)
        answers = []
        for each in planted:
            hits = await _hits(project, each)
            is_direct = _has(hits, each)
            summaries = await _hits(project, each, layers=_SUMMARIES)
            answers.append((is_direct, is_direct or await below.holds(hits, each), await below.holds(summaries, each)))
        return answers


class _Below:
    """The messages under summaries, each opened once."""

    def __init__(self, project: ProjectStorage) -> None:
        self._project = project
        self._texts: dict[str, set[str]] = {}

    async def holds(self, hits: Sequence[SearchHit], planted: Planted) -> bool:
        """Whether a message with the fact is given when the summaries among the hits are opened."""
        texts = [await self._of(hit.summary_id) for hit in hits if hit.summary_id]
        return any(planted.fact.text in text for each in texts for text in each)

    async def _of(self, summary_id: str) -> set[str]:
        if summary_id not in self._texts:
            opened = await expand(self._project, summary_id, depth=_DEEPEST, include_messages=True)
            self._texts[summary_id] = {each.content for one in opened.expansions for each in one.messages}
        return self._texts[summary_id]


async def _hits(
    project: ProjectStorage, planted: Planted, layers: frozenset[TextKind] = ALL_LAYERS
) -> Sequence[SearchHit]:
    return (await search(project, planted.fact.question, limit=_LIMIT, layers=layers)).hits


def _has(hits: Sequence[SearchHit], planted: Planted) -> bool:
    return any((hit.session_id, hit.seq) == (planted.session_id, planted.seq) for hit in hits)


def _print_table(shares: dict[str, Shares]) -> None:
    click.echo(f"{'kind':<12}{'n':>5}{'before':>9}{'after':>8}{'opened':>8}{'loss':>8}{'summaries only':>17}")
    for kind, each in shares.items():
        click.echo(
            f"{kind:<12}{each.n:>5}{each.before:>9.3f}{each.after:>8.3f}{each.after_opened:>8.3f}{each.loss:>8.3f}"
            f"{each.by_summary:>17.3f}"
        )


if __name__ == "__main__":
    main()
