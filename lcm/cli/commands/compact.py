"""`lcm compact`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from lcm.cli import exit_codes
from lcm.cli.options import json_option, project_option
from lcm.cli.output import print_json, say, shown_count, write
from lcm.cli.progress import progress
from lcm.cli.projects import by_project, print_project
from lcm.cli.running import Session, run, session
from lcm.cli.tables import Column, print_table
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason, SweepPlan
from lcm.compaction.sweep import plan_sweep, sweep_conversation
from lcm.composition.build import build_scrubber
from lcm.composition.lookup import find_in_one
from lcm.errors import SummarizerUnavailable, UnknownConversation
from lcm.retrieval.identify import resolve_conversation
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.choose import choose_summarizer

_FAILED = frozenset({StopReason.SUMMARIZER_UNAVAILABLE})
Work = tuple[ProjectStorage, int]
Swept = tuple[ProjectStorage, CompactionResult]


@click.command("compact")
@click.option("--conversation", metavar="ID", help="One conversation, by id, key or session.")
@click.option("--session", "session_id", metavar="ID", help="Every conversation of one session.")
@click.option("--all", "is_all", is_flag=True, help="Every conversation of the project (the default).")
@click.option("--dry-run", is_flag=True, help="Tell what would be compacted; call no model and write nothing.")
@project_option
@json_option
def command(
    conversation: str | None,
    session_id: str | None,
    is_all: bool,
    dry_run: bool,
    selector: str | None,
    as_json: bool,
) -> None:
    """Compact old messages into summaries, as far as the rules allow.

    The newest messages stay as they are. Nothing is deleted: every summary opens again with `lcm expand`.
    """
    if sum(map(bool, (conversation, session_id, is_all))) > 1:
        raise click.UsageError("Give one of --conversation, --session and --all.")

    async def work() -> int:
        async with session() as current:
            chosen = await _choose(current, selector, conversation, session_id)
            if dry_run:
                policy = CompactionPolicy.manual(current.settings)
                plans = [(project, await plan_sweep(project, each, policy)) for project, each in chosen]
                _print_plans(plans, as_json=as_json)
                return exit_codes.DONE
            results = await _sweep_all(current, chosen)
        _print_results(results, as_json=as_json)
        return _tell_failure(results, len(chosen))

    run(work)


async def _choose(
    current: Session, selector: str | None, conversation: str | None, session_id: str | None
) -> list[Work]:
    projects = await current.select(selector)
    if conversation is not None:
        project, found = await find_in_one(projects, lambda each: resolve_conversation(each, conversation))
        return [(project, found.conversation_id)]
    if session_id is not None:
        return await _of_session(projects, session_id)
    return [
        (project, each.conversation_id)
        for project in projects
        for each in await project.conversations.list_conversations()
    ]


async def _of_session(projects: Sequence[ProjectStorage], session_id: str) -> list[Work]:
    """Every segment of the session in every project; a unique beginning of its id will do."""
    chosen = [
        (project, each.conversation_id)
        for project in projects
        for each in await project.conversations.list_of_session(session_id)
    ]
    if chosen:
        return chosen
    project, found = await find_in_one(projects, lambda each: resolve_conversation(each, session_id))
    if not found.session_id.startswith(session_id):
        raise UnknownConversation
    listed = await project.conversations.list_of_session(found.session_id)
    return [(project, each.conversation_id) for each in listed]


async def _sweep_all(current: Session, chosen: list[Work]) -> list[Swept]:
    summarizer = choose_summarizer(current.settings)
    policy = CompactionPolicy.manual(current.settings)
    results = []
    for project, conversation_id in progress(chosen, "compacting"):
        scrubber = build_scrubber(current.settings, project.root)
        result = await sweep_conversation(
            project,
            conversation_id,
            summarizer=summarizer,
            policy=policy,
            scrub=lambda text, scrubber=scrubber: scrubber.scrub(text).text,  # type: ignore[misc]
        )
        results.append((project, result))
        if result.stop_reason in _FAILED:
            break  # the next conversation would meet the same provider
    return results


def _tell_failure(results: list[Swept], chosen: int) -> int:
    """A failed provider ends the run: one line says why and what is left."""
    failed = [each for _, each in results if each.stop_reason in _FAILED]
    if not failed:
        return exit_codes.DONE
    left = chosen - len(results)
    rest = f" {shown_count(left, 'conversation')} not tried." if left else ""
    say(f"lcm: {failed[0].message or SummarizerUnavailable.default_message}{rest}")
    return exit_codes.FAILURE


def result_json(project: ProjectStorage, result: CompactionResult) -> dict[str, Any]:
    return {
        "conversation_id": result.conversation_id,
        "project_id": project.project_id,
        "action_taken": result.action_taken,
        "stop_reason": result.stop_reason,
        "summaries_created": result.summaries_created,
        "passes": result.passes,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "model_calls": result.model_calls,
        "cost": result.cost_micros,
        "message": result.message,
    }


def _print_results(results: list[Swept], *, as_json: bool) -> None:
    if as_json:
        print_json({"conversations": [result_json(project, result) for project, result in results]})
        return
    worked = [(project, each) for project, each in results if each.stop_reason is not StopReason.NOTHING_TO_COMPACT]
    for project, group in by_project(worked):
        _print_heading(project, results)
        print_table(_RESULT_COLUMNS, [_result_row(each) for each in group])
    idle = len(results) - len(worked)
    if idle:
        write(f"{shown_count(idle, 'conversation')} with nothing to compact.")
    if not results:
        write("No conversations yet; `lcm import` brings them in.")


_RESULT_COLUMNS = (
    Column("id"),
    Column("result"),
    Column("summaries", is_number=True),
    Column("passes", is_number=True, drop=1),
    Column("tokens before", is_number=True),
    Column("tokens after", is_number=True),
    Column("model calls", is_number=True, drop=2),
)


def _result_row(result: CompactionResult) -> list[object]:
    return [
        str(result.conversation_id),
        result.stop_reason.value.replace("_", " "),
        result.summaries_created,
        result.passes,
        result.tokens_before,
        result.tokens_after,
        result.model_calls,
    ]


def _print_plans(plans: list[tuple[ProjectStorage, SweepPlan]], *, as_json: bool) -> None:
    if as_json:
        shown = [{"project_id": project.project_id, **_plan_json(plan)} for project, plan in plans]
        print_json({"dry_run": True, "conversations": shown})
        return
    due = [(project, plan) for project, plan in plans if not plan.is_empty]
    for project, group in by_project(due):
        _print_heading(project, plans)
        print_table(_PLAN_COLUMNS, [_plan_row(plan) for plan in group])
    if len(due) < len(plans) or not plans:
        write(f"{shown_count(len(plans) - len(due), 'conversation')} with nothing to compact.")


_PLAN_COLUMNS = (
    Column("id"),
    Column("context tokens", is_number=True),
    Column("leaf chunks", is_number=True),
    Column("messages", is_number=True),
    Column("tokens", is_number=True),
    Column("condensations", is_number=True),
)


def _plan_row(plan: SweepPlan) -> list[object]:
    return [
        str(plan.conversation_id),
        plan.context_tokens,
        plan.leaf_chunks,
        plan.leaf_messages,
        plan.leaf_tokens,
        plan.condensations,
    ]


def _print_heading(project: ProjectStorage, listed: Sequence[tuple[ProjectStorage, object]]) -> None:
    if len({each.project_id for each, _ in listed}) > 1:
        print_project(project)


def _plan_json(plan: SweepPlan) -> dict[str, Any]:
    return {
        "conversation_id": plan.conversation_id,
        "context_tokens": plan.context_tokens,
        "leaf_chunks": plan.leaf_chunks,
        "leaf_messages": plan.leaf_messages,
        "leaf_tokens": plan.leaf_tokens,
        "condensations": plan.condensations,
        "condensation_tokens": plan.condensation_tokens,
    }
