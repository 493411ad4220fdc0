"""How plans and results of compaction are printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lcm.cli.output import print_json, shown_count, write
from lcm.cli.projects import by_project, print_project
from lcm.cli.tables import Column, print_table
from lcm.compaction.batch import FAILURES, Candidate
from lcm.compaction.result import CompactionResult, StopReason, SweepPlan
from lcm.composition.selection import Unreadable
from lcm.storage.contracts.project import ProjectStorage

#: Results that need no line of their own.
_QUIET = frozenset({StopReason.NOTHING_TO_COMPACT, StopReason.BELOW_MIN_TOKENS, StopReason.NOT_TRIED})
#: Results of conversations that were left out on purpose or because the run ended before.
_SKIPPED = frozenset({StopReason.BELOW_MIN_TOKENS, StopReason.NOT_TRIED})

Planned = tuple[ProjectStorage, Candidate]
Compacted = tuple[ProjectStorage, CompactionResult]


@dataclass(slots=True)
class CompactionReport:
    """Everything a run did, over all its projects."""

    results: list[Compacted] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    @property
    def failures(self) -> list[CompactionResult]:
        return [result for _, result in self.results if result.stop_reason in FAILURES]

    @property
    def not_tried(self) -> int:
        return sum(result.stop_reason is StopReason.NOT_TRIED for _, result in self.results)


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


def print_report(report: CompactionReport, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "conversations": [result_json(project, result) for project, result in report.results],
                "projects": [*_project_counts(report.results), *map(_unreadable_json, report.unreadable)],
            }
        )
        return
    worked = [pair for pair in report.results if pair[1].stop_reason not in _QUIET]
    for project, group in by_project(worked):
        _print_heading(project, report.results)
        print_table(_RESULT_COLUMNS, [_result_row(each) for each in group])
    _print_rest([result for _, result in report.results])
    if not report.results and not report.unreadable:
        write("No conversations yet; `lcm import` brings them in.")


def print_plans(plans: list[Planned], *, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": True, "conversations": [_plan_json(*each) for each in plans]})
        return
    due = [
        (project, candidate.plan) for project, candidate in plans if candidate.is_due and not candidate.plan.is_empty
    ]
    for project, group in by_project(due):
        _print_heading(project, plans)
        print_table(_PLAN_COLUMNS, [_plan_row(plan) for plan in group])
    if len(due) < len(plans) or not plans:
        write(f"{shown_count(len(plans) - len(due), 'conversation')} with nothing to compact.")


def _project_counts(results: Sequence[Compacted]) -> list[dict[str, Any]]:
    """Per project how many conversations were compacted, left as they were, skipped and failed."""
    rows = []
    for project, group in by_project(results):
        counts = Counter(_outcome(each) for each in group)
        names = ("compacted", "unchanged", "skipped", "failed")
        rows.append({"project_id": project.project_id, **{name: counts[name] for name in names}, "message": None})
    return rows


def _outcome(result: CompactionResult) -> str:
    if result.stop_reason in FAILURES:
        return "failed"
    if result.action_taken:
        return "compacted"
    return "skipped" if result.stop_reason in _SKIPPED else "unchanged"


def _unreadable_json(project: Unreadable) -> dict[str, Any]:
    counts = {"compacted": 0, "unchanged": 0, "skipped": 0, "failed": 1}
    return {"project_id": None, **counts, "message": project.message}


def _print_rest(results: Sequence[CompactionResult]) -> None:
    """What needs no line of its own, counted."""
    counts = Counter(result.stop_reason for result in results)
    for reason, text in (
        (StopReason.NOTHING_TO_COMPACT, "with nothing to compact"),
        (StopReason.BELOW_MIN_TOKENS, "with fewer tokens than --min-tokens"),
        (StopReason.NOT_TRIED, "not tried"),
    ):
        if counts[reason]:
            write(f"{shown_count(counts[reason], 'conversation')} {text}.")


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


def _plan_json(project: ProjectStorage, candidate: Candidate) -> dict[str, Any]:
    plan = candidate.plan
    return {
        "project_id": project.project_id,
        "conversation_id": plan.conversation_id,
        "is_due": candidate.is_due and not plan.is_empty,
        "context_tokens": plan.context_tokens,
        "leaf_chunks": plan.leaf_chunks,
        "leaf_messages": plan.leaf_messages,
        "leaf_tokens": plan.leaf_tokens,
        "condensations": plan.condensations,
        "condensation_tokens": plan.condensation_tokens,
    }


def _print_heading(project: ProjectStorage, listed: Sequence[tuple[ProjectStorage, object]]) -> None:
    if len({each.project_id for each, _ in listed}) > 1:
        print_project(project)
