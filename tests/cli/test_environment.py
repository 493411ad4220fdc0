"""Where and how `lcm` is run: pipes, locales, terminals, odd paths, and what it loads."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from lcm.cli.main import COMMANDS
from tests.cli.conftest import LCM, PLAIN, Cli, run_lcm
from tests.conftest import REPOSITORY
from tests.engine.sessions import SESSION, user, write
from tests.transcript_factory import make_claude_session

SENSITIVE = ("sensitive list", "sensitive add", "sensitive remove")
HEAVY = ("sqlalchemy", "litellm", "pydantic", "rich", "structlog", "aiosqlite", "alembic")


def loaded_by(program: str) -> set[str]:
    """The heavy packages that are loaded when a Python program ends."""
    watch = f"import sys, atexit; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr)); {program}"
    done = subprocess.run(
        [sys.executable, "-c", watch], env=PLAIN, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return {name for name in HEAVY if name in done.stderr.split()}


class TestStart:
    def test_the_package_itself_loads_nothing(self) -> None:
        """`import lcm` is cheap."""
        assert loaded_by("import lcm") == set()

    def test_help_loads_no_command(self) -> None:
        """`lcm --help` answers before any of the large packages is loaded."""
        assert loaded_by("sys.argv[1:] = ['--help']; from lcm.cli.main import main; main()") == set()

    @pytest.mark.parametrize("command", [*COMMANDS, "config get", "config set", "config show", *SENSITIVE])
    def test_every_command_has_help(self, command: str, cli: Cli) -> None:
        """`--help` tells the usage and ends well."""
        run = cli.inside(*command.split(), "--help")

        assert (run.code, run.err) == (0, "")
        assert run.out.startswith(f"Usage: lcm {command} ")

    def test_no_warning_is_an_error(self, filled: Cli, transcript: Path) -> None:
        """Under `python -W error` a command does all it does without."""
        python = (sys.executable, "-W", "error", LCM)
        for arguments in (("stats", "--json"), ("search", "login", "--json"), ("import", transcript, "--dry-run")):
            run = run_lcm(*arguments, environment=filled.environment, cwd=filled.folder, command=python)

            assert (run.code, run.err) == (0, "")


class TestPipes:
    def test_a_reader_that_goes_away_is_no_fault(self, filled: Cli) -> None:
        """`lcm context 1 | head -1` ends silently and well."""
        line = f"{LCM} context 1 | head -1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["/bin/bash", "-c", line], env=filled.environment, cwd=filled.folder, capture_output=True, check=False
        )

        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.parametrize("command", ["conversations", "stats --json", "context 1"])
    def test_a_closed_pipe_before_the_first_line(self, filled: Cli, command: str) -> None:
        """Every kind of output meets it alike: table, JSON, text."""
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as closed:
            running = filled.start_writing_to(closed, *command.split())
            _, err = running.communicate(timeout=60)

        assert (running.returncode, err) == (0, "")

    def test_no_stdout_at_all(self, filled: Cli) -> None:
        """`lcm stats >&-` has nowhere to print to and does not mind."""
        done = subprocess.run(
            ["/bin/sh", "-c", f"{LCM} stats >&-"],
            env=filled.environment,
            cwd=filled.folder,
            capture_output=True,
            check=False,
        )

        assert (done.returncode, done.stderr) == (0, b"")


class TestLocale:
    @pytest.mark.parametrize(
        "env",
        [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}],
    )
    def test_text_of_any_script_is_printed(self, cli: Cli, tmp_path: Path, env: dict[str, str]) -> None:
        """JSON says the same in every locale; text for people replaces what the terminal lacks."""
        path = write(tmp_path / "s.jsonl", user(1, "登录 🙂 failed", cwd=str(cli.folder)))
        imported = cli("import", path, "--json", **env)
        found = cli("search", "登录", "--json", **env)
        shown = cli("search", "登录", **env)

        assert (imported.code, imported.json["messages_new"]) == (0, 1)
        assert found.json["hits"][0]["snippet"] == "登录 🙂 failed"
        assert (shown.code, shown.err) == (0, "")
        assert "failed" in shown.out

    def test_a_locale_that_knows_ascii_alone(self, cli: Cli, tmp_path: Path) -> None:
        """With Python's own remedies switched off, what is stored still comes out whole as JSON."""
        ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        path = write(tmp_path / "s.jsonl", user(1, "登录 🙂 failed", cwd=str(cli.folder)))
        cli("import", path, **ascii_only)

        assert cli("search", "failed", "--json", **ascii_only).json["hits"][0]["snippet"] == "登录 🙂 failed"
        assert cli("search", "登录", **ascii_only).code == 0


