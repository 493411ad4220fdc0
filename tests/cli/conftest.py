"""Real `lcm` processes on a home of their own, and a store that is filled once and copied."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner

from lcm.cli.main import main
from tests.transcript_factory import make_claude_session

LCM = Path(sys.executable).with_name("lcm")
#: What the environment of a person has, and nothing that this test run was started with.
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LCM_SUMMARY_PROVIDER": "offline"}
SECRET = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_CAPBSET_DROP = 24


@dataclass(frozen=True)
class Run:
    """What a process did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def error(self) -> str:
        """The one line on stderr, behind its prefix."""
        (line,) = self.err.splitlines()
        assert line.startswith("lcm: ")
        return line.removeprefix("lcm: ")


@dataclass(frozen=True)
class Cli:
    """Runs `lcm` on one home, in one folder."""

    home: Path
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**PLAIN, "HOME": str(self.folder), "LCM_HOME": str(self.home), **self.env}

    def __call__(self, *args: str | bytes | Path, **env: str) -> Run:
        return run_lcm(*args, environment=self.environment | env, cwd=self.folder)

    def inside(self, *args: str | Path) -> Run:
        """In this process, where one of its own would show nothing more."""
        with chdir(self.folder):
            result = CliRunner().invoke(
                main, [*map(str, args)], prog_name="lcm", env=self.environment | {"LCM_LOG_LEVEL": "error"}
            )
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return Run(result.exit_code, result.stdout, result.stderr)

    def obeying(self, *args: str | bytes | Path, **env: str) -> Run:
        """As a user whom file permissions bind, also when the tests run as root."""
        return run_lcm(*args, environment=self.environment | env, cwd=self.folder, prepare=obey_permissions)

    @contextmanager
    def started(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """A process that goes on beside the test, and at the latest ends with it."""
        with self.start_writing_to(subprocess.PIPE, *args) as running:
            try:
                yield running
            finally:
                running.kill()

    def start_writing_to(self, stdout: int | IO[str], *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [LCM, *args],
            env=self.environment,
            cwd=self.folder,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def database(self) -> Path:
        """The file of the only project."""
        (found,) = (self.home / "projects").glob("*/db.sqlite")
        return found


def run_lcm(
    *args: str | bytes | Path,
    environment: Mapping[str, str],
    cwd: Path,
    prepare: Callable[[], None] | None = None,
    command: tuple[str | Path, ...] = (LCM,),
) -> Run:
    """One process to its end; `prepare` runs in it before the program is loaded."""
    done = subprocess.run(
        [*map(os.fsencode, command), *map(os.fsencode, args)],
        env=environment,
        cwd=cwd,
        capture_output=True,
        timeout=120,
        preexec_fn=prepare,
        check=False,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def obey_permissions() -> None:
    """Give up root's right to pass over file permissions (CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH)."""
    for capability in (1, 2):
        if _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 and os.geteuid() == 0:
            os._exit(99)


def snapshot(folder: Path) -> list[tuple[str, tuple[int, ...]]]:
    """Everything below a folder with what changes when it is written: inode, size, mode, times of change."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        changing = (stat.st_ino, stat.st_size, stat.st_mode, stat.st_mtime_ns, stat.st_ctime_ns)
        found.append((str(path.relative_to(folder)), changing))
    return found


@pytest.fixture
def edit_database() -> Callable[[Path, str], None]:
    """Run one statement on a database file, behind lcm's back."""

    def edit(path: Path, statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    return edit


@pytest.fixture
def invoke() -> Callable[..., tuple[int, str]]:
    """Exit code and stderr of a command that ends while its options are read; no process is needed for that."""

    def run(*args: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, args, prog_name="lcm")
        assert result.stdout == ""
        return result.exit_code, result.stderr

    return run


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """An empty home and an empty project folder."""
    (tmp_path / "work").mkdir()
    return Cli(tmp_path / "home", tmp_path / "work")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """One imported and compacted session of 60 messages; only for reading."""
    base = tmp_path_factory.mktemp("filled")
    folder = base / "work"
    folder.mkdir()
    cli = Cli(base / "home", folder)
    make_claude_session(
        base / "t" / "session.jsonl", turns=15, cwd=str(folder), padding=f"The token is {SECRET}. " + "x " * 100
    )
    assert cli("import", base / "t").code == 0
    assert cli("compact").code == 0
    return cli


@pytest.fixture
def stored(filled: Cli, tmp_path: Path) -> Cli:
    """A copy of the filled home, for tests that change it."""
    shutil.copytree(filled.home, tmp_path / "copy")
    return Cli(tmp_path / "copy", filled.folder)


@pytest.fixture
def transcript(cli: Cli, tmp_path: Path) -> Path:
    """A session of three turns (12 messages) that was held in the project folder."""
    return make_claude_session(tmp_path / "transcripts" / "session.jsonl", cwd=str(cli.folder))
