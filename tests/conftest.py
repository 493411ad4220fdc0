"""Fixtures shared by all tests: real storage in a temporary home."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lcm import log
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from tests.templates import ROOT, put_empty_project

REPOSITORY = Path(__file__).parents[1]
#: Real transcripts beside the checkout; tests that read them are marked `corpus`.
CORPUS = REPOSITORY.parent / "shared" / "data"

# Whatever the shell that runs the tests is set up for, commands in this process see only what a test gives them.
for _name in [name for name in os.environ if name.startswith(("LCM_", "CLAUDE_", "CODEX_")) or name == "TZ"]:
    del os.environ[_name]
# A shell starts what it runs in the background deaf to this signal, and every process inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def fresh_log() -> Iterator[None]:
    """A command that runs in this process configures the log; the next test starts as a new process would."""
    yield
    plan = log._Plan()
    log._plan.level, log._plan.stream, log._plan.is_pending = plan.level, plan.stream, plan.is_pending
    if "structlog" in sys.modules:
        import structlog

        structlog.reset_defaults()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def factory(home: Path) -> AsyncIterator[SqliteFactory]:
    opened = SqliteFactory(home)
    yield opened
    await opened.close()


@pytest.fixture
async def project(factory: SqliteFactory, home: Path) -> ProjectStorage:
    """An empty project on a migrated database of its own."""
    put_empty_project(home, ROOT)
    return await factory.open_project(ROOT)


@pytest.fixture
def corpus() -> Path:
    if not CORPUS.is_dir():
        pytest.skip("the real transcripts are not beside this checkout")
    return CORPUS
