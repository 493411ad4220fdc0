"""The demo, run as a person runs it; it checks itself, so here are the sentences it must come to."""

import importlib
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

OPS = Path(__file__).parents[2] / "ops"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo makes its temporary folder, beside a home that is not its own."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "tmp").mkdir()
    settings = {"TMPDIR": str(folder / "tmp"), "LCM_HOME": str(folder / "own-home"), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, str(OPS / "demo.py")],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **settings},
    )


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(OPS))
    return importlib.import_module("demo")


def flowing(text: str) -> str:
    """The text with all its lines in one, as they are wrapped by the width of the page."""
    return " ".join(text.split())


class TestDemo:
    def test_every_step_holds(self, demo: subprocess.CompletedProcess[str]) -> None:
        """It ends with exit code 0, says so, and complains about nothing."""
        assert (demo.returncode, demo.stderr) == (0, "")
        assert "All 11 steps gave what they should" in demo.stdout

    @pytest.mark.parametrize(
        "sentence",
        [
            "283 records read, 227 messages stored",
            "1 picture kept beside them, 5 secrets replaced on the way in.",
            "One session of two days (18,276 tokens in context), and the subagent",
            "227 of 227 messages are reachable, each in exactly one place.",
            "4 secrets stand 5 times in the transcript, and not once in lcm's files.",
            "0 new: still 227 messages.",
        ],
    )
    def test_figures(self, demo: subprocess.CompletedProcess[str], sentence: str) -> None:
        """The figures of the sample are always the same."""
        assert sentence in flowing(demo.stdout)

    def test_context_shrinks(self, demo: subprocess.CompletedProcess[str]) -> None:
        """The session is compacted to less than a quarter, in a DAG of at least two levels."""
        after = re.findall(r"18,276 → ([\d,]+) tokens: [\d.]+ times smaller", demo.stdout)
        depth = re.findall(r"\d+ leaves in a DAG of depth (\d+)", flowing(demo.stdout))

        assert [int(tokens.replace(",", "")) < 4_569 for tokens in after] == [True]
        assert [int(levels) >= 2 for levels in depth] == [True]

    def test_answer_is_shown_word_by_word(self, demo: subprocess.CompletedProcess[str]) -> None:
        """The question leads to the prompt in which the decision was made."""
        assert "retries die with every deploy and one slow harbour fills the connection pool" in flowing(demo.stdout)

    def test_page_is_plain_and_narrow(self, demo: subprocess.CompletedProcess[str]) -> None:
        """Without a terminal there are no colours, and no line is wider than 100 columns."""
        lines = demo.stdout.splitlines()
        columns = [sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line) for line in lines]

        assert "\x1b" not in demo.stdout
        assert max(columns) <= 100

    def test_nothing_is_left_behind(self, demo: subprocess.CompletedProcess[str], folder: Path) -> None:
        """The temporary folder is gone, and the person's own home was not touched."""
        assert demo.returncode == 0
        assert [each.name for each in folder.iterdir()] == ["tmp"]
        assert list((folder / "tmp").iterdir()) == []


class TestSample:
    def test_two_runs_write_the_same(self, module: Any, tmp_path: Path) -> None:
        """The session has no clock and no chance in it."""
        first = module.make_sample(tmp_path / "a", cwd="/harbor")
        second = module.make_sample(tmp_path / "b", cwd="/harbor")

        assert first.session_file.read_bytes() == second.session_file.read_bytes()

    def test_secrets_are_in_no_file_of_the_repository(self, module: Any, tmp_path: Path) -> None:
        """They are drawn when the sample is written."""
        sample = module.make_sample(tmp_path, cwd="/harbor")
        sources = b"".join(path.read_bytes() for path in OPS.rglob("*") if path.is_file() and path.suffix != ".pyc")

        assert len(sample.secrets) == 4
        assert not any(secret.encode() in sources for secret in sample.secrets.values())


class TestPage:
    def test_ascii_terminal(self, module: Any, capsys: pytest.CaptureFixture[str]) -> None:
        """Where the encoding knows no more than ASCII, signs are drawn with it."""
        module.Page(80, has_colour=False, has_unicode=False).line("└─ 18 → 2 …")

        assert capsys.readouterr().out == "`- 18 -> 2 ...\n"

    def test_long_line_is_cut(self, module: Any, capsys: pytest.CaptureFixture[str]) -> None:
        """Wide characters count twice."""
        module.Page(8, has_colour=False, has_unicode=True).line("港の予約サービス")

        assert capsys.readouterr().out == "港の予…\n"


class TestRequire:
    def test_what_does_not_hold(self, module: Any) -> None:
        """The sentence is what the person reads."""
        with pytest.raises(module.Unexpected, match="no secret should be stored"):
            module.require(False, "no secret should be stored")
