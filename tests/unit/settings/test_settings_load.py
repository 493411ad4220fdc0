import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from lcm.errors import InvalidInput, InvalidSetting
from lcm.files.durable import write_private
from lcm.settings.load import load_settings, set_in_file
from lcm.settings.model import PostgresStorage, Settings, SqliteStorage

SECRET = "hunter2-hunter2"
POSTGRES = {
    "LCM_STORAGE_BACKEND": "postgresql",
    "LCM_POSTGRES_URL": f"postgresql://lcm:{SECRET}@db.example:5432/memory",
    "LCM_POSTGRES_CA_FILE": "/etc/ssl/db.pem",
}


def load(home: Path, overrides: Any = None, **environ: str) -> Settings:
    return load_settings(environ={"HOME": "/home/ada", "LCM_HOME": str(home), **environ}, overrides=overrides)


def write_config(home: Path, document: Any) -> None:
    (home / "config.json").write_text(json.dumps(document))


def refusal(home: Path, overrides: Any = None, **environ: str) -> str:
    with pytest.raises(InvalidSetting) as caught:
        load(home, overrides, **environ)
    return str(caught.value)


class TestDefaults:
    def test_nothing_needs_to_be_configured(self) -> None:
        """Without any source the home is ~/.lcm, storage is SQLite, and nothing is created."""
        settings = load_settings(environ={"HOME": "/home/nobody-here"})

        assert settings.home == Path("/home/nobody-here/.lcm")
        assert settings.storage == SqliteStorage(projects_dir=Path("/home/nobody-here/.lcm/projects"))
        assert settings.timezone == "UTC"
        assert settings.log.level == "warning"
        assert settings.imports.claude_dir == Path("/home/nobody-here/.claude")
        assert settings.imports.codex_dir == Path("/home/nobody-here/.codex")
        assert not settings.home.exists()

    def test_compaction_has_the_documented_defaults(self, tmp_path: Path) -> None:
        """The defaults of compaction are those of the reference."""
        compaction = load(tmp_path).compaction

        assert compaction.context_threshold == 0.75
        assert (compaction.fresh_tail_count, compaction.fresh_tail_max_tokens) == (32, None)
        assert (compaction.leaf_min_fanout, compaction.condensed_min_fanout) == (8, 4)
        assert (compaction.condensed_min_fanout_hard, compaction.incremental_max_depth) == (2, 0)
        assert (compaction.leaf_chunk_tokens, compaction.leaf_target_tokens) == (20000, 1200)
        assert (compaction.condensed_target_tokens, compaction.max_expand_tokens) == (2000, 4000)
        assert (compaction.large_file_token_threshold, compaction.autocompact_disabled) == (25000, False)
        assert (compaction.max_rounds, compaction.max_passes, compaction.max_seconds) == (10, 1000, 3600)

    def test_the_summarizer_has_the_documented_defaults(self, tmp_path: Path) -> None:
        """No model is configured by default."""
        summarizer = load(tmp_path).summarizer

        assert (summarizer.provider, summarizer.model, summarizer.base_url) == ("auto", "", "")
        assert (summarizer.api_key, summarizer.timeout_s, summarizer.max_attempts) == (None, 600, 3)

    def test_reading_creates_nothing(self, tmp_path: Path) -> None:
        """Loading from an empty home leaves it empty."""
        load(tmp_path)

        assert list(tmp_path.iterdir()) == []


class TestPrecedence:
    def test_override_beats_environment_beats_file_beats_default(self, tmp_path: Path) -> None:
        """Each source wins over the next, per key."""
        write_config(
            tmp_path,
            {"version": 1, "compaction": {"fresh_tail_count": 1, "leaf_min_fanout": 1, "condensed_min_fanout": 1}},
        )

        compaction = load(
            tmp_path,
            {"compaction.fresh_tail_count": 3},
            LCM_FRESH_TAIL_COUNT="2",
            LCM_LEAF_MIN_FANOUT="2",
        ).compaction

        assert (compaction.fresh_tail_count, compaction.leaf_min_fanout, compaction.condensed_min_fanout) == (3, 2, 1)
        assert compaction.condensed_min_fanout_hard == 2

    def test_the_home_may_be_overridden_and_its_file_is_read(self, tmp_path: Path) -> None:
        """An override of the home decides which config.json counts."""
        write_config(tmp_path, {"version": 1, "timezone": "Europe/Berlin"})

        settings = load_settings(environ={"LCM_HOME": "/elsewhere"}, overrides={"home": tmp_path})

        assert (settings.home, settings.timezone) == (tmp_path, "Europe/Berlin")

    def test_overrides_may_be_text_and_none_is_not_given(self, tmp_path: Path) -> None:
        """Command line flags come as text, and flags that are not given as None."""
        settings = load(tmp_path, {"compaction.max_rounds": "7", "timezone": None})

        assert (settings.compaction.max_rounds, settings.timezone) == (7, "UTC")