class TestPaths:
    @pytest.mark.parametrize("name", ["a home with spaces", "100%25 ?mode=ro#x", "家", "quote'\"s"])
    def test_a_home_of_any_name(self, tmp_path: Path, name: str) -> None:
        """Every character of a path is a character."""
        (tmp_path / "work").mkdir()
        cli = Cli(tmp_path / name / "home", tmp_path / "work")
        path = make_claude_session(tmp_path / "s.jsonl", cwd=str(cli.folder))

        assert cli("import", path, "--json").json["messages_new"] == 12
        assert cli("import", path, "--dry-run", "--json").json["messages_new"] == 0
        assert cli("verify-schema").code == 0
        assert cli("stats", "--json").json["messages"] == 12
        assert cli.database.is_file()

    def test_a_home_behind_a_symbolic_link(self, tmp_path: Path, cli: Cli, transcript: Path) -> None:
        """A linked home is the same store."""
        cli("import", transcript)
        (tmp_path / "link").symlink_to(cli.home)

        assert cli("stats", "--json", LCM_HOME=str(tmp_path / "link")).json["messages"] == 12

    def test_a_folder_below_the_project(self, cli: Cli, transcript: Path) -> None:
        """In a git repository every folder below its root is the project's."""
        (cli.folder / ".git" / "objects").mkdir(parents=True)
        (cli.folder / ".git" / "refs").mkdir()
        (cli.folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (cli.folder / "src").mkdir()
        cli("import", transcript)
        below = Cli(cli.home, cli.folder / "src")

        assert below("stats", "--json").json["messages"] == 12
        assert cli("stats", "--project", "src", "--json").json["messages"] == 12

    def test_files_of_the_home_are_private(self, filled: Cli) -> None:
        """Nobody else can read what was said."""
        modes = {oct(path.stat().st_mode & 0o077) for path in [filled.home, *filled.home.rglob("*")]}

        assert modes == {"0o0"}


class TestTerminal:
    def test_progress_is_shown_on_a_terminal(self, cli: Cli, tmp_path: Path) -> None:
        """A person who watches sees how far it is; stdout has the result alone."""
        for number in range(4):
            make_claude_session(tmp_path / "t" / f"{number}.jsonl", session_id=f"s{number}", first=1 + 100 * number)
        out, shown = run_on_terminal(cli, "import", str(tmp_path / "t"))

        assert "importing" in shown
        assert out.startswith("Imported 48 new messages in 4 conversations of 1 project\n")

    def test_no_progress_elsewhere(self, cli: Cli, tmp_path: Path) -> None:
        """In a pipe or a log, stderr stays empty."""
        for number in range(4):
            make_claude_session(tmp_path / "t" / f"{number}.jsonl", session_id=f"s{number}", first=1 + 100 * number)

        assert cli("import", tmp_path / "t").err == ""

    def test_what_was_said_does_not_control_the_terminal(self, cli: Cli, tmp_path: Path) -> None:
        """Escape sequences in a message are not carried out when it is shown."""
        path = write(tmp_path / "s.jsonl", user(1, "before \x1b[2J\x1b]0;title\x07 after", cwd=str(cli.folder)))
        cli("import", path)
        shown = run_on_terminal(cli, "describe", "1:0", is_stdout=True)[1]

        assert "before" in shown
        assert "after" in shown
        assert "\x1b" not in shown


def run_on_terminal(cli: Cli, *args: str, is_stdout: bool = False) -> tuple[str, str]:
    """The plain stdout, and what a terminal of 80 columns at stderr (or at stdout) shows."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [LCM, *args],
        env=cli.environment | {"COLUMNS": "80", "TERM": "xterm"},
        cwd=cli.folder,
        stdout=theirs if is_stdout else subprocess.PIPE,
        stderr=subprocess.PIPE if is_stdout else theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(ours)
    out, _ = running.communicate(timeout=60)
    return out or "", shown.decode("utf-8", "replace")


class TestWidth:
    @pytest.mark.parametrize("columns", [40, 80, 120])
    @pytest.mark.parametrize(
        "command", ["conversations", "search login", "grep login", "stats", "config show --effective"]
    )
    def test_lines_fit_the_terminal(self, filled: Cli, command: str, columns: int) -> None:
        """From 80 columns on no line is longer than the terminal, but for a folder's name."""
        run = Cli(filled.home, filled.folder, {"COLUMNS": str(columns)}).inside(*command.split())
        lines = [
            line for line in run.out.splitlines() if str(filled.folder) not in line and str(filled.home) not in line
        ]

        assert run.code == 0
        assert columns < 80 or all(len(line) <= columns for line in lines)

    def test_ids_are_complete_on_every_width(self, filled: Cli) -> None:
        """What is shown of an id can be copied: the session whole or not at all."""
        narrow, wide = filled("conversations", COLUMNS="60").out, filled("conversations", COLUMNS="120").out

        assert SESSION in wide
        assert SESSION[:8] not in narrow
        assert narrow.splitlines()[1].split()[0] == "1"


class TestTimes:
    @pytest.mark.parametrize(
        ("zone", "shown"),
        [
            ("UTC", "2026-02-17 07:38 UTC"),
            ("America/New_York", "2026-02-17 02:38 -05:00"),
            ("Asia/Kolkata", "2026-02-17 13:08 +05:30"),
        ],
    )
    def test_are_shown_where_the_person_is(self, filled: Cli, zone: str, shown: str) -> None:
        """In the zone of the machine, with its distance from UTC."""
        assert shown in filled("conversations", TZ=zone).out

    def test_the_setting_wins_over_the_machine(self, filled: Cli) -> None:
        """Who sets a zone sees times in it."""
        run = filled("conversations", TZ="Asia/Kolkata", LCM_TIMEZONE="America/New_York")

        assert "2026-02-17 02:38 -05:00" in run.out


class TestUnknownVariables:
    def test_the_nearest_known_one_is_told(self, filled: Cli) -> None:
        """A mistyped name changes nothing, is told on standard error, and its value is not."""
        run = filled("stats", "--json", LCM_FRESH_TAIL_COUT="77")

        assert (run.code, run.json["conversations"]) == (0, 1)
        assert run.error == (
            "The variable LCM_FRESH_TAIL_COUT is no setting of lcm and was ignored; did you mean LCM_FRESH_TAIL_COUNT?"
        )

    def test_one_that_is_like_none(self, filled: Cli) -> None:
        """It may belong to another program, so it is no error."""
        run = filled("stats", "--json", LCM_QUX="secret")

        assert run.code == 0
        assert run.error == (
            "The variable LCM_QUX is no setting of lcm and was ignored; `lcm config show --effective` lists those there"
            " are."
        )
