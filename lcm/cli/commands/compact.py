"""`lcm compact`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

import click

from lcm.cli import exit_codes
from lcm.cli.compaction_output import CompactionReport, Planned, print_plans, print_report
from lcm.cli.options import Amount, WholeNumber, json_option, project_option
from lcm.cli.output import say, shown_count
from lcm.cli.progress import Watched, watched
from lcm.cli.running import Session, current_folder, run, session
from lcm.clock import utc_now
from lcm.compaction.batch import ends_batch
from lcm.compaction.limits import RunLimits
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.run import Compactor
from lcm.composition.build import build_scrubber
from lcm.composition.lookup import find_in_one
from lcm.composition.selection import select_readable
from lcm.engine.compacting import CompactionOrder, Task, compact_project, find_work
from lcm.errors import SummarizerUnavailable, UnknownConversation
from lcm.retrieval.identify import resolve_conversation
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.choose import choose_summarizer
from lcm.summarizer.contract import Summarizer
from lcm.summarizer.gate import ProviderGate

_MAX_CONCURRENCY = 32
_MOST_SECONDS = 604_800
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A project with the conversations that were named in it; None is all of them."""

    project: ProjectStorage
    conversation_ids: tuple[int, ...] | None = None


@click.command("compact")
@click.option("--conversation", metavar="ID", help="One conversation, by id, key or session.")
@click.option("--session", "session_id", metavar="ID", help="Every conversation of one session.")
@click.option("--all", "is_all", is_flag=True, help="Every conversation of the project (the default).")
@click.option(
    "--until-under", "target", type=WholeNumber(), help="Compact harder, until a context has fewer tokens than this."
)
@click.option("--replay", is_flag=True, help="From the oldest conversation on, each continuing the summary before.")
@click.option("--repair", is_flag=True, help="Write summaries again that are only a truncation of their source.")
@click.option("--min-tokens", type=WholeNumber(), help="Leave conversations with a smaller context alone.")
@click.option(
    "--max-concurrency", type=WholeNumber(_MAX_CONCURRENCY), default=1, help="Most conversations at once; 1 by default."
)
@click.option("--timeout", type=WholeNumber(_MOST_SECONDS), help="Begin no pass after so many seconds.")
@click.option("--max-passes", type=WholeNumber(), help="Most passes of the whole run.")
@click.option("--max-tokens", type=WholeNumber(), help="Begin no pass once models read and wrote so many tokens.")
@click.option("--max-cost", type=Amount(), help="Begin no pass once model calls cost so much, in US dollars.")
@click.option("--dry-run", is_flag=True, help="Tell what would be compacted; call no model and write nothing.")
@project_option
@json_option
def command(
    conversation: str | None,
    session_id: str | None,
    is_all: bool,
    target: int | None,
    replay: bool,
    repair: bool,
    min_tokens: int | None,
    max_concurrency: int,
    timeout: int | None,
    max_passes: int | None,
    max_tokens: int | None,
    max_cost: Decimal | None,
    dry_run: bool,
    selector: str | None,
    as_json: bool,
) -> None:
    """Compact old messages into summaries, as far as the rules allow.

    The newest messages stay as they are. Nothing is deleted: every summary opens again with `lcm expand`. A run that
    was interrupted, or that met a limit, goes on where it stopped when the command is given again.
    """
    if sum(map(bool, (conversation, session_id, is_all))) > 1:
        raise click.UsageError("Give one of --conversation, --session and --all.")
    if sum(map(bool, (target, replay, repair))) > 1:
        raise click.UsageError("Give one of --until-under, --replay and --repair.")
    if replay and (conversation or session_id):
        raise click.UsageError("--replay goes through whole projects; leave --conversation and --session away.")
    order = CompactionOrder(
        task=_task(target, replay=replay, repair=repair),
        target_tokens=target or 0,
        min_tokens=min_tokens or 0,
        max_concurrency=max_concurrency,
    )
    limits = RunLimits(
        max_passes=max_passes,
        deadline=utc_now() + timedelta(seconds=timeout) if timeout else None,
        max_tokens=max_tokens,
        max_cost_micros=int(max_cost * _MICROS) if max_cost is not None else None,
    )

    async def work() -> int:
        async with session() as current:
            report = CompactionReport()
            chosen = await _choose(current, selector, conversation, session_id, report)
            compaction = _Compaction(current, order, limits, report)
            if dry_run:
                print_plans(await compaction.plan(chosen), as_json=as_json)
            else:
                with watched("compacting") as bar:
                    await compaction.run(chosen, bar)
                print_report(report, as_json=as_json)
        return _tell_failures(report)

    run(work)


