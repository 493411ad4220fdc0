"""`lcm config`."""

from __future__ import annotations

from pathlib import Path

import click

from lcm.cli.options import json_option
from lcm.cli.output import print_json, say, write
from lcm.cli.running import read_settings, run
from lcm.cli.tables import Column, print_table
from lcm.files.durable import ensure_private_dir, write_private
from lcm.files.permissions import safe_errors
from lcm.settings.describe import describe, get_value
from lcm.settings.load import set_in_file
from lcm.settings.model import Origin
from lcm.settings.table import Value


@click.group("config")
def command() -> None:
    """Read and change settings. The environment wins over the file, the file over defaults."""


@command.command("get")
@click.argument("key")
@json_option
def get(key: str, as_json: bool) -> None:
    """Print the value of KEY that is in effect; secrets are masked."""

    async def work() -> None:
        value = get_value(read_settings(), key)
        if as_json:
            print_json({"key": key, "value": value})
        else:
            write(_shown(value))

    run(work)


@command.command("set")
@click.argument("key")
@click.argument("value")
def set_value(key: str, value: str) -> None:
    """Write VALUE for KEY to the file of settings; an empty VALUE unsets an optional one."""

    async def work() -> None:
        settings = read_settings()
        with safe_errors("Saving the setting"):
            set_in_file(settings.home, key, value, write=_write)
        if settings.origins[key] in (Origin.ENVIRONMENT, Origin.OVERRIDE):
            say(f"Saved, but the environment sets {key} too and wins.")

    run(work)


@command.command("show")
@click.option("--effective", is_flag=True, help="All settings with their origin, not only those that were set.")
@json_option
def show(effective: bool, as_json: bool) -> None:
    """Show settings with where each value comes from; secrets are masked."""

    async def work() -> None:
        views = describe(read_settings())
        shown = [view for view in views if effective or view.origin is not Origin.DEFAULT]
        if as_json:
            print_json({"settings": shown})
            return
        print_table(_COLUMNS, [[each.key, each.origin.value, each.environment, _shown(each.value)] for each in shown])
        if not effective:
            say("Everything else has its default; see it with --effective.")

    run(work)


_COLUMNS = (Column("key"), Column("origin"), Column("environment", drop=1), Column("value"))


def _shown(value: Value) -> str:
    """As `lcm config set` takes it; nothing when it is not set."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _write(path: Path, data: bytes) -> None:
    ensure_private_dir(path.parent)
    write_private(path, data)