class TestEnvironment:
    def test_values_are_parsed_by_type(self, tmp_path: Path) -> None:
        """Numbers, flags, choices and paths are read from text."""
        settings = load(
            tmp_path,
            LCM_CONTEXT_THRESHOLD="0.5",
            LCM_FRESH_TAIL_MAX_TOKENS="9000",
            LCM_INCREMENTAL_MAX_DEPTH="-1",
            LCM_AUTOCOMPACT_DISABLED="true",
            LCM_LOG_LEVEL="DEBUG",
            LCM_SUMMARY_API_KEY=f" {SECRET}\n",
            CLAUDE_CONFIG_DIR="~/agents/claude",
            CODEX_HOME="/opt/codex",
        )

        assert settings.compaction.context_threshold == 0.5
        assert settings.compaction.fresh_tail_max_tokens == 9000
        assert settings.compaction.incremental_max_depth == -1
        assert settings.compaction.autocompact_disabled is True
        assert settings.log.level == "debug"
        assert settings.summarizer.api_key == SECRET
        assert settings.imports.claude_dir == Path("/home/ada/agents/claude")
        assert settings.imports.codex_dir == Path("/opt/codex")

    def test_an_empty_variable_is_not_set_unless_the_value_may_be_empty(self, tmp_path: Path) -> None:
        """An empty model overrides the file; an empty number does not."""
        write_config(tmp_path, {"version": 1, "summarizer": {"model": "m"}, "compaction": {"max_rounds": 5}})

        settings = load(tmp_path, LCM_SUMMARY_MODEL="", LCM_MAX_ROUNDS="")

        assert (settings.summarizer.model, settings.compaction.max_rounds) == ("", 5)

    @pytest.mark.parametrize(
        ("environ", "zone"),
        [
            ({"TZ": "Asia/Tokyo"}, "Asia/Tokyo"),
            ({"TZ": ":Asia/Tokyo"}, "Asia/Tokyo"),
            ({"TZ": "Asia/Tokyo", "LCM_TIMEZONE": "America/Lima"}, "America/Lima"),
            ({"TZ": ":/etc/localtime"}, "UTC"),
            ({"TZ": "<+03>-3"}, "UTC"),
            ({"TZ": ""}, "UTC"),
        ],
    )
    def test_the_zone_is_ours_or_the_systems(self, tmp_path: Path, environ: dict[str, str], zone: str) -> None:
        """LCM_TIMEZONE wins over TZ; forms of TZ that name no zone are passed over."""
        assert load(tmp_path, **environ).timezone == zone

    def test_the_process_environment_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only the mapping that was given counts."""
        monkeypatch.setenv("LCM_MAX_ROUNDS", "3")
        monkeypatch.setenv("COMPACTION__MAX_ROUNDS", "4")

        assert load(tmp_path).compaction.max_rounds == 10

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            (
                "LCM_FRESH_TAIL_COUNT",
                "many",
                (
                    "The setting compaction.fresh_tail_count (LCM_FRESH_TAIL_COUNT) is not valid; "
                    "allowed is an integer from 0 to 100000."
                ),
            ),
            (
                "LCM_CONTEXT_THRESHOLD",
                "1.5",
                (
                    "The setting compaction.context_threshold (LCM_CONTEXT_THRESHOLD) is not valid; "
                    "allowed is a number from 0.01 to 1."
                ),
            ),
            (
                "LCM_STORAGE_BACKEND",
                "mysql",
                "The setting storage.backend (LCM_STORAGE_BACKEND) is not valid; allowed is one of sqlite, postgresql.",
            ),
            (
                "LCM_AUTOCOMPACT_DISABLED",
                "perhaps",
                (
                    "The setting compaction.autocompact_disabled (LCM_AUTOCOMPACT_DISABLED) is not valid; "
                    "allowed is true or false."
                ),
            ),
            (
                "LCM_TIMEZONE",
                "../etc/passwd",
                (
                    "The setting timezone (LCM_TIMEZONE) is not valid; "
                    "allowed is an IANA time zone such as Europe/Berlin, or UTC."
                ),
            ),
            (
                "LCM_HOME",
                "relative",
                "The setting home (LCM_HOME) is not valid; allowed is an absolute path, or one that starts with ~/.",
            ),
        ],
    )
    def test_a_bad_value_is_refused_with_what_is_allowed(
        self, tmp_path: Path, name: str, text: str, message: str
    ) -> None:
        """The error names the key, the variable and what is allowed."""
        assert refusal(tmp_path, **{name: text}) == message

    @pytest.mark.parametrize("text", ["nan", "inf", "-1", "0"])
    def test_a_share_must_be_a_share(self, tmp_path: Path, text: str) -> None:
        """No special float slips through the bounds."""
        assert "compaction.context_threshold" in refusal(tmp_path, LCM_CONTEXT_THRESHOLD=text)

    @pytest.mark.parametrize("url", ["ftp://host", "http://", "http://u:p@host", "http://host:99999", "host"])
    def test_a_base_url_must_be_plain_http(self, tmp_path: Path, url: str) -> None:
        """Other schemes and passwords in the address are refused."""
        assert "summarizer.base_url" in refusal(tmp_path, LCM_SUMMARY_BASE_URL=url)

    def test_a_bad_secret_is_not_echoed(self, tmp_path: Path) -> None:
        """Neither message nor traceback holds the refused secret."""
        with pytest.raises(InvalidSetting) as caught:
            load(tmp_path, LCM_SUMMARY_API_KEY=f"{SECRET}\x07x")

        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert caught.value.__context__ is None


class TestConfigFile:
    @pytest.mark.parametrize(
        ("document", "message"),
        [
            ([], "config.json must hold one JSON object."),
            ({"version": 2}, "config.json has an unknown version; this lcm reads version 1."),
            ({"version": True}, "config.json has an unknown version; this lcm reads version 1."),
            ({"storage": {"backend": 5}}, "The setting storage.backend in config.json is not valid; allowed is one of"),
            ({"log": {"level": "loud"}}, "The setting log.level in config.json is not valid; allowed is one of debug,"),
            ({"compaction": {"max_rounds": "9"}}, "The setting compaction.max_rounds in config.json is not valid;"),
            ({"compaction": {"max_rounds": True}}, "The setting compaction.max_rounds in config.json is not valid;"),
            ({"compaction": {"max_rounds": None}}, "The setting compaction.max_rounds in config.json is not valid;"),
            ({"storage": {"engine": "sqlite"}}, "There is no setting storage.engine; known are storage.backend,"),
            ({"storage.backend": "sqlite"}, "There is no setting storage.backend; known are storage.backend,"),
            ({"storage": 5}, "There is no setting storage; known are storage.backend,"),
            ({"nope": {}}, "There is no setting nope; known are home, timezone, log, storage, compaction,"),
            ({"home": "/x"}, "The setting home is not allowed in config.json; set the variable LCM_HOME."),
            (
                {"storage": {"postgresql": {"url": SECRET}}},
                "The setting storage.postgresql.url is not allowed in config.json; set the variable LCM_POSTGRES_URL.",
            ),
            (
                {"storage": {"postgresql": {"ca_file": "/x"}}},
                (
                    "The setting storage.postgresql.ca_file is not allowed in config.json; "
                    "set the variable LCM_POSTGRES_CA_FILE."
                ),
            ),
            (
                {"summarizer": {"api_key": SECRET}},
                "The setting summarizer.api_key is not allowed in config.json; set the variable LCM_SUMMARY_API_KEY.",
            ),
        ],
    )
    def test_what_is_not_allowed_is_refused(self, tmp_path: Path, document: object, message: str) -> None:
        """Unknown keys, wrong types, other versions and secrets are refused by name, never with a secret."""
        write_config(tmp_path, document)

        told = refusal(tmp_path)

        assert told.startswith(message)
        assert SECRET not in told

    @pytest.mark.parametrize(
        "text", ["", "{", '{"version": NaN}', "[" * 100_000, '{"log": {}}x', '{"a": "\\ud8', "\udcff"]
    )
    def test_damaged_json_is_refused(self, tmp_path: Path, text: str) -> None:
        """Broken, unbounded or non-UTF-8 JSON is one plain error."""
        (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))

        assert refusal(tmp_path) == "config.json is not valid JSON; correct it or move it away."

    def test_a_repeated_key_is_refused(self, tmp_path: Path) -> None:
        """Two values for one key are no choice for us to make."""
        (tmp_path / "config.json").write_text('{"log": {"level": "info", "level": "debug"}}')

        assert refusal(tmp_path) == "config.json has the same key twice in one section; keep one."

    def test_the_size_is_bounded(self, tmp_path: Path) -> None:
        """At most 4 MiB are read."""
        (tmp_path / "config.json").write_bytes(b"{}" + b" " * (4 * 1024 * 1024 - 2))
        assert load(tmp_path).timezone == "UTC"
        (tmp_path / "config.json").write_bytes(b"{}" + b" " * (4 * 1024 * 1024 - 1))

        assert refusal(tmp_path) == "config.json is larger than 4194304 bytes."

    def test_a_fifo_does_not_block(self, tmp_path: Path) -> None:
        """Only a regular file is read."""
        os.mkfifo(tmp_path / "config.json")

        assert refusal(tmp_path) == "config.json is not a regular file."

    def test_null_leaves_an_optional_setting_unset(self, tmp_path: Path) -> None:
        """What is unset by default may be null."""
        write_config(tmp_path, {"compaction": {"fresh_tail_max_tokens": None}})

        assert load(tmp_path).compaction.fresh_tail_max_tokens is None


class TestOverrides:
    def test_an_unknown_key_is_refused(self, tmp_path: Path) -> None:
        """A typing error in an override is told with the keys of its section."""
        told = refusal(tmp_path, {"log.threshold": "info"})

        assert told == "There is no setting log.threshold; known are log.level."

    @pytest.mark.parametrize("value", [True, 1.5, [1], object()])
    def test_a_wrong_type_is_refused(self, tmp_path: Path, value: object) -> None:
        """A boolean is no integer, and a list is nothing."""
        assert refusal(tmp_path, {"compaction.max_rounds": value}) == (
            "The setting compaction.max_rounds is not valid; allowed is an integer from 1 to 1000."
        )


class TestStorage:
    def test_postgresql_takes_url_and_authority_from_the_environment(self, tmp_path: Path) -> None:
        """The backend may be chosen in the file; URL and CA file come from variables, and the repr hides the URL."""
        write_config(tmp_path, {"version": 1, "storage": {"backend": "postgresql"}})

        settings = load(tmp_path, **{k: v for k, v in POSTGRES.items() if k != "LCM_STORAGE_BACKEND"})

        assert settings.storage == PostgresStorage(url=POSTGRES["LCM_POSTGRES_URL"], ca_file=Path("/etc/ssl/db.pem"))
        assert SECRET not in repr(settings)

    @pytest.mark.parametrize("missing", ["LCM_POSTGRES_URL", "LCM_POSTGRES_CA_FILE"])
    def test_postgresql_without_its_variables_is_refused(self, tmp_path: Path, missing: str) -> None:
        """There is no fallback: what is missing is told."""
        assert refusal(tmp_path, **{**POSTGRES, missing: ""}) == (
            "The backend postgresql needs the variables LCM_POSTGRES_URL and LCM_POSTGRES_CA_FILE."
        )

    @pytest.mark.parametrize(
        "url",
        [
            "postgres://u:p@h/d",
            "postgresql://u@h/d",
            "postgresql://:p@h/d",
            "postgresql://u:p@/d",
            "postgresql://u:p@h/",
            "postgresql://u:p@h",
            "postgresql://u:p@h/d?sslmode=disable",
            "postgresql://u:p@h/d?",
            "postgresql://u:p@h/d#x",
            "postgresql://u:p@h/d/e",
            "postgresql://u:p@h:99999/d",
            "postgresql://u:p@[h/d",
        ],
    )
    def test_a_weak_url_is_refused_without_an_echo(self, tmp_path: Path, url: str) -> None:
        """User, password, host and database are required; query and fragment are refused."""
        assert refusal(tmp_path, **{**POSTGRES, "LCM_POSTGRES_URL": url}) == (
            "The setting storage.postgresql.url (LCM_POSTGRES_URL) must be "
            "postgresql://user:password@host[:port]/database, without query and fragment."
        )

    def test_sqlite_ignores_the_postgresql_variables(self, tmp_path: Path) -> None:
        """Variables alone do not choose a backend."""
        environ = {**POSTGRES, "LCM_STORAGE_BACKEND": "sqlite", "LCM_POSTGRES_URL": "not a url"}

        assert load(tmp_path, **environ).storage == SqliteStorage(projects_dir=tmp_path / "projects")

    def test_the_api_key_is_not_in_the_repr(self, tmp_path: Path) -> None:
        """Printing settings prints no secret."""
        assert SECRET not in repr(load(tmp_path, LCM_SUMMARY_API_KEY=SECRET))


class TestSetInFile:
    def test_the_value_is_kept_by_type_beside_the_others(self, tmp_path: Path) -> None:
        """A number is stored as a number, other keys stay, and the file is private."""
        write_config(tmp_path, {"version": 1, "log": {"level": "info"}, "compaction": {"max_rounds": 4}})

        set_in_file(tmp_path, "compaction.fresh_tail_count", "16", write=write_private)

        assert json.loads((tmp_path / "config.json").read_text()) == {
            "version": 1,
            "log": {"level": "info"},
            "compaction": {"max_rounds": 4, "fresh_tail_count": 16},
        }
        assert (tmp_path / "config.json").stat().st_mode & 0o777 == 0o600

    def test_the_home_and_the_file_are_made(self, tmp_path: Path) -> None:
        """The first setting makes a private home and a file of version 1."""
        home = tmp_path / "home"

        set_in_file(home, "compaction.autocompact_disabled", "yes", write=write_private)

        assert json.loads((home / "config.json").read_text()) == {
            "version": 1,
            "compaction": {"autocompact_disabled": True},
        }
        assert home.stat().st_mode & 0o777 == 0o700

    def test_an_empty_text_unsets_an_optional_setting(self, tmp_path: Path) -> None:
        """What is unset by default can be unset again."""
        set_in_file(tmp_path, "compaction.fresh_tail_max_tokens", "500", write=write_private)
        set_in_file(tmp_path, "compaction.fresh_tail_max_tokens", "", write=write_private)

        assert load(tmp_path).compaction.fresh_tail_max_tokens is None

    def test_a_broken_value_can_be_corrected(self, tmp_path: Path) -> None:
        """The result is validated, not the file before it."""
        write_config(tmp_path, {"version": 1, "log": {"level": 5}})

        set_in_file(tmp_path, "log.level", "info", write=write_private)

        assert load(tmp_path).log.level == "info"

    @pytest.mark.parametrize(
        ("key", "raw"),
        [
            ("log.level", "loud"),
            ("log.threshold", "info"),
            ("summarizer.api_key", SECRET),
            ("storage.postgresql.url", SECRET),
            ("home", "/x"),
            ("compaction.max_rounds", ""),
            ("import.claude_dir", "/x\udcff"),
        ],
    )
    def test_what_is_not_allowed_is_not_written(self, tmp_path: Path, key: str, raw: str) -> None:
        """Unknown and environment-only keys and bad values leave no file and echo no value."""
        with pytest.raises(InvalidInput) as caught:
            set_in_file(tmp_path, key, raw, write=write_private)

        assert SECRET not in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    def test_another_bad_key_in_the_file_is_told(self, tmp_path: Path) -> None:
        """The whole result must be valid; the file stays as it was."""
        write_config(tmp_path, {"version": 1, "nope": 1})
        before = (tmp_path / "config.json").read_bytes()

        with pytest.raises(InvalidSetting, match="There is no setting nope"):
            set_in_file(tmp_path, "log.level", "info", write=write_private)

        assert (tmp_path / "config.json").read_bytes() == before


class TestImport:
    def test_the_model_is_cheap_to_import(self) -> None:
        """Who only needs the types does not load pydantic."""
        code = "import sys, lcm.settings.model, lcm.settings.describe; print('pydantic' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert done.stdout == "False\n"