def _task(target: int | None, *, replay: bool, repair: bool) -> Task:
    if target is not None:
        return Task.UNTIL_UNDER
    if replay:
        return Task.REPLAY
    return Task.REPAIR if repair else Task.SWEEP


async def _choose(
    current: Session, selector: str | None, conversation: str | None, session_id: str | None, report: CompactionReport
) -> list[_Chosen]:
    if conversation is None and session_id is None:
        projects, report.unreadable = await select_readable(
            current.projects, current.settings, selector, cwd=current_folder()
        )
        return [_Chosen(project) for project in projects]
    projects = await current.select(selector)
    if session_id is not None:
        return await _of_session(projects, session_id)
    project, found = await find_in_one(projects, lambda each: resolve_conversation(each, conversation or ""))
    return [_Chosen(project, (found.conversation_id,))]


async def _of_session(projects: Sequence[ProjectStorage], session_id: str) -> list[_Chosen]:
    """Every segment of the session in every project; a unique beginning of its id will do."""
    listed = [(project, await project.conversations.list_of_session(session_id)) for project in projects]
    chosen = [_Chosen(project, tuple(each.conversation_id for each in found)) for project, found in listed if found]
    if chosen:
        return chosen
    project, found = await find_in_one(projects, lambda each: resolve_conversation(each, session_id))
    if not found.session_id.startswith(session_id):
        raise UnknownConversation
    segments = await project.conversations.list_of_session(found.session_id)
    return [_Chosen(project, tuple(each.conversation_id for each in segments))]


class _Compaction:
    """One run over the chosen projects, with limits that all of them share."""

    def __init__(self, current: Session, order: CompactionOrder, limits: RunLimits, report: CompactionReport) -> None:
        self._current = current
        self._order = order
        self._limits = limits
        self._report = report
        self._policy = _policy(current, order)

    async def plan(self, chosen: Sequence[_Chosen]) -> list[Planned]:
        summarizer = choose_summarizer(self._current.settings)
        return [
            (each.project, candidate)
            for each in chosen
            for candidate in await find_work(each.project, self._compactor(each, summarizer), self._order_of(each))
        ]

    async def run(self, chosen: Sequence[_Chosen], bar: Watched) -> None:
        summarizer = choose_summarizer(self._current.settings)
        is_over = False
        for each in chosen:
            compactor, order = self._compactor(each, summarizer), self._order_of(each)
            candidates = await find_work(each.project, compactor, order)
            bar.expect(sum(candidate.is_due for candidate in candidates))
            if is_over:
                results = [candidate.not_tried for candidate in candidates]
            else:
                results = await compact_project(
                    each.project, compactor, order, candidates, finished=lambda _result: bar.advance()
                )
            is_over = is_over or any(ends_batch(result, compactor) for result in results)
            self._report.results += [(each.project, result) for result in results]

    def _compactor(self, chosen: _Chosen, summarizer: Summarizer) -> Compactor:
        scrubber = build_scrubber(self._current.settings, chosen.project.root)
        # Whoever compacts by hand has perhaps just mended what was wrong.
        gate = ProviderGate(chosen.project.breakers, summarizer.model, forces_probe=True)
        return Compactor(
            summarizer, self._policy, lambda text: scrubber.scrub(text).text, limits=self._limits, gate=gate
        )

    def _order_of(self, chosen: _Chosen) -> CompactionOrder:
        return replace(
            self._order,
            conversation_ids=chosen.conversation_ids,
            max_rounds=self._current.settings.compaction.max_rounds,
        )


def _policy(current: Session, order: CompactionOrder) -> CompactionPolicy:
    """Until under a target, compaction stands in for an automatic one and keeps its fresh tail."""
    if order.task is Task.UNTIL_UNDER:
        return CompactionPolicy.automatic(current.settings)
    return CompactionPolicy.manual(current.settings)


def _tell_failures(report: CompactionReport) -> int:
    """One line says what failed first and what is left; another one what could not be opened."""
    failures = report.failures
    if failures:
        rest = f" {shown_count(report.not_tried, 'conversation')} not tried." if report.not_tried else ""
        say(f"lcm: {failures[0].message or SummarizerUnavailable.default_message}{rest}")
    for project in report.unreadable:
        say(f"lcm: {project.name}: {project.message}")
    return exit_codes.FAILURE if failures or report.unreadable else exit_codes.DONE
