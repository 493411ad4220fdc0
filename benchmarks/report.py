"""The report: a table to read, or one JSON object."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Line
from lcm.version import __version__


def machine() -> dict[str, Any]:
    """What the figures were measured on, and how busy it was."""
    return {
        "lcm": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def print_json(lines: Sequence[Line]) -> None:
    print(json.dumps({"machine": machine(), "lines": [each.to_json() for each in lines]}, indent=2))


def print_table(lines: Iterable[Line]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("line")
    for name in ("lcm", "floor", "ratio", "budget"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for each in lines:
        table.add_row(*_cells(each))
    console = Console(width=None if os.isatty(1) else 160, highlight=False)
    console.print(table)
    console.print("  ".join(f"{name} {value}" for name, value in machine().items()), style="dim")


def _cells(each: Line) -> tuple[str, ...]:
    verdict = {True: "[green]ok[/]", False: "[red]over[/]", None: ""}[each.ok]
    return (
        each.name,
        f"{shown(each.value)} {each.unit}".rstrip(),
        f"{shown(each.floor)} {each.unit}" if each.floor is not None else "",
        f"{each.ratio:.2f}" if each.ratio is not None else "",
        each.rule or "",
        verdict,
    )


def shown(value: float) -> str:
    """A count as it is, else three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
