"""Whole processes and what they used: CPU time with start-up and end, peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
_LCM = "from lcm.cli.main import main; main()"
_KIB = 1024


class ProcessFailed(Exception):
    """A measured process ended with an error; the message holds what it said last."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process used.

    Attributes:
        cpu_s: user and system time of all its threads.
        peak_mb: most memory it held (RSS), in millions of bytes.
    """

    cpu_s: float
    peak_mb: float
    output: str


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def lcm(*arguments: str) -> list[str]:
    """The command line, as its installed script starts it."""
    return python("-c", _LCM, *arguments)


def run(command: Sequence[str], environment: Mapping[str, str]) -> Usage:
    """Run to the end.

    Raises:
        ProcessFailed: it ended with another code than 0.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT, env=dict(environment))
        # Not `process.wait`, which tells nothing of this one process's use.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise ProcessFailed(f"{command[1:4]} ended with {process.returncode}: {_text(errors)[-2_000:]}")
        return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * _KIB / 1e6, _text(output))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def least(usages: Sequence[Usage]) -> Usage:
    """The run that used the least CPU: what others do on the machine only ever adds."""
    return min(usages, key=lambda each: each.cpu_s)


def clean_environment(folder: Path) -> dict[str, str]:
    """The own environment without settings of lcm; modules are compiled once, outside the source tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LCM_", "PYTHONDONTWRITE"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "LCM_HOME": str(folder / "no-home")}


def memory_mb() -> float:
    """What this process holds now (RSS), in millions of bytes; Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
