"""The benchmarks at a tiny size: every line is measured, and the floor that lcm is held against is a fair one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import floor, transcripts
from benchmarks.figures import Budget, line
from benchmarks.register import MEASURES
from benchmarks.sizes import Sizes
from benchmarks.workplace import Workplace, database_of
from tests.conftest import REPOSITORY

RUN = [sys.executable, str(REPOSITORY / "benchmarks" / "run.py"), "--divide", "1000", "--runs", "1"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where runs keep transcripts, stores and compiled modules for one another."""
    return tmp_path_factory.mktemp("benchmarks")


def run(kept: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, "--keep", str(kept), *options], check=False, capture_output=True, text=True)


class TestCommand:
    @pytest.mark.parametrize("name", MEASURES)
    def test_a_group_of_lines_is_measured_as_json(self, kept: Path, name: str) -> None:
        """One object with the machine and the lines; each line has every key and a figure."""
        done = run(kept, "--only", name, "--json")

        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        assert set(answer) == {"machine", "lines"}
        assert answer["lines"]
        for each in answer["lines"]:
            assert set(each) == {"name", "value", "unit", "floor", "ratio", "budget", "rule", "ok"}
            assert each["value"] > 0 or each["budget"] == 0

    def test_the_table_names_the_line_and_its_budget(self, kept: Path) -> None:
        """Without --json a person reads it; a tiny size gets no verdict."""
        done = run(kept, "--only", "size")

        assert "database beside its JSONL" in done.stdout
        assert "1.6 x floor" in done.stdout
        assert "ok" not in done.stdout.split()

    @pytest.mark.parametrize("what", ["import", "sweep"])
    def test_a_profile_names_packages_and_functions(self, kept: Path, what: str) -> None:
        """Also what runs in the thread of a connection."""
        done = run(kept, "--profile", what)

        assert done.returncode == 0, done.stderr
        assert "lcm.storage" in done.stdout
        assert "sqlite3" in done.stdout

    def test_an_unknown_line_is_refused(self, kept: Path) -> None:
        """With the names that there are."""
        done = run(kept, "--only", "speed")

        assert done.returncode == 2
        assert "speed is none of import, memory" in done.stderr


class TestFloor:
    def test_it_stores_the_rows_that_lcm_stores(self, kept: Path, tmp_path: Path) -> None:
        """As many in every table that an import fills, and every character of every content."""
        corpus, home, database = tmp_path / "corpus", tmp_path / "home", tmp_path / "floor.sqlite"
        transcripts.write_sessions(corpus, 30, 10)
        Workplace(kept, Sizes.divided(1000, runs=1)).import_into(home, corpus)
        floor.import_folder(corpus, database)

        stored = floor.count_rows(database)
        assert stored == floor.count_rows(database_of(home))
        assert stored["characters"] > 30 * 400
        assert {**stored, "characters": 0} == {
            "conversations": 3,
            "sources": 3,
            "messages": 30,
            "message_parts": 39,
            "message_sources": 0,
            "context_items": 30,
            "messages_fts_docsize": 30,
            "characters": 0,
        }


class TestTranscripts:
    def test_the_same_seed_gives_the_same_lines(self, tmp_path: Path) -> None:
        """Figures of two days are of the same text."""
        for name in ("first", "second"):
            transcripts.write_sessions(tmp_path / name, 9, 3)
        first, second = (
            [path.read_bytes() for path in sorted((tmp_path / each).iterdir())] for each in ("first", "second")
        )

        assert len(first) == 3
        assert first == second

    def test_sizes_are_those_that_the_budgets_are_for(self, tmp_path: Path) -> None:
        """About 1,285 bytes a line."""
        transcripts.write_sessions(tmp_path / "corpus", 3_000, 500)

        assert 1_220 < transcripts.size_bytes(tmp_path / "corpus") / 3_000 < 1_350


class TestLine:
    def test_a_value_over_its_budget_is_not_ok(self) -> None:
        """The limit counts floor and addition."""
        budget = Budget(times_floor=1.5, plus=5)

        assert line("search", 20.0, "ms", floor=10, budget=budget).ok is True
        assert line("search", 20.1, "ms", floor=10, budget=budget).ok is False

    def test_a_smaller_size_gives_no_verdict(self) -> None:
        """Unless the budget does not depend on the size."""
        assert line("import", 1, "s", budget=Budget(plus=2), is_full=False).ok is None
        assert line("start", 1, "s", budget=Budget(plus=2, needs_full_size=False), is_full=False).ok is True
