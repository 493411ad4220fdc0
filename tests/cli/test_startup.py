"""What a command loads before it works: a person waits for every import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.cli.conftest import Cli

#: Runs a command in a process of its own and tells on standard error which modules it has loaded.
TELLING = """
import json, sys
from lcm.cli.main import main
try:
    main(sys.argv[1:], prog_name="lcm")
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*args: str, env: Mapping[str, str]) -> set[str]:
    done = subprocess.run([sys.executable, "-c", TELLING, *args], env=env, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


class TestCommands:
    @pytest.mark.parametrize("command", ["search login", "conversations", "conversations --tree", "describe 1:3"])
    def test_reading_loads_what_it_reads_with(self, filled: Cli, command: str) -> None:
        """The store and nothing else: no validation of settings that are not set, no log, no secret rules, no XML."""
        modules = loaded(*command.split(), "--project", str(filled.folder), env=filled.environment)

        assert {"sqlalchemy", "aiosqlite"} <= modules
        for heavy in ("pydantic", "structlog", "alembic", "litellm", "rich", "re2", "ahocorasick_rs", "urllib.request"):
            assert heavy not in modules
        for own in ("lcm.engine.importing", "lcm.redaction.scrub", "lcm.summarizer", "lcm.retrieval.grep"):
            assert own not in modules


class TestModule:
    def test_runs_as_a_module(self, filled: Cli) -> None:
        """`python -m lcm` is `lcm`."""
        done = subprocess.run(
            [sys.executable, "-m", "lcm", "conversations", "--json", "--project", filled.folder],
            env=filled.environment,
            capture_output=True,
            text=True,
            check=True,
        )

        assert [each["conversation_id"] for each in json.loads(done.stdout)["conversations"]] == [1]

    def test_tells_its_name(self) -> None:
        """Errors and help call it as a person would."""
        done = subprocess.run([sys.executable, "-m", "lcm", "--help"], capture_output=True, text=True, check=True)

        assert done.stdout.startswith("Usage: lcm ")
