"""Import of one huge transcript line: the memory it takes, and that it is given back."""

from __future__ import annotations

import asyncio
import gc
import resource

from benchmarks.figures import Budget, Line, line
from benchmarks.processes import memory_mb
from benchmarks.stores import CLIENT, open_store
from benchmarks.workplace import Workplace

_TIMES_ITS_TEXT = 5
_TOLERANCE_MB = 30
_KIB = 1024


def measure_huge_line(work: Workplace) -> list[Line]:
    return asyncio.run(_measure(work))


async def _measure(work: Workplace) -> list[Line]:
    size = work.sizes.huge_line_mb
    folder, huge = work.corpus(work.sizes.few_messages), work.huge_line()
    async with open_store(work.scratch("huge-home")) as store:
        importer = store.projects.importer()
        for path in sorted(folder.glob("*.jsonl")):
            await importer.import_file(path, CLIENT)
        before, peak_before = _settled_mb(), _peak_mb()
        await importer.import_file(huge, CLIENT)
        peak, after = _peak_mb(), _settled_mb()
    return [
        line(
            f"import of one line of {size:g} MB, peak memory",
            peak,
            "MB",
            floor=peak_before,
            budget=Budget(times_floor=1, plus=_TIMES_ITS_TEXT * size),
            is_full=work.sizes.is_full,
        ),
        line(
            f"import of one line of {size:g} MB, memory after it",
            after,
            "MB",
            floor=before,
            budget=Budget(times_floor=1, plus=_TOLERANCE_MB),
            is_full=work.sizes.is_full,
        ),
    ]


def _settled_mb() -> float:
    gc.collect()
    return memory_mb()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB / 1e6
