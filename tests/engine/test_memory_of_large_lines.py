"""Memory of a process that reads one huge line among ordinary ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.sessions import dialogue, user, write

SIZE = 30_000_000
#: Imports a file in a process of its own; prints peak and final memory above what it took before, in bytes.
PROGRAM = """
import asyncio, os, re, sys
from pathlib import Path
from lcm.composition.build import OpenProjects, build_factory
from lcm.composition.memory import prepare_for_long_work
from lcm.settings.load import load_settings

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def highest():
    # Not ru_maxrss, which a process inherits from the one that started it.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

async def main():
    folder = Path(sys.argv[1])
    settings = load_settings(environ={"LCM_HOME": str(folder / "home"), "HOME": sys.argv[1]})
    projects = OpenProjects(settings, build_factory(settings))
    importer = projects.importer()
    await importer.import_file(folder / "small.jsonl", "claude")
    prepare_for_long_work()
    before = resident()
    await importer.import_file(folder / "large.jsonl", "claude")
    await importer.import_file(folder / "other.jsonl", "claude")
    print(highest() - before, resident() - before)
    await projects.close()

asyncio.run(main())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the process's memory from /proc")
def test_a_huge_line_costs_five_times_its_text_and_leaves_nothing(tmp_path: Path) -> None:
    """One line of 30 MB takes at most 150 MB while it is read, and 30 MB above the start are not kept."""
    write(tmp_path / "small.jsonl", *dialogue(400))
    write(tmp_path / "large.jsonl", user(1001, "lorem ipsum dolor " * (SIZE // 18)))
    write(tmp_path / "other.jsonl", *dialogue(10, first=2001))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr
    peak, kept = map(int, done.stdout.split())
    assert peak <= 5 * SIZE
    assert kept <= SIZE
