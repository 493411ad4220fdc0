"""Whatever a person types or a disk holds: one line that says what to do, and nothing changed."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Run, run_lcm
from tests.engine.sessions import SESSION
from tests.transcript_factory import make_claude_session

HUGE = "9" * 400

Edit = Callable[[Path, str], None]


def is_clean(run: Run) -> bool:
    """No traceback, no SQL, and every line of stderr is a sentence of ours."""
    lines = run.err.splitlines()
    return all(line.startswith("lcm: ") for line in lines) and "Traceback" not in run.err and "SELECT" not in run.err


class TestDamagedDatabase:
    @pytest.mark.parametrize("command", ["conversations", "stats", "search x", "compact", "verify", "migrate"])
    def test_a_file_that_is_no_database(self, stored: Cli, command: str) -> None:
        """It is left as it is, and a person learns to restore it or move it away."""
        stored.database.write_bytes(b"this is a diary, not a database\n" * 200)
        before = stored.database.read_bytes()
        run = stored(*command.split())

        assert run.code == (3 if command == "verify" else 1)
        assert "is not a database" in run.error
        assert "move it away" in run.error
        assert stored.database.read_bytes() == before

    def test_both_proofs_name_the_project_and_cannot_tell(self, stored: Cli) -> None:
        """`verify` and `verify-schema` agree: exit code 3, with the folder of the project, in JSON too."""
        stored.database.write_bytes(b"this is a diary, not a database\n" * 200)
        runs = [stored.inside(command, "--json") for command in ("verify", "verify-schema")]

        assert [run.code for run in runs] == [3, 3]
        assert all(run.error.startswith(f"{stored.folder}: The ") for run in runs)
        whole, schema = (run.json for run in runs)
        assert (whole["root"], whole["ok"], whole["project_id"]) == (str(stored.folder), None, None)
        assert [(each["root"], each["ok"]) for each in schema["projects"]] == [(str(stored.folder), None)]

    def test_the_other_projects_are_verified_all_the_same(self, stored: Cli, tmp_path: Path) -> None:
        """One damaged database among several: exit code 3, and the proof of the rest."""
        stored("import", make_claude_session(tmp_path / "o.jsonl", session_id="o", first=100, cwd="/elsewhere"))
        (damaged,) = [path for path in stored.home.rglob("db.sqlite") if b"Question 14" in path.read_bytes()]
        damaged.write_bytes(b"this is a diary, not a database\n" * 200)
        run = stored.inside("verify", "--project", "all", "--json")

        assert (run.code, run.json["ok"]) == (3, None)
        assert [each["ok"] for each in run.json["projects"]] == [True, None]

    def test_pages_overwritten_by_something_else(self, stored: Cli) -> None:
        """Damage behind the first page is told as damage."""
        data = bytearray(stored.database.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        stored.database.write_bytes(data)
        run = stored("conversations")

        assert (run.code, is_clean(run)) == (1, True)
        assert "is damaged" in run.error
        assert stored.database.read_bytes() == data

    def test_one_damaged_project_among_several(self, stored: Cli, tmp_path: Path) -> None:
        """All projects together is an error that says how to find it; the others open by folder and by id."""
        stored("import", make_claude_session(tmp_path / "o.jsonl", session_id="o", first=100, cwd="/elsewhere"))
        other = stored("stats", "--project", "/elsewhere", "--json").json["projects"][0]["project_id"]
        (damaged,) = [path for path in stored.home.rglob("db.sqlite") if b"Question 14" in path.read_bytes()]
        damaged.write_bytes(b"no database")
        run = stored("stats", "--project", "all")

        assert run.code == 1
        assert run.error.endswith("See which with `lcm verify-schema --project all`.")
        assert stored("stats", "--project", other).code == 0
        assert stored("verify-schema", "--project", "all").code == 3

    @pytest.mark.parametrize("command", ["conversations", "import", "compact", "migrate", "verify-schema"])
    def test_a_newer_schema(self, stored: Cli, edit_database: Edit, command: str, transcript: Path) -> None:
        """It cannot be told what it means: exit code 3 (an import is partial), upgrade lcm, nothing changed."""
        edit_database(stored.database, f"INSERT INTO schema_migrations VALUES ('9999', '{'0' * 64}', 1)")
        before = stored.database.read_bytes()
        more: tuple[str | Path, ...] = (transcript, "--project", stored.folder) if command == "import" else ()
        run = stored(command, *more)

        assert run.code == (1 if command == "import" else 3)
        assert "newer lcm; upgrade lcm" in run.err
        assert stored.database.read_bytes() == before


class TestDisk:
    def test_a_read_only_home(self, stored: Cli, transcript: Path) -> None:
        """Nothing can be imported, and that is one sentence; the schema can still be compared."""
        folders = [stored.home, *(path for path in stored.home.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o500)
        run = stored.obeying("import", transcript, "--project", stored.folder)
        schema = stored.obeying("verify-schema")
        for folder in folders:
            folder.chmod(0o700)

        assert (run.code, run.err.splitlines()[-1]) == (1, "lcm: 1 path could not be imported.")
        assert "Traceback" not in run.err
        assert schema.code == 0

    def test_a_full_disk_loses_nothing(self, cli: Cli, tmp_path: Path) -> None:
        """The import stops with a reason; with room again it goes on, and the proof holds."""
        path = make_claude_session(tmp_path / "s.jsonl", turns=300, cwd=str(cli.folder), padding="word " * 60)
        cli("import", make_claude_session(tmp_path / "a.jsonl", session_id="a", first=9000, cwd=str(cli.folder)))
        limit = cli.database.stat().st_size + 200_000
        full = run_lcm(
            "import",
            path,
            environment=cli.environment,
            cwd=cli.folder,
            prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        again = cli("import", path, "--json")

        assert full.code == 1
        assert "Traceback" not in full.err
        assert full.err.splitlines()[-1] == "lcm: 1 path could not be imported."
        assert again.json["messages_new"] + again.json["messages_known"] >= 700
        assert cli("stats", "--json").json["messages"] == 1212
        assert cli("verify").code == 0

    def test_output_to_a_full_disk(self, filled: Cli) -> None:
        """What cannot be written is an error, said once."""
        with Path("/dev/full").open("w") as full:
            running = filled.start_writing_to(full, "conversations")
            _, err = running.communicate(timeout=60)

        assert (running.returncode, err) == (1, "lcm: No space left on device.\n")

    def test_a_folder_that_is_gone(self, cli: Cli) -> None:
        """The current folder was removed under the shell."""
        gone = cli.folder / "gone"
        gone.mkdir()
        run = run_lcm("stats", environment=cli.environment, cwd=gone, prepare=gone.rmdir)

        assert (run.code, is_clean(run)) == (1, True)


class TestIds:
    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("context 99", "No such conversation in this project; list them with `lcm conversations`."),
            ("describe sum_0000000000000000", "No such summary in this project; find ids with `lcm search` or"),
            ("describe file_0000000000000000", "No such stored file in this project."),
            ("describe 1:999", "No such message in this conversation."),
            ("expand sum_nothing", "No such summary in this project; find ids with `lcm search` or `lcm context`."),
            (f"context {HUGE}", "No such conversation in this project; list them with `lcm conversations`."),
            ("verify --conversation -5", "No such conversation in this project; list them with `lcm conversations`."),
            ("stats --project 00000000-0000-4000-8000-000000000000", "No project has this id; list them with"),
            ("stats --project /nowhere", "Nothing is stored for that folder yet; run `lcm import`, or name"),
        ],
    )
    def test_unknown(self, filled: Cli, command: str, said: str) -> None:
        """One sentence that says where ids come from, and exit code 1."""
        run = filled.inside(*command.split())

        assert run.code == 1
        assert run.error.startswith(said)

    def test_a_beginning_of_several_sessions_lists_them(self, cli: Cli, tmp_path: Path) -> None:
        """Two sessions share six characters; both are named."""
        for number, session in enumerate(("session-one", "session-two")):
            path = make_claude_session(tmp_path / f"{session}.jsonl", session_id=session, first=1 + 100 * number)
            cli.inside("import", path, "--project", cli.folder)
        run = cli.inside("context", "session-")

        assert run.code == 1
        assert run.error == "The id is ambiguous; use one of: session-one, session-two."

    def test_the_same_id_in_several_projects_lists_the_projects(self, cli: Cli, tmp_path: Path) -> None:
        """Conversation 1 exists twice; each candidate is an option to add."""
        for number, folder in enumerate(("/one", "/two")):
            path = make_claude_session(tmp_path / f"{number}.jsonl", session_id=folder, first=1 + 100 * number)
            cli.inside("import", path, "--project", folder)
        ids = [each["project_id"] for each in cli.inside("stats", "--project", "all", "--json").json["projects"]]
        run = cli.inside("context", "1", "--project", "all")

        assert run.code == 1
        assert run.error == f"The id is ambiguous; use one of: --project {ids[0]}, --project {ids[1]}."
        assert cli.inside("context", "1", "--project", ids[1]).code == 0


class TestNumbers:
    @pytest.mark.parametrize("number", ["0", "-1", HUGE, "1.5", "many", ""])
    @pytest.mark.parametrize(
        "command",
        [
            "context 1 --budget",
            "search x --limit",
            "grep x --limit",
            "expand sum_x --depth",
            "expand sum_x --token-cap",
        ],
    )
    def test_out_of_range(self, command: str, number: str, invoke: Callable[..., tuple[int, str]]) -> None:
        """Exit code 2 and the range that is allowed."""
        option = command.rsplit(maxsplit=1)[-1]
        code, err = invoke(*command.split(), number)

        assert code == 2
        assert err.startswith(f"lcm: Invalid value for '{option}': give a whole number from 1 to ")
        assert len(err.splitlines()) == 1

    def test_the_largest_are_taken(self, filled: Cli) -> None:
        """2^53-1 is a number like any other where nothing else bounds it."""
        assert filled.inside("context", "1", "--budget", "9007199254740991", "--json").json["items_included"] == 9


QUERIES = [
    '"unbalanced',
    '""',
    "-",
    "*",
    "(",
    ") OR (",
    "NEAR(a b, 5)",
    "a AND NOT b",
    "words:x",
    "^x",
    "'; DROP TABLE messages; --",
    "%_\\",
    "🙂",
    "登录失败",
    "e\u0301",
    "\x1b[31m",
    "login " * 1700,
]


class TestQueries:
    @pytest.mark.parametrize("query", QUERIES)
    def test_any_text_is_a_query(self, filled: Cli, query: str) -> None:
        """An answer in JSON for whatever is typed."""
        run = filled.inside("search", "--json", "--", query)

        assert (run.code, run.err) == (0, "")
        assert isinstance(run.json["hits"], list)

    @pytest.mark.parametrize("query", ["--", 'NEAR("🙂* -登录', "x" * 10_000])
    def test_as_an_argument_of_a_process(self, filled: Cli, query: str) -> None:
        """So it is from a shell, at any length that the system passes on."""
        run = filled("search", "--json", "--", query)

        assert (run.code, run.err) == (0, "")
        assert isinstance(run.json["hits"], list)

    @pytest.mark.parametrize("command", ["search", "grep", "describe", "context", "expand"])
    def test_bytes_that_are_no_text(self, filled: Cli, command: str) -> None:
        """An argument that is not UTF-8 is answered or refused, not a crash."""
        run = filled(command, b"caf\xe9 \xff")

        assert run.code in (0, 1)
        assert "Traceback" not in run.err
        assert "Unexpected" not in run.err

    def test_a_catastrophic_regular_expression_ends(self, filled: Cli) -> None:
        """RE2 takes time linear in the text, whatever the pattern."""
        assert filled("grep", "(x+x+)+y", "--mode", "regex", "--json").json["match_count"] == 0

    @pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", r"(?<=a)b", r"(a)\1", "*"])
    def test_an_invalid_regular_expression(self, filled: Cli, pattern: str) -> None:
        """One sentence, without the pattern in it."""
        run = filled.inside("grep", "--mode", "regex", "--", pattern)

        assert (run.code, run.error) == (
            1,
            "The pattern is not a valid RE2 expression, or needs too much memory.",
        )

    @pytest.mark.parametrize(
        ("command", "said"), [("search", "The search query is empty."), ("grep", "The pattern is empty.")]
    )
    def test_nothing_to_look_for(self, filled: Cli, command: str, said: str) -> None:
        """Blank is empty."""
        assert filled.inside(command, "  ").error == said


class TestTimes:
    @pytest.mark.parametrize(
        "time", ["yesterday", "", "2026-13-01", "12:00", "2026-02-30", "9999-12-31T23:00:00-12:00"]
    )
    def test_a_bad_time(self, time: str, invoke: Callable[..., tuple[int, str]]) -> None:
        """Exit code 2 and an example of a good one, or that it is out of range."""
        code, err = invoke("search", "x", "--since", time)

        assert code == 2
        assert err.startswith("lcm: Invalid value for '--since': ")

    @pytest.mark.parametrize("time", ["0001-01-01", "9999-12-31T23:59:59Z", "2026-02-17", "20260217T073700+0530"])
    def test_every_real_time(self, filled: Cli, time: str) -> None:
        """The first and the last moment that can be written are times like any other."""
        assert filled.inside("grep", "login", "--since", time, "--json").code == 0


class TestUsage:
    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("foo", "No such command 'foo'. See `lcm --help`."),
            ("search", "Missing argument 'QUERY'. See `lcm search --help`."),
            ("stats --bogus", "No such option '--bogus'. See `lcm stats --help`."),
            ("config get", "Missing argument 'KEY'. See `lcm config get --help`."),
            ("migrate --plan --sql", "Give one of --plan, --sql and --check. See `lcm migrate --help`."),
        ],
    )
    def test_is_one_line_and_exit_code_2(self, command: str, said: str, invoke: Callable[..., tuple[int, str]]) -> None:
        """What is wrong, and where help is."""
        assert invoke(*command.split()) == (2, f"lcm: {said}\n")

    def test_a_value_is_not_repeated_at_length(self, invoke: Callable[..., tuple[int, str]]) -> None:
        """Ten thousand characters do not fill the terminal, and escapes do not reach it."""
        _, err = invoke("grep", "x", "--mode", "\x1b[31m" + "y" * 10_000)

        assert len(err) < 600
        assert "\x1b" not in err


class TestSettings:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ("get no.such", "There is no setting no.such; known are "),
            ("set compaction.rounds 3", "There is no setting compaction.rounds; known are compaction."),
            (
                "set compaction.max_rounds 0",
                "The setting compaction.max_rounds is not valid; allowed is an integer from 1 to 1000.",
            ),
            (
                "set log.level loud",
                "The setting log.level is not valid; allowed is one of debug, info, warning, error.",
            ),
            (
                "set summarizer.api_key sk-x",
                "The setting summarizer.api_key is not allowed in config.json; set the variable LCM_SUMMARY_API_KEY.",
            ),
        ],
    )
    def test_a_bad_key_or_value(self, cli: Cli, arguments: str, said: str) -> None:
        """The key and what is allowed, never the value; nothing is written."""
        run = cli.inside("config", *arguments.split())

        assert run.code == 1
        assert run.error.startswith(said)
        assert not cli.home.exists()

    def test_a_bad_environment(self, cli: Cli) -> None:
        """The variable is named with what it may hold."""
        run = cli("stats", LCM_MAX_ROUNDS="many-secrets")

        assert run.code == 1
        assert run.error == (
            "The setting compaction.max_rounds (LCM_MAX_ROUNDS) is not valid; allowed is an integer from 1 to 1000."
        )

    def test_a_home_that_is_no_absolute_path(self, cli: Cli) -> None:
        """A relative LCM_HOME would mean another store in every folder."""
        run = cli("stats", LCM_HOME="relative/home")

        assert run.code == 1
        assert run.error.startswith("The setting home (LCM_HOME) is not valid; allowed is an absolute path")

    def test_a_pattern_that_cannot_run(self, cli: Cli) -> None:
        """Refused with the reason, without the pattern, and nothing is written."""
        run = cli.inside("sensitive", "add", "(my-secret")

        assert run.code == 1
        assert run.error == "The redaction pattern is refused: a closing parenthesis is missing."
        assert not cli.home.exists()


class TestFreshHome:
    @pytest.mark.parametrize(
        "command", ["conversations", "compact", "search x", "grep x", "context 1", "stats", "verify"]
    )
    def test_says_what_to_do_next(self, cli: Cli, command: str) -> None:
        """Every command that needs a store names the one that makes it."""
        run = cli.inside(*command.split())

        assert run.code == 1
        assert run.error.startswith("Nothing is stored for this folder yet; run `lcm import`")
        assert not cli.home.exists()

    @pytest.mark.parametrize(
        "command",
        ["conversations", "compact", "stats", "verify", "migrate", "verify-schema", "context 1", "describe x"],
    )
    def test_all_projects_of_none(self, cli: Cli, command: str) -> None:
        """So does the same command over all projects."""
        run = cli.inside(*command.split(), "--project", "all")

        assert "`lcm import`" in run.out + run.err
        assert "Traceback" not in run.err

    def test_a_session_of_nowhere(self, cli: Cli) -> None:
        """A session is not found where nothing is."""
        assert (
            cli.inside("compact", "--session", SESSION, "--project", "all").error
            == "Nothing is stored yet; run `lcm import`."
        )
