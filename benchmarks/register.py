"""Which lines there are, and the function that measures each; a module is loaded only in the process that runs it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from benchmarks.figures import Line
from benchmarks.workplace import Workplace

#: Name: module below `benchmarks.lines` and its function.
MEASURES: Mapping[str, tuple[str, str]] = {
    "import": ("importing", "measure_import"),
    "memory": ("importing", "measure_memory"),
    "huge-line": ("huge_line", "measure_huge_line"),
    "again": ("importing", "measure_again"),
    "size": ("importing", "measure_size"),
    "sweep": ("compacting", "measure_sweep"),
    "turn": ("sessions", "measure_turn"),
    "context": ("sessions", "measure_context"),
    "search": ("searching", "measure_search"),
    "grep": ("searching", "measure_grep"),
    "start": ("starting", "measure_start"),
}


def measure(name: str, work: Workplace) -> list[Line]:
    module, function = MEASURES[name]
    lines: list[Line] = getattr(importlib.import_module(f"benchmarks.lines.{module}"), function)(work)
    return lines
