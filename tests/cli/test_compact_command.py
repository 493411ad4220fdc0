"""`lcm compact` as a process: its JSON, a provider that fails, and interrupts that are drained."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.engine.sessions import SESSION
from tests.model_server import ModelAnswer, ModelRequest, ModelServer, fails, never_answers, says
from tests.transcript_factory import make_claude_session

KEY = "sk-planted-provider-key"
#: Chunks so small that the session needs several passes.
SMALL = {"LCM_LEAF_CHUNK_TOKENS": "600", "LCM_SUMMARY_MAX_ATTEMPTS": "1"}


@pytest.fixture
def imported(cli: Cli, tmp_path: Path) -> Cli:
    """One session of 60 messages, not yet compacted."""
    path = make_claude_session(tmp_path / "t" / "s.jsonl", turns=15, cwd=str(cli.folder), padding="x " * 100)
    assert cli("import", path).code == 0
    return cli


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda _request: says("The login was repaired.")) as running:
        yield running


def with_model(cli: Cli, server: ModelServer) -> Cli:
    model = {
        "LCM_SUMMARY_PROVIDER": "litellm",
        "LCM_SUMMARY_MODEL": "openai/gpt-x",
        "LCM_SUMMARY_BASE_URL": server.openai_url,
        "LCM_SUMMARY_API_KEY": KEY,
    }
    return Cli(cli.home, cli.folder, {**model, **SMALL})


class TestCompact:
    def test_tells_every_documented_figure(self, imported: Cli) -> None:
        """One pass makes one summary; a second run has nothing to do."""
        (found,) = imported("compact", "--json").json["conversations"]
        (again,) = imported("compact", "--json").json["conversations"]

        assert list(found)[:10] == [
            "conversation_id",
            "project_id",
            "action_taken",
            "stop_reason",
            "summaries_created",
            "passes",
            "tokens_before",
            "tokens_after",
            "model_calls",
            "cost",
        ]
        assert (found["action_taken"], found["stop_reason"], found["summaries_created"]) == (True, "done", 1)
        assert found["tokens_after"] < found["tokens_before"]
        assert (again["action_taken"], again["stop_reason"], again["passes"]) == (False, "nothing_to_compact", 0)

    def test_a_dry_run_calls_no_model_and_changes_nothing(self, imported: Cli, server: ModelServer) -> None:
        """The plan is told; the database is byte for byte what it was."""
        before = imported.database.read_bytes()
        found = with_model(imported, server)("compact", "--dry-run", "--json").json

        assert found["dry_run"] is True
        assert found["conversations"][0]["leaf_messages"] == 52
        assert server.requests == []
        assert imported.database.read_bytes() == before

    @pytest.mark.parametrize(
        "choice", [("--conversation", "1"), ("--session", SESSION), ("--session", SESSION[:6]), ("--all",)]
    )
    def test_a_choice_of_conversations(self, imported: Cli, choice: tuple[str, ...]) -> None:
        """By id, by session, by the beginning of a session, or all."""
        found = imported("compact", *choice, "--dry-run", "--json").json["conversations"]

        assert [each["conversation_id"] for each in found] == [1]

    def test_two_choices_are_refused(self, cli: Cli) -> None:
        """Only one of the three options makes sense."""
        run = cli("compact", "--all", "--session", "x")

        assert run.code == 2
        assert run.error == "Give one of --conversation, --session and --all. See `lcm compact --help`."

    def test_an_unknown_session_is_an_error(self, imported: Cli) -> None:
        """A session that is not there is no silent success, on a fresh home neither."""
        run = imported("compact", "--session", "nobody")

        assert (run.code, run.error) == (
            1,
            "No such conversation in this project; list them with `lcm conversations`.",
        )


class TestProvider:
    def test_a_failing_provider_is_one_line_without_its_key(self, imported: Cli, server: ModelServer) -> None:
        """Exit code 1, the result in JSON, and neither address nor key in any output."""
        server.answer(lambda _request: fails(401, error=f"the key {KEY} is wrong"))
        run = with_model(imported, server)("compact", "--json")

        assert (run.code, run.json["conversations"][0]["stop_reason"]) == (1, "summarizer_unavailable")
        assert run.error != ""
        assert KEY not in run.out + run.err
        assert server.url not in run.out + run.err


class _OneThenSilence:
    """Answers the first request; `is_asked_again` is set by the second, which gets no answer."""

    def __init__(self) -> None:
        self.is_asked_again = threading.Event()
        self._count = 0

    def __call__(self, _request: ModelRequest) -> ModelAnswer:
        self._count += 1
        if self._count == 1:
            return says("The login was repaired.")
        self.is_asked_again.set()
        return never_answers()


class TestInterrupt:
    @pytest.mark.parametrize(
        ("sent", "code", "said"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Stopped")]
    )
    def test_keeps_what_was_stored_and_a_second_run_goes_on(
        self, imported: Cli, server: ModelServer, sent: signal.Signals, code: int, said: str
    ) -> None:
        """The first pass stays, the running call is given up, and the next run makes the rest."""
        script = _OneThenSilence()
        server.answer(script)
        cli = with_model(imported, server)
        with cli.started("compact", "--json") as running:
            assert script.is_asked_again.wait(timeout=120)
            running.send_signal(sent)
            out, err = running.communicate(timeout=60)

        assert (running.returncode, out) == (code, "")
        assert err == f"lcm: {said}; what was stored is kept, and running the command again goes on.\n"
        assert cli("stats", "--json").json["summaries"] == 1
        server.answer(lambda _request: says("The rest was repaired too."))
        (rest,) = cli("compact", "--json").json["conversations"]
        assert rest["stop_reason"] in ("done", "no_progress")
        assert rest["summaries_created"] > 0
        assert cli("verify", "--json").json["ok"] is True
