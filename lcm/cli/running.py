"""Runs a command's coroutine: settings, open projects, one-line errors, drained interrupts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from lcm.cli import exit_codes
from lcm.cli.output import discard_output, say, show_times_in
from lcm.composition.build import OpenProjects, build_factory
from lcm.composition.selection import select_projects
from lcm.errors import InvalidInput, LcmError, SchemaTooNew
from lcm.settings.load import load_settings, unknown_variables
from lcm.settings.model import Origin, Settings
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import one_line


@dataclass(frozen=True, slots=True)
class Session:
    """What a running command works with."""

    settings: Settings
    projects: OpenProjects

    async def select(self, selector: str | None) -> list[ProjectStorage]:
        return await select_projects(self.projects, self.settings, selector, cwd=current_folder())


def current_folder() -> Path:
    """Raises `InvalidInput` when it was removed meanwhile."""
    try:
        return Path.cwd()
    except OSError:
        raise InvalidInput("The current folder does not exist any more; change to another one.") from None


def read_settings() -> Settings:
    """The settings of this process; the only place of the command line that hands the environment on."""
    from lcm import log

    settings = load_settings(environ=os.environ)
    is_chosen = settings.origins["timezone"] is not Origin.DEFAULT
    show_times_in(ZoneInfo(settings.timezone) if is_chosen else None)
    for name, nearest in unknown_variables(os.environ):
        hint = f"did you mean {nearest}?" if nearest else "`lcm config show --effective` lists those there are."
        say(f"lcm: The variable {one_line(name, 80)} is no setting of lcm and was ignored; {hint}")
    # A command tells a person what failed in its own line; the log says more when it was asked to.
    is_asked = settings.origins["log.level"] is not Origin.DEFAULT
    log.configure(settings.log.level if is_asked else "error")
    return settings


@asynccontextmanager
async def session() -> AsyncIterator[Session]:
    settings = read_settings()
    projects = OpenProjects(settings, build_factory(settings))
    try:
        yield Session(settings, projects)
    finally:
        await projects.close()


def run(work: Callable[[], Awaitable[int | None]]) -> None:
    """Run to an exit code. An error is one line; an interrupt first brings what runs to a safe end."""
    try:
        code = asyncio.run(_interruptible(work))
    except LcmError as error:
        code = fail(error)
    except KeyboardInterrupt:
        say("lcm: Interrupted; what was stored is kept, and running the command again goes on.")
        code = exit_codes.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`lcm ... | head`): nothing is wrong.
        discard_output()
        code = exit_codes.DONE
    except OSError as error:
        discard_output()
        say(f"lcm: {error.strerror or 'The system refused'}.")
        code = exit_codes.FAILURE
    except Exception as error:  # noqa: BLE001 - a person gets a line, not a traceback with values in it
        say(f"lcm: Unexpected {type(error).__name__} in {_place_of(error)}; this is a fault of lcm, please report it.")
        code = exit_codes.FAILURE
    sys.exit(code)


def fail(error: LcmError) -> int:
    say(f"lcm: {error}")
    return exit_codes.CANNOT_TELL if isinstance(error, SchemaTooNew) else exit_codes.FAILURE


async def _interruptible(work: Callable[[], Awaitable[int | None]]) -> int:
    task = asyncio.ensure_future(_completed(work))
    loop = asyncio.get_running_loop()
    is_terminated = False

    def terminate() -> None:
        nonlocal is_terminated
        is_terminated = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await task or exit_codes.DONE
    except asyncio.CancelledError:
        if is_terminated:
            say("lcm: Stopped; what was stored is kept, and running the command again goes on.")
            return exit_codes.TERMINATED
        task.cancel()
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def _completed(work: Callable[[], Awaitable[int | None]]) -> int | None:
    return await work()


def _place_of(error: BaseException) -> str:
    """Module and line of our own code nearest to the fault."""
    places = [(frame.f_globals.get("__name__", ""), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    module, line = next((each for each in reversed(places) if str(each[0]).startswith("lcm.")), places[-1])
    return f"{module}:{line}"
