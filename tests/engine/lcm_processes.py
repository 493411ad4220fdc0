"""`lcm` as processes of their own, with a scripted model provider behind them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import REPOSITORY
from tests.model_server import ModelAnswer, ModelRequest, ModelServer, says

ROOT = "/home/user/project"
OPENAI, ANTHROPIC = "openai/gpt-x", "anthropic/claude-x"
KEY = "sk-planted-key-of-the-provider"

#: Small enough that a session of 2,000 messages grows a deep graph.
DEEP = {
    "LCM_LEAF_CHUNK_TOKENS": "4000",
    "LCM_LEAF_MIN_FANOUT": "3",
    "LCM_CONDENSED_MIN_FANOUT": "2",
    "LCM_CONDENSED_TARGET_TOKENS": "900",
}

_LONGEST_RUN_S = 240

_MAIN = "from lcm.cli.main import main; main()"
_TARGET = re.compile(r"at most about (\d+) tokens")


def target_of(request: ModelRequest) -> int:
    """The length that a request asks for, in tokens."""
    found = _TARGET.search(request.prompt)
    assert found is not None
    return int(found[1])


def summarizes(request: ModelRequest) -> ModelAnswer:
    """An answer of about the length asked for that names what it was made from."""
    source = request.prompt.rpartition("<record>")[2].strip()
    text = f"The part that begins {source[:40]!r} in {len(source)} characters. "
    return says(text + "Detail kept here. " * ((4 * target_of(request) - len(text)) // 18))


@dataclass
class LcmHome:
    """A home folder and how commands are run over it."""

    home: Path
    settings: dict[str, str] = field(default_factory=dict)

    def with_model(self, server: ModelServer, model: str = OPENAI, **settings: str) -> LcmHome:
        provider = {
            "LCM_SUMMARY_PROVIDER": "litellm",
            "LCM_SUMMARY_MODEL": model,
            "LCM_SUMMARY_BASE_URL": server.url_for(model),
            "LCM_SUMMARY_API_KEY": KEY,
            "LCM_SUMMARY_TIMEOUT_S": "30",
        }
        return LcmHome(self.home, {**self.settings, **provider, **settings})

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home.parent),
            "PYTHONPATH": str(REPOSITORY),
            "LCM_HOME": str(self.home),
            **self.settings,
        }

    @contextmanager
    def started(self, *arguments: str, main: str = _MAIN) -> Iterator[subprocess.Popen[str]]:
        """A running command on the project, ended with the block; `main` is the Python text that runs it."""
        running = subprocess.Popen(
            [sys.executable, "-c", main, *arguments, "--project", ROOT],
            env=self.environment,
            cwd=REPOSITORY,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            yield running
        finally:
            running.kill()
            running.communicate()

    def run(self, *arguments: str) -> dict[str, Any]:
        """What a command that succeeds prints as JSON."""
        with self.started(*arguments, "--json") as running:
            out, err = running.communicate(timeout=_LONGEST_RUN_S)
        assert running.returncode == 0, err
        printed: dict[str, Any] = json.loads(out)
        return printed

    def compact(self) -> dict[str, Any]:
        """The result of a compaction of the only conversation."""
        (result,) = self.run("compact")["conversations"]
        assert isinstance(result, dict)
        return result


def wait_for(event: threading.Event, running: subprocess.Popen[str]) -> None:
    """Until the event is set; a process that ends before fails with what it said."""
    while not event.wait(0.05):
        assert running.poll() is None, running.communicate()[1]
