"""`lcm conversations --tree` on a session with a subagent, a rewound branch and a continuation in another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.engine.sessions import CWD, assistant, call, dialogue, name, result, user, write

CONTINUED = "22222222-2222-4333-8444-555555555555"


@pytest.fixture
def family(cli: Cli, tmp_path: Path) -> Cli:
    main = [user(1), call(2, "t1", "Agent"), result(3, "t1", toolUseResult={"agentId": "a1"}), user(4), assistant(5)]
    rewound = user(6, "instead", parentUuid=name(3))
    write(tmp_path / "t" / "s.jsonl", *main, rewound)
    write(tmp_path / "t" / "agent-a1.jsonl", user(11, "task", isSidechain=True, agentId="a1"))
    again = [*main[:3], rewound, *dialogue(2, first=7)]
    write(tmp_path / "t" / "u.jsonl", *({**each, "sessionId": CONTINUED} for each in again))
    assert cli("import", tmp_path / "t").code == 0
    return cli


class TestTree:
    def test_json_nests(self, family: Cli) -> None:
        """Each conversation once, under what it comes from, with its parent, its figures and what was taken back."""
        (root,) = family.inside("conversations", "--tree", "--project", CWD, "--json").json["conversations"]

        assert (root["relation"], root["parent_conversation_id"], root["rewound_messages"]) == ("root", None, 2)
        under = {each["relation"]: each for each in root["children"]}
        assert set(under) == {"subagent", "resume"}
        assert {each["parent_conversation_id"] for each in root["children"]} == {root["conversation_id"]}
        assert (under["subagent"]["messages"], under["subagent"]["children"]) == (1, [])
        assert (under["resume"]["session_id"], under["resume"]["messages"]) == (CONTINUED, 2)
        assert under["resume"]["context_tokens"] > root["context_tokens"]

    def test_lines_are_drawn_to_what_comes_from_a_conversation(self, family: Cli) -> None:
        """The last one below gets a corner, the one before it a branch; the flat list stays as it was."""
        head, *rows = family("conversations", "--tree", "--project", CWD, COLUMNS="200").out.splitlines()

        assert head.split()[:5] == ["id", "relation", "messages", "rewound", "summaries"]
        assert rows[0].split()[1:4] == ["root", "6", "2"]
        assert [row.split()[0] for row in rows[1:]] == ["\u251c\u2500", "\u2514\u2500"]
        assert len(family.inside("conversations", "--project", CWD, "--json").json["conversations"]) == 3

    def test_without_conversations(self, cli: Cli) -> None:
        """The same line as without --tree."""
        run = cli.inside("conversations", "--tree", "--project", "all")

        assert (run.code, run.out) == (0, "No conversations yet; `lcm import` brings them in.\n")
