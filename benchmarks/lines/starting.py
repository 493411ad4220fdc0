"""Start-up: whole processes beside the imports that they cannot do without."""

from __future__ import annotations

import json

from benchmarks import processes
from benchmarks.figures import Budget, Line, line
from benchmarks.processes import Usage, lcm, python
from benchmarks.transcripts import CWD
from benchmarks.workplace import Workplace
from benchmarks.zipf import vocabulary

_STACK = "import click, pydantic_settings, structlog, sqlalchemy.ext.asyncio, aiosqlite"
#: What nobody should pay for who only imports lcm.
_HEAVY = ("sqlalchemy", "litellm", "pydantic")
_LOADED = f"import json, sys, lcm; print(json.dumps([name for name in {_HEAVY} if name in sys.modules]))"


def measure_start(work: Workplace) -> list[Line]:
    """The least of several runs of each, in turn; no budget here depends on the size."""
    home = work.home_of(work.long_session(work.sizes.small_session))
    environment = work.environment_of(home)
    search = lcm("search", vocabulary()[99], "--project", CWD)
    commands = {
        "click": python("-c", "import click"),
        "help": lcm("--help"),
        "stack": python("-c", _STACK),
        "search": search,
    }
    for command in commands.values():
        processes.run(command, environment)  # compiles
    used: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(work.sizes.light_runs):
        for name, command in commands.items():
            used[name].append(processes.run(command, environment))
    least = {name: 1_000 * processes.least(usages).cpu_s for name, usages in used.items()}
    twice = Budget(times_floor=2, needs_full_size=False)
    little_more = Budget(times_floor=1.3, needs_full_size=False)
    loaded = json.loads(processes.run(python("-c", _LOADED), environment).output)
    return [
        line("lcm --help, not `import click`", least["help"], "ms", floor=least["click"], budget=twice),
        line("lcm search, not its libraries alone", least["search"], "ms", floor=least["stack"], budget=little_more),
        line("`import lcm`, heavy libraries loaded", len(loaded), "", budget=Budget(needs_full_size=False)),
    ]
