"""Where the CPU time of an import or a sweep goes: by package, and the functions with the most time of their own.

python -m benchmarks.profiles import|sweep FOLDER SIZES
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from types import FrameType

from rich.console import Console
from rich.table import Table

from benchmarks.lines.compacting import InstantModel, sweep_store
from benchmarks.processes import ROOT
from benchmarks.sizes import Sizes
from benchmarks.stores import CLIENT, Store, open_store
from benchmarks.workplace import Workplace

_TOP, _TOP_PACKAGES = 40, 20
#: The thread of a connection calls SQLite mostly through objects that the profiler does not see: its time is SQLite's.
_SQLITE_CALLER = "_connection_worker_thread"
_STANDARD_PACKAGES = frozenset({"asyncio", "concurrent", "json", "re"})

#: A function as the profiler names it: file, line, name; file is `~` for one written in C.
Function = tuple[str, int, str]


@dataclass(slots=True)
class Profiler:
    """Profiles of every thread; the CPU clock of the thread, so that waiting costs nothing."""

    profiles: list[cProfile.Profile] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Profile this thread, and those that are started meanwhile and end before."""
        threading.setprofile(self._in_new_thread)
        own = self._add()
        own.enable()
        try:
            yield
        finally:
            own.disable()
            threading.setprofile(None)

    def own_times(self) -> Mapping[Function, tuple[int, float]]:
        """Calls and own seconds of every function."""
        first, *others = self.profiles
        stats = pstats.Stats(first)
        for each in others:
            stats.add(each)
        timed: dict[Function, tuple[int, int, float, float, object]] = stats.stats  # type: ignore[attr-defined]
        return {function: (calls, own) for function, (_, calls, own, _, _) in timed.items()}

    def _in_new_thread(self, _frame: FrameType, _event: str, _argument: object) -> None:
        self._add().enable()

    def _add(self) -> cProfile.Profile:
        profile = cProfile.Profile(time.thread_time)
        self.profiles.append(profile)
        return profile


async def profile_import(work: Workplace, profiler: Profiler) -> None:
    paths = sorted(work.corpus(work.sizes.few_messages).glob("*.jsonl"))

    async def import_all(store: Store) -> None:
        importer = store.projects.importer()
        for path in paths:
            await importer.import_file(path, CLIENT)

    await _profiled(work.scratch("profiled-import"), import_all, profiler)


async def profile_sweep(work: Workplace, profiler: Profiler) -> None:
    home = work.copy_of(work.home_of(work.long_session(work.sizes.session)), "profiled-sweep")
    await _profiled(home, lambda store: sweep_store(store, InstantModel()), profiler)


async def _profiled(home: Path, act: Callable[[Store], Awaitable[object]], profiler: Profiler) -> None:
    """Opening and closing are inside, so that the connections' threads begin and end under the profiler."""
    with profiler.running():
        async with open_store(home) as store:
            await act(store)


def package_of(function: Function) -> str:
    """`lcm.engine` for lcm's own, the library or standard module for others, `in C` for built-in functions."""
    path = PurePath(function[0])
    if function[2] == _SQLITE_CALLER or "'sqlite3." in function[2]:
        return "sqlite3"
    if function[0] == "~":
        return "in C"
    if path.is_relative_to(ROOT / "lcm"):
        return ".".join(path.relative_to(ROOT).with_suffix("").parts[:2])
    if path.is_relative_to(ROOT / "benchmarks"):
        return "benchmarks"
    parts = path.parts
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1].removesuffix(".py")
    return path.parent.name if path.parent.name in _STANDARD_PACKAGES else path.stem


def print_profile(times: Mapping[Function, tuple[int, float]]) -> None:
    packages: dict[str, float] = defaultdict(float)
    for function, (_, own) in times.items():
        packages[package_of(function)] += own
    total = sum(packages.values())
    largest = sorted(packages.items(), key=lambda each: -each[1])[:_TOP_PACKAGES]
    console = Console(width=140, highlight=False)
    console.print(_table("package", [(name, "", own) for name, own in largest], total))
    top = sorted(times.items(), key=lambda each: -each[1][1])[:_TOP]
    console.print(_table("function", [(_shown(each), f"{calls:,}", own) for each, (calls, own) in top], total))
    console.print(f"{total:.2f} s in all, the profiler's own work included; compare shares, not seconds.")


def _table(what: str, rows: list[tuple[str, str, float]], total: float) -> Table:
    table = Table(what, box=None, pad_edge=False)
    for name in ("calls", "own s", "share"):
        table.add_column(name, justify="right")
    for name, calls, own in rows:
        table.add_row(name, calls, f"{own:.3f}", f"{own / total:.1%}")
    return table


def _shown(function: Function) -> str:
    file, line, name = function
    return name if file == "~" else f"{package_of(function)}  {PurePath(file).name}:{line} {name}"


def main(name: str, folder: str, sizes: str) -> None:
    work = Workplace(Path(folder), Sizes.from_json(sizes))
    profiler = Profiler()
    asyncio.run({"import": profile_import, "sweep": profile_sweep}[name](work, profiler))
    print_profile(profiler.own_times())


if __name__ == "__main__":
    main(*sys.argv[1:])
