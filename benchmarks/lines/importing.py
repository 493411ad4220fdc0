"""Import: its CPU beside the floor, its memory, an import with nothing new, the size of what it leaves."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks import processes, transcripts
from benchmarks.figures import Budget, Line, line
from benchmarks.floor import count_rows
from benchmarks.processes import Usage
from benchmarks.workplace import Workplace, database_of, stored_bytes

_TOLERANCE_MB = 30


def measure_import(work: Workplace) -> list[Line]:
    """Whole processes, in turn, so that what else goes on meets both."""
    messages, folder = work.sizes.messages, work.corpus(work.sizes.messages)
    home, database = work.scratch("import-home"), work.scratch("import-floor") / "floor.sqlite"
    own: list[Usage] = []
    bare: list[Usage] = []
    _warm_up(work)
    for _ in range(work.sizes.runs):
        own.append(work.import_into(_emptied(home), folder))
        _emptied(database.parent).mkdir()
        bare.append(_import_bare(work, folder, database))
    _require_same_rows(database_of(home), database)
    cpu, floor_cpu = processes.least(own).cpu_s, processes.least(bare).cpu_s
    return [
        line("import", cpu, "s", floor=floor_cpu, budget=Budget(times_floor=3), is_full=work.sizes.is_full),
        line("import, messages per second", messages / cpu, "1/s", floor=messages / floor_cpu),
        line("import, CPU per message", 1e6 * cpu / messages, "us", floor=1e6 * floor_cpu / messages),
        line("import, JSONL per message", transcripts.size_bytes(folder) / messages, "B"),
        line("import, content per message", count_rows(database)["characters"] / messages, "B"),
    ]


def measure_memory(work: Workplace) -> list[Line]:
    """Peaks of whole processes over a small and a large corpus."""
    few = _peak_mb(work, work.sizes.few_messages)
    many = _peak_mb(work, work.sizes.messages)
    budget = Budget(times_floor=1, plus=_TOLERANCE_MB)
    name = f"import, peak memory at {work.sizes.messages:,} messages, not {work.sizes.few_messages:,}"
    return [line(name, many, "MB", floor=few, budget=budget, is_full=work.sizes.is_full)]


def measure_again(work: Workplace) -> list[Line]:
    """A whole process that finds nothing new."""
    folder = work.corpus(work.sizes.messages)
    home = work.copy_of(work.home_of(folder), "again")
    # The first run may find that the home is a copy, and look closer than the later ones.
    used = processes.least([work.import_into(home, folder) for _ in range(work.sizes.runs + 1)])
    budget = Budget(plus=1)
    return [line("import again, nothing new", used.cpu_s, "s", budget=budget, is_full=work.sizes.is_full)]


def measure_size(work: Workplace) -> list[Line]:
    folder = work.corpus(work.sizes.messages)
    stored, read = stored_bytes(work.home_of(folder)) / 1e6, transcripts.size_bytes(folder) / 1e6
    budget = Budget(times_floor=1.6)
    return [line("database beside its JSONL", stored, "MB", floor=read, budget=budget, is_full=work.sizes.is_full)]


def _warm_up(work: Workplace) -> None:
    """Both once over little, so that every module is compiled."""
    folder, database = work.corpus(work.sizes.few_messages), work.scratch("import-floor") / "floor.sqlite"
    _emptied(database.parent).mkdir()
    work.home_of(folder)
    _import_bare(work, folder, database)


def _import_bare(work: Workplace, folder: Path, database: Path) -> Usage:
    return processes.run(processes.python("-m", "benchmarks.floor", str(folder), str(database)), work.environment)


def _require_same_rows(own: Path, bare: Path) -> None:
    if count_rows(own) != count_rows(bare):
        raise AssertionError(f"The floor is not fair: lcm stored {count_rows(own)}, it {count_rows(bare)}.")


def _peak_mb(work: Workplace, messages: int) -> float:
    """The least of the peaks; a warm-up compiled every module before."""
    folder = work.corpus(messages)
    work.home_of(work.corpus(work.sizes.few_messages))
    home = work.scratch("memory-home")
    runs = [work.import_into(_emptied(home), folder) for _ in range(min(2, work.sizes.runs))]
    return min(each.peak_mb for each in runs)


def _emptied(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    return folder
