"""`lcm stats`."""

from __future__ import annotations

import click

from lcm.cli.options import json_option, project_option
from lcm.cli.output import jsonable, print_json, shown_count, write, write_fact, write_wrapped
from lcm.cli.projects import print_project
from lcm.cli.running import run, session
from lcm.diagnostics.stats import Stats, collect_stats, total_of
from lcm.domain.breakers import Breaker, BreakerState
from lcm.storage.contracts.project import ProjectStorage


@click.command("stats")
@project_option
@json_option
def command(selector: str | None, as_json: bool) -> None:
    """Figures of the store: conversations, messages, summaries, tokens, redactions, model calls."""

    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
            figures = [(project, await collect_stats(project)) for project in projects]
        total = total_of([each for _, each in figures])
        if as_json:
            per_project = [
                {"project_id": project.project_id, "root": project.root, **jsonable(each)} for project, each in figures
            ]
            print_json({**jsonable(total), "projects": per_project})
            return
        _print(figures, total)

    run(work)


def _print(figures: list[tuple[ProjectStorage, Stats]], total: Stats) -> None:
    if not figures:
        write("Nothing is stored yet; run `lcm import`.")
        return
    for project, each in figures:
        print_project(project)
        if len(figures) > 1:
            write_wrapped(_sentence(each), indent=4)
    if len(figures) > 1:
        write(shown_count(len(figures), "project"))
    for name, value in _facts(total):
        write_fact(name, value)


def _sentence(stats: Stats) -> str:
    summaries = "summary" if stats.summaries == 1 else "summaries"
    return (
        f"{shown_count(stats.conversations, 'conversation')}, {shown_count(stats.messages, 'message')},"
        f" {stats.summaries:,} {summaries}, {stats.context_tokens:,} of {stats.raw_tokens:,} tokens in context"
    )


def _facts(stats: Stats) -> list[tuple[str, str]]:
    depth = "" if stats.max_depth is None else f", deepest {stats.max_depth}"
    redactions = ", ".join(f"{name} {count:,}" for name, count in stats.redactions.items())
    return [
        ("conversations", f"{stats.conversations:,}"),
        ("messages", f"{stats.messages:,} with {stats.parts:,} parts"),
        ("summaries", f"{stats.summaries:,}{depth}"),
        ("context", f"{stats.context_tokens:,} of {stats.raw_tokens:,} tokens"),
        ("large files", f"{stats.large_files:,}"),
        ("secrets replaced", redactions or "none"),
        ("model calls", f"{stats.model_calls:,}"),
        *(("model rests", _rest(breaker)) for breaker in stats.breakers if breaker.state is not BreakerState.CLOSED),
    ]


def _rest(breaker: Breaker) -> str:
    """Why a model is not asked, and until when."""
    calls = "1 failed call" if breaker.failures == 1 else f"{breaker.failures:,} failed calls in a row"
    if breaker.state is BreakerState.HALF_OPEN:
        return f"{breaker.model} is being tried again after {calls} ({breaker.error_code})"
    until = f" until {breaker.probe_at:%Y-%m-%d %H:%M} UTC" if breaker.probe_at else ""
    return f"{breaker.model}{until}, after {calls} ({breaker.error_code}); `lcm compact` asks at once"
