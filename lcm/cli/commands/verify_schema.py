"""`lcm verify-schema`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lcm.cli import exit_codes
from lcm.cli.options import json_option, project_option
from lcm.cli.output import jsonable, print_json, say, shown_count, write, write_wrapped
from lcm.cli.running import current_folder, read_settings, run
from lcm.composition.peek import find_owner
from lcm.composition.schema import drift_of, select_databases
from lcm.composition.selection import ALL, select_root
from lcm.errors import LcmError
from lcm.migrations.findings import Finding


@dataclass(frozen=True, slots=True)
class Checked:
    """One database: what differs, or why that cannot be told. `folder` is its name below `projects`."""

    folder: str
    root: str | None
    findings: tuple[Finding, ...] = ()
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        if self.error is not None:
            return {"project": self.folder, "root": self.root, "ok": None, "error": self.error}
        findings = jsonable(self.findings)
        return {"project": self.folder, "root": self.root, "ok": not self.findings, "findings": findings}


@click.command("verify-schema")
@project_option
@json_option
def command(selector: str | None, as_json: bool) -> None:
    """Compare the schema of the selected projects with what their revision should be.

    Exit code 0: no difference; 1: drift; 3: it cannot be told (no lcm database, or one of a newer version).
    """

    async def work() -> int:
        settings = read_settings()
        databases = select_databases(settings, selector, cwd=current_folder())
        # The one that was named is known by its folder also when its database cannot say whose it is.
        named = None if selector == ALL else select_root(settings, selector, cwd=current_folder())
        checked = [_check(path, named) for path in databases]
        if as_json:
            is_ok = all(each.error is None and not each.findings for each in checked)
            print_json({"ok": is_ok, "projects": [each.to_json() for each in checked]})
        else:
            _print(checked)
        return _tell(checked)

    run(work)


def _check(path: Path, named: str | None) -> Checked:
    owner = find_owner(path)
    root = owner.root if owner else named
    try:
        return Checked(path.parent.name, root, drift_of(path))
    except LcmError as error:
        return Checked(path.parent.name, root, error=str(error))


def _tell(checked: list[Checked]) -> int:
    unknown = [each for each in checked if each.error is not None]
    for each in unknown:
        say(f"lcm: {each.root or each.folder}: {each.error}")
    if unknown:
        return exit_codes.CANNOT_TELL
    count = sum(len(each.findings) for each in checked)
    if count:
        say(f"lcm: {shown_count(count, 'difference')} found; each is listed with what to do.")
    return exit_codes.FAILURE if count else exit_codes.DONE


def _print(checked: list[Checked]) -> None:
    if not checked:
        write("Nothing is stored yet; run `lcm import`.")
    for each in checked:
        verdict = "cannot tell" if each.error is not None else "DRIFT" if each.findings else "ok"
        write(f"{verdict}  {each.root or each.folder}")
        for finding in each.findings:
            what = f"{finding.kind}: {finding.object}: expected {finding.expected}, found {finding.found}."
            write_wrapped(f"{what} {finding.remedy}", indent=4)
