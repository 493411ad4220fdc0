"""`lcm context`: showing, excluding, putting back and the record, as processes see them."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import SECRET, Cli


def changed(cli: Cli, *args: str) -> dict[str, object]:
    run = cli.inside("context", *args, "--json")
    assert (run.code, run.err) == (0, "")
    return run.json


class TestShow:
    def test_an_id_alone_shows(self, filled: Cli) -> None:
        """With its options before or behind it, and the same under its own name."""
        shown = filled.inside("context", "show", "1", "--json").out

        assert filled.inside("context", "1", "--json").out == shown
        assert filled.inside("context", "--json", "1").out == shown
        assert json.loads(shown)["items_total"] == 9

    def test_help_names_both(self, filled: Cli) -> None:
        """The group tells of its commands, an id with --help of the options of showing."""
        assert "exclude" in filled.inside("context", "--help").out
        assert "--budget" in filled.inside("context", "1", "--help").out

    def test_without_an_id_it_is_missing(self, filled: Cli) -> None:
        """One line that tells where help is, exit code 2."""
        run = filled.inside("context")

        assert run.code == 2
        assert run.error == "Missing argument 'ID'. See `lcm context show --help`."


class TestExcludeAndInclude:
    def test_there_and_back(self, stored: Cli) -> None:
        """The message leaves the context, `verify` stays clean, the record tells both, and it comes back."""
        before = stored.inside("context", "1", "--json").json
        out = changed(stored, "exclude", "1:59", "--reason", f"wrong; {SECRET}")

        assert out["messages"] == [{"id": "1:59", "is_partner": False}]
        assert (out["action"], out["reason"], out["still_shown_in"]) == ("exclude", "wrong; [REDACTED]", [])
        without = stored.inside("context", "1", "--json").json
        assert without["items_total"] == before["items_total"] - 1
        assert without["token_count"] == out["context_tokens"]
        assert stored.inside("verify").code == 0
        assert stored.inside("describe", "1:59", "--json").json["message"]["exclusion"] == "audited"

        back = changed(stored, "include", "1:59", "--reason", "right after all")
        assert (back["action"], back["context_tokens"]) == ("include", before["token_count"])
        assert stored.inside("context", "1", "--json").json == before
        audits = stored.inside("context", "log", "1:59", "--json").json["audits"]
        assert [(each["action"], each["message"], each["exclusion_before"]) for each in audits] == [
            ("exclude", "1:59", None),
            ("include", "1:59", "audited"),
        ]
        assert stored.inside("verify").code == 0

    def test_a_tool_call_takes_its_result_along(self, stored: Cli) -> None:
        """Both are named, and that one went with the other."""
        run = stored.inside("context", "exclude", "1:57", "--reason", "loop")

        assert run.code == 0
        lines = run.out.splitlines()
        assert [line.split()[:3] for line in lines] == [["out", "1:57", "assistant"], ["out", "1:58", "tool"]]
        assert lines[1].endswith("with it, as the other half of a tool call")
        assert run.err.startswith("The context of conversation 1 has ")

    @pytest.mark.parametrize(
        ("args", "code", "sentence"),
        [
            (("exclude", "1:0", "--reason", "x"), 1, "Message 1:0 was compacted: sum_"),
            (("exclude", "1", "--reason", "x"), 1, "Name a message, such as 3:17"),
            (("exclude", "1:99", "--reason", "x"), 1, "No such message in this conversation."),
            (("exclude", "1:59", "--reason", " "), 1, "Give a reason of at most 1000 characters"),
            (("exclude", "1:59", "--reason", "x", "--conversation", "9"), 1, "No such conversation"),
            (("include", "1:59", "--reason", "x"), 1, "Message 1:59 is in the context already"),
            (("exclude", "1:59"), 2, "Missing option '--reason'"),
        ],
    )
    def test_what_is_refused_is_told_in_one_line(
        self, filled: Cli, args: tuple[str, ...], code: int, sentence: str
    ) -> None:
        """Nothing is written, and a person learns what to do instead."""
        run = filled.inside("context", *args)

        assert run.code == code
        assert run.error.startswith(sentence)
        assert filled.inside("context", "log", "--json").json == {"audits": []}

    def test_a_summary_is_refused(self, filled: Cli) -> None:
        """With the command that opens it."""
        found = filled.inside("context", "1", "--json").json["messages"][0]["ref"]["summary_id"]
        run = filled.inside("context", "exclude", found, "--reason", "x")

        assert run.code == 1
        assert f"`lcm expand {found}`" in run.error


class TestLog:
    def test_is_empty_at_first(self, filled: Cli) -> None:
        """It says so on standard error."""
        run = filled.inside("context", "log")

        assert (run.code, run.out) == (0, "")
        assert run.err == "Nothing was excluded or put back by hand.\n"

    def test_tells_when_what_and_why(self, stored: Cli) -> None:
        """A line for each message, of the project or of one conversation."""
        changed(stored, "exclude", "1:57", "--reason", "loop")
        head, *rows = stored.inside("context", "log", "1").out.splitlines()

        assert head.split() == ["time", "action", "message", "context", "role", "reason"]
        assert [row.split()[-5:] for row in rows] == [
            ["exclude", "1:57", "1", "assistant", "loop"],
            ["exclude", "1:58", "1", "tool", "loop"],
        ]
        assert stored.inside("context", "log").out.splitlines() == [head, *rows]
