"""`lcm import` as a process: what it reads, what it tells, and what a dry run leaves alone."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.conftest import Cli, snapshot
from tests.engine.sessions import user, write
from tests.transcript_factory import make_claude_session

NOTHING_SKIPPED = {"text_repairs": 0, "redactions": {}, "skipped": [], "unused": {}, "large_files": 0}


class TestImport:
    def test_tells_every_documented_figure(self, cli: Cli, transcript: Path) -> None:
        """The first import of three turns has twelve new messages."""
        found = cli("import", transcript, "--json").json

        assert found.pop("seconds") >= 0
        assert found == {
            "files": 1,
            "projects": 1,
            "conversations": 1,
            "messages_new": 12,
            "messages_known": 0,
            "messages_changed": 0,
            "parts_new": 12,
            "dry_run": False,
            **NOTHING_SKIPPED,
        }

    def test_again_adds_nothing(self, cli: Cli, transcript: Path) -> None:
        """A second import of the same file is done at once."""
        cli("import", transcript)
        run = cli("import", transcript)

        assert run.code == 0
        assert run.out.startswith("Nothing new in 1 file")

    def test_a_damaged_line_is_skipped_with_its_reason(self, cli: Cli, transcript: Path) -> None:
        """One line that is no JSON is told by file, line and reason; the run is a whole one."""
        with transcript.open("a") as file:
            file.write("{broken\n")
        run = cli("import", transcript, "--json")

        assert run.code == 0
        assert run.json["skipped"] == [{"file": str(transcript), "line": 14, "reason": "not JSON"}]

    def test_a_secret_is_counted(self, cli: Cli, tmp_path: Path) -> None:
        """Redactions are counted by category."""
        path = write(tmp_path / "s.jsonl", user(1, "my key is ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"))

        assert cli("import", path, "--json").json["redactions"] == {"built_in": 1}

    def test_without_a_path_the_clients_folders_are_read(self, cli: Cli, tmp_path: Path) -> None:
        """CLAUDE_CONFIG_DIR and CODEX_HOME say where; a client that is not there is no fault."""
        make_claude_session(tmp_path / "claude" / "projects" / "-home-user" / "s.jsonl")
        folders = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}

        assert cli("import", "--json", **folders).json["messages_new"] == 12
        assert cli("import", "--client", "codex", "--json", **folders).json["files"] == 0

    def test_without_any_transcript_it_says_what_to_do(self, cli: Cli) -> None:
        """A person without clients learns how to name a file."""
        run = cli("import")

        assert (run.code, run.err) == (0, "")
        assert run.out == "No transcripts found; name a file or folder with *.jsonl files: `lcm import PATH`.\n"

    def test_a_project_can_be_named(self, cli: Cli, transcript: Path, tmp_path: Path) -> None:
        """With --project every session goes there, by folder and then by id."""
        cli("import", transcript, "--project", tmp_path)
        (stats,) = cli("stats", "--project", "all", "--json").json["projects"]
        other = make_claude_session(tmp_path / "other.jsonl", session_id="other-session", first=100)
        cli("import", other, "--project", stats["project_id"])

        assert stats["root"] == str(tmp_path)
        assert cli("stats", "--project", "all", "--json").json["messages"] == 24

    def test_all_projects_is_no_place_to_import_to(self, cli: Cli, transcript: Path) -> None:
        """`--project all` is refused, and nothing is created."""
        run = cli("import", transcript, "--project", "all")

        assert (run.code, run.error) == (1, "Name one project here, by its folder or id.")
        assert not cli.home.exists()


class TestPartialImport:
    def test_a_missing_path_fails_and_the_others_are_imported(self, cli: Cli, transcript: Path) -> None:
        """Exit code 1, the reason by path, and the messages of the good file."""
        run = cli("import", cli.folder / "nowhere", transcript, "--json")

        assert run.code == 1
        assert run.json["messages_new"] == 12
        assert run.json["skipped"] == [
            {"file": str(cli.folder / "nowhere"), "line": None, "reason": "no such file or folder"}
        ]
        assert run.error == "1 path could not be imported."

    def test_an_unreadable_file_is_named(self, cli: Cli, transcript: Path) -> None:
        """A file without read permission makes the run a partial one."""
        secret = make_claude_session(transcript.parent / "closed.jsonl", first=100)
        secret.chmod(0)
        run = cli.obeying("import", transcript.parent, "--json")

        assert (run.code, run.json["messages_new"]) == (1, 12)
        assert run.json["skipped"] == [{"file": str(secret), "line": None, "reason": "the file cannot be read"}]

    def test_a_folder_named_like_a_file_is_a_folder(self, cli: Cli, tmp_path: Path) -> None:
        """`x.jsonl` may be a folder; what is in it is read."""
        make_claude_session(tmp_path / "x.jsonl" / "session.jsonl")

        assert cli("import", tmp_path / "x.jsonl", "--json").json["messages_new"] == 12

    def test_an_empty_file_is_nothing(self, cli: Cli, tmp_path: Path) -> None:
        """No message, no fault, and no project made for it."""
        (tmp_path / "empty.jsonl").touch()
        run = cli("import", tmp_path / "empty.jsonl", "--json")

        assert (run.code, run.json["files"], run.json["messages_new"]) == (0, 1, 0)
        assert list(cli.home.rglob("*.sqlite")) == []

    def test_a_name_that_is_no_text(self, cli: Cli, transcript: Path) -> None:
        """A file name of arbitrary bytes is imported like any other."""
        odd = transcript.rename(transcript.with_name("odd-\udcff.jsonl"))

        assert cli("import", odd, "--json").json["messages_new"] == 12


class TestDryRun:
    def test_writes_nothing_on_a_fresh_home(self, cli: Cli, transcript: Path, tmp_path: Path) -> None:
        """The figures are those of the real import; the home is not even made."""
        before = snapshot(tmp_path)
        found = cli("import", transcript, "--dry-run", "--json").json

        assert (found["messages_new"], found["dry_run"]) == (12, True)
        assert snapshot(tmp_path) == before

    def test_writes_nothing_on_a_used_home(self, stored: Cli, tmp_path: Path) -> None:
        """Known and new messages are told apart, and no file or folder changes, not even its times."""
        path = make_claude_session(tmp_path / "t" / "more.jsonl", turns=16, cwd=str(stored.folder))
        before = snapshot(tmp_path)
        found = stored("import", path, "--dry-run", "--json").json

        assert (found["messages_new"], found["messages_known"]) == (4, 60)
        assert snapshot(tmp_path) == before

    def test_sees_what_only_the_log_of_a_killed_process_holds(self, stored: Cli, tmp_path: Path) -> None:
        """A write-ahead log that nobody folded is read, and left as it is."""
        path = make_claude_session(tmp_path / "t" / "more.jsonl", turns=16, cwd=str(stored.folder))
        copy = make_claude_session(tmp_path / "t" / "copy.jsonl", turns=16, cwd=str(stored.folder))
        import_and_crash(stored, path)
        before = snapshot(tmp_path)
        found = stored("import", copy, "--dry-run", "--json").json

        assert (found["messages_new"], found["messages_known"]) == (0, 64)
        assert snapshot(tmp_path) == before


def import_and_crash(cli: Cli, path: Path) -> None:
    """Import while a reader holds the log open, and leave the files as they were before it was folded."""
    database = cli.database
    names = ("db.sqlite", "db.sqlite-wal")
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        cli("import", path)
        for name in names:
            shutil.copy(database.with_name(name), database.with_name(f"kept-{name}"))
    for name in names:
        database.with_name(f"kept-{name}").replace(database.with_name(name))
