"""`lcm sensitive`."""

from __future__ import annotations

from pathlib import Path

import click

from lcm.cli.options import json_option
from lcm.cli.output import print_json, say, write
from lcm.cli.running import current_folder, read_settings, run
from lcm.composition.build import patterns_path, read_patterns
from lcm.composition.selection import select_root
from lcm.files.durable import ensure_private_dir, write_private
from lcm.redaction.patterns import describe_rules
from lcm.redaction.user_patterns import add_pattern, parse_patterns, remove_pattern

_global_option = click.option("--global", "is_global", is_flag=True, help="For all projects instead of one.")
_project_option = click.option(
    "--project", "selector", metavar="DIR|ID", help="Project by its folder or id. Default: the current folder's."
)


@click.group("sensitive")
def command() -> None:
    """Your own patterns of secrets (RE2 regular expressions), removed before anything is stored."""


@command.command("list")
@_project_option
@json_option
def list_patterns(selector: str | None, as_json: bool) -> None:
    """List the built-in rules and your own patterns."""

    async def work() -> None:
        found = {
            "built_in": [name for name, _ in describe_rules()],
            "global": parse_patterns(read_patterns(_path(selector, is_global=True))),
            "project": parse_patterns(read_patterns(_path(selector, is_global=False))),
        }
        if as_json:
            print_json(found)
            return
        for category, names in found.items():
            for name in names:
                write(f"{category.replace('_', ' '):>8}  {name}")

    run(work)


@command.command("add")
@click.argument("pattern")
@_global_option
@_project_option
def add(pattern: str, is_global: bool, selector: str | None) -> None:
    """Add PATTERN. It applies to what is imported from now on."""

    async def work() -> None:
        path = _path(selector, is_global=is_global)
        text = add_pattern(read_patterns(path), pattern)
        _save(path, text)
        say("Added. What is stored already is not changed.")

    run(work)


@command.command("remove")
@click.argument("pattern")
@_global_option
@_project_option
def remove(pattern: str, is_global: bool, selector: str | None) -> None:
    """Remove PATTERN, written exactly as it was added."""

    async def work() -> None:
        path = _path(selector, is_global=is_global)
        _save(path, remove_pattern(read_patterns(path), pattern))
        say("Removed. What is stored already is not changed.")

    run(work)


def _path(selector: str | None, *, is_global: bool) -> Path:
    settings = read_settings()
    root = None if is_global else select_root(settings, selector, cwd=current_folder())
    return patterns_path(settings, root)


def _save(path: Path, text: str) -> None:
    home = read_settings().home
    for folder in (home, *(each for each in reversed(path.parents) if home in each.parents)):
        ensure_private_dir(folder)
    write_private(path, text.encode("utf-8"))
