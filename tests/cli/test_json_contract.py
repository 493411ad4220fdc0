"""The documented JSON of every command, on one imported and compacted session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SECRET, Cli
from tests.engine.sessions import SESSION

FIRST_AT, LAST_AT = "2026-02-17T07:37:01Z", "2026-02-17T07:38:00Z"


def summary_id(cli: Cli) -> str:
    """The only summary of the filled store."""
    hits = cli.inside("grep", "login", "--scope", "summaries", "--json").json["hits"]
    return str(hits[0]["id"])


class TestConversations:
    def test_tells_the_figures_of_each(self, filled: Cli) -> None:
        """`conversations --json` has one entry with ids, figures and times."""
        (found,) = filled.inside("conversations", "--json").json["conversations"]

        assert found["conversation_id"] == 1
        assert (found["session_id"], found["client"], found["relation"]) == (SESSION, "claude", "root")
        assert (found["messages"], found["summaries"], found["max_depth"], found["raw_context_items"]) == (60, 1, 0, 8)
        assert (found["title"], found["first_at"], found["last_at"]) == ("Fix the login page", FIRST_AT, LAST_AT)

    @pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "Antarctica/Troll"])
    def test_times_do_not_depend_on_the_zone(self, filled: Cli, zone: str) -> None:
        """Times in JSON are UTC, whatever TZ says."""
        (found,) = filled("conversations", "--json", TZ=zone).json["conversations"]

        assert (found["first_at"], found["last_at"]) == (FIRST_AT, LAST_AT)


class TestContext:
    def test_holds_the_summary_and_the_fresh_tail(self, filled: Cli) -> None:
        """The default budget of 200,000 tokens has room for everything: one summary and eight messages."""
        found = filled.inside("context", "1", "--format", "json").json

        assert (found["budget"], found["over_budget"], found["items_total"], found["items_included"]) == (
            200_000,
            False,
            9,
            9,
        )
        assert found["messages"][0]["ref"] == {"summary_id": summary_id(filled)}
        assert found["messages"][-1] == {
            "role": "assistant",
            "content": [{"type": "text", "text": "Answer 14: the cookie was not set."}],
            "ref": {"messages": ["1:59"]},
        }

    def test_a_tail_over_the_budget_is_printed(self, filled: Cli) -> None:
        """With a budget of one token the newest messages are there all the same, and the answer says so."""
        run = filled.inside("context", SESSION, "--budget", "1", "--json")

        assert run.code == 0
        assert run.json["over_budget"] is True
        assert run.json["items_included"] == 8

    def test_xml_is_the_default_and_json_the_same_as_the_format(self, filled: Cli) -> None:
        """Without options the context is one XML element, with --json the object of --format json."""
        assert filled.inside("context", "1").out.startswith('<context conversation_id="1"')
        assert filled.inside("context", "1", "--json").json == filled.inside("context", "1", "--format", "json").json


class TestSearch:
    def test_hits_have_ids_that_describe_takes(self, filled: Cli) -> None:
        """A hit names its message as conversation and sequence, with a relevance of 0 to 1."""
        found = filled.inside("search", '"Answer 3"', "--json").json
        hit = found["hits"][0]

        assert (hit["kind"], hit["id"], hit["role"], hit["session_id"]) == ("message", "1:15", "assistant", SESSION)
        assert hit["snippet"] == "Answer 3: the cookie was not set."
        assert 0 < hit["relevance"] <= 1
        assert found["scope"] == ["messages and summaries of project work"]
        assert found["complete"] is True


class TestGrep:
    def test_newest_first_with_the_count_of_all(self, filled: Cli) -> None:
        """Fifteen answers match; the limit cuts the hits, not the count."""
        found = filled.inside("grep", "cookie was not", "--scope", "messages", "--limit", "2", "--json").json

        assert [hit["id"] for hit in found["hits"]] == ["1:59", "1:55"]
        assert found["match_count"] == 15
        assert found["complete"] is True

    def test_a_regular_expression_since_a_time(self, filled: Cli) -> None:
        """Only the messages at or after the given moment are found; a time without zone is UTC in every zone."""
        arguments = ("grep", r"^Answer \d+", "--mode", "regex", "--scope", "messages", "--json")
        found = filled(*arguments, "--since", "2026-02-17T07:37:56", TZ="America/New_York").json

        assert [hit["id"] for hit in found["hits"]] == ["1:59", "1:55"]


class TestDescribe:
    def test_a_summary_tells_what_it_was_made_from(self, filled: Cli) -> None:
        """The leaf covers the first 52 messages."""
        found = filled.inside("describe", summary_id(filled), "--json").json

        assert (found["kind"], found["summary"]["kind"], found["summary"]["depth"]) == ("summary", "leaf", 0)
        assert (found["summary"]["origin"], found["summary"]["level"]) == ("extractive", "normal")
        assert found["message_ids"] == [f"1:{seq}" for seq in range(52)]

    def test_a_message_tells_its_parts(self, filled: Cli) -> None:
        """The second message is a tool call."""
        found = filled.inside("describe", "1:1", "--json").json

        assert (found["kind"], found["message"]["role"], found["message"]["seq"]) == ("message", "assistant", 1)
        assert [(part["part_type"], part["tool_name"]) for part in found["parts"]] == [("tool_call", "Bash")]

    def test_a_conversation_by_the_beginning_of_its_session(self, filled: Cli) -> None:
        """Eight characters of a session id name its conversation."""
        found = filled.inside("describe", SESSION[:8], "--json").json

        assert (found["kind"], found["overview"]["conversation"]["session_id"]) == ("conversation", SESSION)


class TestExpand:
    def test_a_leaf_opens_to_its_messages(self, filled: Cli) -> None:
        """With --messages, the 52 source messages come whole and in order."""
        wanted = summary_id(filled)
        found = filled.inside("expand", wanted, "--messages", "--json").json
        (opened,) = found["expansions"]

        assert sorted(found) == ["cited_ids", "expansions", "project_id", "total_tokens", "truncated"]
        assert (opened["summary_id"], opened["children"], found["cited_ids"]) == (wanted, [], [wanted])
        assert [message["seq"] for message in opened["messages"]] == list(range(52))

    def test_a_token_cap_and_a_tree(self, filled: Cli) -> None:
        """The cap stops the answer and says so; --nested adds the tree."""
        found = filled.inside(
            "expand", summary_id(filled), "--messages", "--nested", "--token-cap", "100", "--json"
        ).json

        assert found["truncated"] is True
        assert found["total_tokens"] <= 100
        assert found["tree"]["summary_id"] == summary_id(filled)


class TestStats:
    def test_sums_over_the_project(self, filled: Cli) -> None:
        """Every secret of the thirty padded texts was replaced and counted."""
        found = filled.inside("stats", "--json").json

        assert (found["conversations"], found["messages"], found["parts"]) == (1, 60, 60)
        assert (found["summaries"], found["max_depth"], found["large_files"]) == (1, 0, 0)
        assert found["context_tokens"] < found["raw_tokens"]
        assert found["redactions"] == {"built_in": 30}

    def test_no_secret_is_in_the_store(self, filled: Cli) -> None:
        """The planted token is in no file of the home."""
        files = [path for path in filled.home.rglob("*") if path.is_file()]

        assert files != []
        assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []


class TestVerify:
    def test_proves_the_store(self, filled: Cli) -> None:
        """All is well, with a digest of the content and what was checked."""
        run = filled.inside("verify", "--json")
        found = run.json

        assert (run.code, found["ok"], found["faults"]) == (0, True, [])
        assert (found["checked"]["messages"], found["checked"]["summaries"]) == (60, 1)
        assert len(found["content_digest"]) == 64

    def test_a_lost_message_is_a_fault_with_exit_code_1(self, stored: Cli, edit_database: Any) -> None:
        """An item of the context that is gone is told by kind, object, finding and remedy."""
        edit_database(
            stored.database, "DELETE FROM context_items WHERE message_id = (SELECT max(message_id) FROM messages)"
        )
        run = stored.inside("verify", "--json")

        assert (run.code, run.json["ok"]) == (1, False)
        assert sorted(run.json["faults"][0]) == ["finding", "kind", "object", "remedy"]
        assert run.error == "1 fault found; each is listed with what to do."


class TestSchemaCommands:
    def test_nothing_is_pending_after_an_import(self, filled: Cli) -> None:
        """`migrate` in all its forms finds nothing to do."""
        name = filled.database.parent.name

        assert filled.inside("migrate", "--json").json == {"projects": [{"project": name, "applied": []}]}
        assert filled.inside("migrate", "--plan", "--json").json == {"projects": [{"project": name, "pending": []}]}
        assert filled.inside("migrate", "--sql", "--json").json == {"projects": [{"project": name, "sql": ""}]}
        assert filled.inside("migrate", "--check").code == 0

    def test_a_clean_schema(self, filled: Cli) -> None:
        """`verify-schema` says ok with the project's folder."""
        name, root = filled.database.parent.name, str(filled.folder)

        assert filled.inside("verify-schema", "--json").json == {
            "ok": True,
            "projects": [{"project": name, "root": root, "ok": True, "findings": []}],
        }

    def test_drift_has_exit_code_1(self, stored: Cli, edit_database: Any) -> None:
        """An index that is missing is one finding with its remedy."""
        edit_database(stored.database, "CREATE INDEX stray ON messages (role)")
        run = stored.inside("verify-schema", "--json")

        assert (run.code, run.json["ok"]) == (1, False)
        assert run.json["projects"][0]["findings"][0]["object"] == "stray"
        assert run.error == "1 difference found; each is listed with what to do."


