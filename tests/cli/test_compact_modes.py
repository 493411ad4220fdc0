"""`lcm compact` as a process: until under a target, replay, repair, limits, and projects that cannot be read."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.model_server import ModelAnswer, ModelRequest, ModelServer, fails, never_answers, says
from tests.transcript_factory import make_claude_session

#: Chunks so small that each session needs several passes.
CHUNKS = {"LCM_LEAF_CHUNK_TOKENS": "300"}
#: Chunks of which a truncation still saves enough to be kept.
WIDE_CHUNKS = {"LCM_LEAF_CHUNK_TOKENS": "1200"}
SESSIONS = tuple(f"5e551011-0000-4000-8000-00000000000{number}" for number in range(1, 5))


@pytest.fixture
def sessions(cli: Cli, tmp_path: Path) -> Cli:
    """Four sessions of 32 messages, one after the other in time."""
    for number, session_id in enumerate(SESSIONS):
        make_claude_session(
            tmp_path / "t" / f"{number}.jsonl",
            turns=8,
            session_id=session_id,
            first=1 + 100 * number,
            cwd=str(cli.folder),
            padding="x " * 100,
        )
    assert cli("import", tmp_path / "t").code == 0
    return Cli(cli.home, cli.folder, CHUNKS)


def with_model(cli: Cli, server: ModelServer) -> Cli:
    model = {
        "LCM_SUMMARY_PROVIDER": "litellm",
        "LCM_SUMMARY_MODEL": "openai/gpt-x",
        "LCM_SUMMARY_BASE_URL": server.openai_url,
        "LCM_SUMMARY_API_KEY": "sk-planted",
        "LCM_SUMMARY_MAX_ATTEMPTS": "1",
    }
    return Cli(cli.home, cli.folder, {**cli.env, **model})


class _Limited:
    """Numbers its answers; after so many it says what is scripted, and `is_reached` is set."""

    def __init__(self, answers: int, then: ModelAnswer) -> None:
        self.is_reached = threading.Event()
        self._left = answers
        self._then = then

    def __call__(self, _request: ModelRequest) -> ModelAnswer:
        if self._left == 0:
            self.is_reached.set()
            return self._then
        self._left -= 1
        return says(f"Answer {self._left} left.")


class TestReplay:
    def test_a_usage_limit_costs_nothing_that_is_stored(self, sessions: Cli) -> None:
        """The provider refuses in the second session; the next run goes on there, one call for each summary."""
        with ModelServer() as server:
            cli = with_model(sessions, server)
            whole = cli("compact", "--replay", "--dry-run", "--json").json["conversations"]
            server.answer(_Limited(5, fails(429, error="usage limit")))
            stopped = cli("compact", "--replay", "--json")
            before = len(server.requests)
            server.answer(lambda _request: says("Later."))
            resumed = cli("compact", "--replay", "--json")

        assert [each["is_due"] for each in whole] == [True] * 4
        assert (stopped.code, resumed.code) == (1, 0)
        reasons = [each["stop_reason"] for each in stopped.json["conversations"]]
        assert reasons[-1] == "not_tried"
        assert reasons.count("summarizer_unavailable") == 1
        assert stopped.json["projects"][0]["failed"] == 1
        made = sum(each["summaries_created"] for run in (stopped, resumed) for each in run.json["conversations"])
        assert before == 6
        assert len(server.requests) == made + 1
        assert cli("stats", "--json").json["summaries"] == made
        assert "Answer 0 left." in server.requests[before].prompt
        assert cli("verify").code == 0

    def test_killed_it_goes_on_where_it_was(self, sessions: Cli) -> None:
        """SIGKILL during a call: what was stored is not asked for again, the open call stays in the ledger."""
        with ModelServer() as server:
            cli = with_model(sessions, server)
            silence = _Limited(4, never_answers())
            server.answer(silence)
            with cli.started("compact", "--replay") as running:
                assert silence.is_reached.wait(timeout=120)
                running.send_signal(signal.SIGKILL)
                running.communicate(timeout=60)
            stored = cli("stats", "--json").json["summaries"]
            server.answer(lambda _request: says("Later."))
            before = len(server.requests)
            resumed = cli("compact", "--replay", "--json")

        made = sum(each["summaries_created"] for each in resumed.json["conversations"])
        assert (stored, before, resumed.code) == (4, 5, 0)
        assert len(server.requests) - before == made
        assert cli("stats", "--json").json["summaries"] == stored + made
        assert cli("verify").code == 0


class TestUntilUnder:
    def test_stops_under_the_target(self, sessions: Cli) -> None:
        """The protected messages are as many as configured, not the eight of a compaction by hand."""
        cli = Cli(sessions.home, sessions.folder, {**CHUNKS, "LCM_FRESH_TAIL_COUNT": "4"})

        found = cli("compact", "--until-under", "1000", "--session", SESSIONS[0], "--json").json["conversations"]

        assert [each["stop_reason"] for each in found] == ["target_reached"]
        assert found[0]["tokens_after"] < 1000 <= found[0]["tokens_before"]
        assert cli("verify").code == 0

    def test_an_impossible_target_is_told(self, sessions: Cli) -> None:
        """The 32 newest messages stay."""
        found = sessions("compact", "--until-under", "10", "--conversation", "1", "--json").json["conversations"]

        assert [(each["stop_reason"], each["action_taken"]) for each in found] == [("tail_over_target", False)]


class TestLimits:
    def test_passes_of_the_whole_run(self, sessions: Cli) -> None:
        """One pass is made over all four conversations; the next run goes on."""
        found = sessions("compact", "--max-passes", "1", "--json")
        results = found.json["conversations"]

        assert (found.code, sum(each["passes"] for each in results)) == (0, 1)
        assert [each["stop_reason"] for each in results] == ["pass_limit", "not_tried", "not_tried", "not_tried"]
        assert found.json["projects"][0]["skipped"] == 3

    def test_small_contexts(self, sessions: Cli) -> None:
        """None has a million tokens."""
        found = sessions("compact", "--min-tokens", "1000000", "--json").json

        assert {each["stop_reason"] for each in found["conversations"]} == {"below_min_tokens"}
        assert (
            sessions("compact", "--min-tokens", "1000000").out
            == "4 conversations with fewer tokens than --min-tokens.\n"
        )

    def test_several_at_once_do_the_same(self, sessions: Cli) -> None:
        """Every conversation is done, and the store is whole."""
        found = sessions("compact", "--max-concurrency", "4", "--json").json["conversations"]

        assert [each["stop_reason"] for each in found] == ["done"] * 4
        assert sessions("verify").code == 0


class TestRepair:
    def test_a_truncated_summary_is_written_again(self, sessions: Cli) -> None:
        """A useless model leaves truncations; a good one replaces them in place, and search finds the new text only."""
        with ModelServer(lambda request: says(request.prompt * 2)) as server:
            cli = with_model(Cli(sessions.home, sessions.folder, WIDE_CHUNKS), server)
            assert cli("compact", "--conversation", "1").code == 0
            shown = cli("context", "1", "--json").json
            server.answer(lambda _request: says("The albatross was repaired."))
            repaired = cli("compact", "--repair", "--conversation", "1", "--json").json["conversations"][0]
            again = cli("compact", "--repair", "--json").json["conversations"]

        after = cli("context", "1", "--json").json
        assert repaired["summaries_created"] > 0
        assert after["items_total"] == shown["items_total"]
        assert after["token_count"] < shown["token_count"]
        assert {each["stop_reason"] for each in again} == {"nothing_to_compact"}
        hits = cli("search", "albatross", "--json").json["hits"]
        assert {hit["kind"] for hit in hits} == {"summary"}
        assert cli("verify").code == 0


class TestUnreadableProject:
    def test_the_others_go_on(self, sessions: Cli, tmp_path: Path) -> None:
        """A damaged project is a failure with a line of its own, exit code 1, and the rest is compacted."""
        (tmp_path / "other").mkdir()
        path = make_claude_session(tmp_path / "o" / "s.jsonl", session_id="other", cwd=str(tmp_path / "other"))
        known = set((sessions.home / "projects").glob("*/db.sqlite"))
        assert sessions("import", path).code == 0
        (damaged,) = set((sessions.home / "projects").glob("*/db.sqlite")) - known
        damaged.write_bytes(b"not a database" * 100)

        run = sessions("compact", "--project", "all", "--json")

        assert run.code == 1
        assert [each["stop_reason"] for each in run.json["conversations"]] == ["done"] * 4
        assert [each["failed"] for each in run.json["projects"]] == [0, 1]
        assert run.error != ""


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--replay", "--repair"), "Give one of --until-under, --replay and --repair."),
            (
                ("--replay", "--session", "x"),
                "--replay goes through whole projects; leave --conversation and --session",
            ),
            (("--max-concurrency", "33"), "give a whole number from 1 to 32."),
            (("--until-under", "0"), "give a whole number from 1 to"),
            (("--max-cost", "-1"), "give an amount from 0.000001 to 1000000, such as 0.50."),
            (("--max-cost", "nan"), "give an amount from"),
            (("--timeout", "9" * 5000), "give a whole number from 1 to 604800."),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, cli: Cli, options: tuple[str, ...], sentence: str) -> None:
        """Exit code 2 and one sentence that says what is allowed."""
        run = cli.inside("compact", *options)

        assert run.code == 2
        assert sentence in run.err
