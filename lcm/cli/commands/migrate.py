"""`lcm migrate`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import click

from lcm.cli import exit_codes
from lcm.cli.options import json_option, project_option
from lcm.cli.output import print_json, say, write
from lcm.cli.running import current_folder, read_settings, run
from lcm.composition.peek import find_owner
from lcm.composition.schema import migrate, pending_of, pending_sql_of, select_databases
from lcm.errors import LcmError, SchemaTooNew

Look = Callable[[Path], Awaitable[list[str]]]


@dataclass(slots=True)
class Report:
    """What was found or done, by database; `worst` is the exit code so far."""

    results: list[tuple[Path, list[str]]] = field(default_factory=list)
    worst: int = exit_codes.DONE

    def fail(self, path: Path, error: LcmError) -> None:
        say(f"lcm: {_name_of(path)}: {error}")
        code = exit_codes.CANNOT_TELL if isinstance(error, SchemaTooNew) else exit_codes.FAILURE
        self.worst = max(self.worst, code)


@click.command("migrate")
@click.option("--plan", "is_plan", is_flag=True, help="List what is pending; change nothing.")
@click.option("--sql", "is_sql", is_flag=True, help="Print the SQL that would run; change nothing.")
@click.option("--check", "is_check", is_flag=True, help="Exit with 1 when something is pending; change nothing.")
@project_option
@json_option
def command(is_plan: bool, is_sql: bool, is_check: bool, selector: str | None, as_json: bool) -> None:
    """Bring the schema of the selected projects to the newest revision.

    Projects are also migrated when they are opened; this command is for doing it at a time of your choice.
    """
    if sum((is_plan, is_sql, is_check)) > 1:
        raise click.UsageError("Give one of --plan, --sql and --check.")

    async def work() -> int:
        databases = select_databases(read_settings(), selector, cwd=current_folder())
        if is_sql:
            report = await _over(databases, _sql)
            _print_sql(report, as_json=as_json)
            return report.worst
        is_look = is_plan or is_check
        report = await _over(databases, _pending if is_look else _apply)
        _print("pending" if is_look else "applied", report, as_json=as_json)
        if is_check and any(ids for _, ids in report.results):
            return max(report.worst, exit_codes.FAILURE)
        return report.worst

    run(work)


async def _over(databases: list[Path], look: Look) -> Report:
    """One database that cannot be used keeps no other from its turn."""
    report = Report()
    for path in databases:
        try:
            report.results.append((path, await look(path)))
        except LcmError as error:
            report.fail(path, error)
    return report


async def _pending(path: Path) -> list[str]:
    return [each.id for each in pending_of(path)]


async def _apply(path: Path) -> list[str]:
    return list((await migrate(path)).applied)


async def _sql(path: Path) -> list[str]:
    return [pending_sql_of(path)]


def _name_of(path: Path) -> str:
    """The project's folder; the name of its database's folder when the file does not tell."""
    owner = find_owner(path)
    return owner.root if owner else path.parent.name


def _print_sql(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json({"projects": [{"project": path.parent.name, "sql": sql} for path, (sql,) in report.results]})
        return
    for path, (sql,) in report.results:
        write(f"-- {_name_of(path)}\n{sql or '-- nothing is pending'}")


def _print(word: str, report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json({"projects": [{"project": path.parent.name, word: ids} for path, ids in report.results]})
        return
    for path, ids in report.results:
        write(f"{word}: {', '.join(ids) or 'nothing'}  {_name_of(path)}")
    if not report.results and not report.worst:
        write("Nothing is stored yet; run `lcm import`.")