class TestConfig:
    def test_a_value_is_set_shown_and_unset(self, cli: Cli) -> None:
        """What was set is in effect and comes from the file."""
        assert cli.inside("config", "set", "compaction.max_rounds", "7").code == 0
        assert cli.inside("config", "get", "compaction.max_rounds").out == "7\n"
        shown = cli.inside("config", "show", "--json").json["settings"]

        assert [(each["key"], each["value"]) for each in shown if each["origin"] == "file"] == [
            ("compaction.max_rounds", 7)
        ]

    def test_the_environment_wins_and_secrets_are_masked(self, cli: Cli) -> None:
        """The key of the provider is shown as asterisks in every view."""
        secret = {"LCM_SUMMARY_API_KEY": "sk-very-secret"}
        shown = cli("config", "show", "--effective", "--json", **secret)
        (key,) = [each for each in shown.json["settings"] if each["key"] == "summarizer.api_key"]

        assert (key["value"], key["origin"]) == ("********", "environment")
        assert "sk-very-secret" not in shown.out + cli("config", "show", **secret).out
        assert cli("config", "get", "summarizer.api_key", **secret).out == "********\n"

    def test_get_as_json(self, cli: Cli) -> None:
        """A flag is true or false, in JSON and in text as `config set` takes it."""
        key = "compaction.autocompact_disabled"

        assert cli.inside("config", "get", key, "--json").json == {"key": key, "value": False}
        assert cli.inside("config", "get", key).out == "false\n"


class TestSensitive:
    def test_patterns_are_added_listed_and_removed(self, cli: Cli) -> None:
        """A global and a project pattern stand in their own lists."""
        assert cli.inside("sensitive", "add", r"ACME-\d+").code == 0
        assert cli.inside("sensitive", "add", "--global", r"CORP-\d+").code == 0
        listed = cli.inside("sensitive", "list", "--json").json
        assert cli.inside("sensitive", "remove", r"ACME-\d+").code == 0

        assert sorted(listed) == ["built_in", "global", "project"]
        assert (listed["global"], listed["project"]) == ([r"CORP-\d+"], [r"ACME-\d+"])
        assert cli.inside("sensitive", "list", "--json").json["project"] == []

    def test_a_pattern_applies_to_the_next_import(self, cli: Cli, transcript: Path) -> None:
        """What the pattern finds is replaced before anything is stored."""
        cli.inside("sensitive", "add", "cookie")
        counted = cli.inside("import", transcript, "--json").json["redactions"]

        assert counted == {"project": 3}
        assert cli.inside("grep", "cookie", "--json").json["hits"] == []
