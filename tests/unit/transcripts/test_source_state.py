"""The state kept with a source's checkpoint."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lcm.transcripts.parse.claude import ClaudeParser
from lcm.transcripts.source_state import SourceState

WHOLE = SourceState(
    parser={"chain": "a"},
    roots={"s": "/home/user/project"},
    placed={"s/agent": "00ff"},
    last_at=datetime(2026, 2, 17, 7, 37, tzinfo=UTC),
)


class TestSourceState:
    @pytest.mark.parametrize("state", [WHOLE, SourceState(), SourceState(placed={"s": "00"})])
    def test_what_is_written_is_read(self, state: SourceState) -> None:
        """Every field comes back, and so does the absence of each."""
        assert SourceState.read(state.to_text()) == state

    @pytest.mark.parametrize("text", ["{", "[]", "3", '{"version": 2, "parser": 3}', '{"roots": 3}'])
    def test_a_damaged_one_is_none(self, text: str) -> None:
        """Whoever reads it begins at the start of the source."""
        assert SourceState.read(text) is None

    def test_an_older_parsers_state_is_none(self) -> None:
        """Its digests of texts are of another kind: going on from it would take copies for new messages."""
        assert SourceState.read('{"parser": {"chain": "a"}, "roots": {}}') is None

    def test_without_a_parser_an_older_one_is_read(self) -> None:
        """Sessions that a program gives have no file to read again."""
        text = '{"writer": {"placed": {"s": "00ff"}, "last_at": null}}'

        assert SourceState.read(text) == SourceState(placed={"s": "00ff"})


class TestTextsInTheState:
    def test_a_prompt_is_told_by_its_key_only(self) -> None:
        """Two projects keep different digests of one prompt, so a list of likely texts does not tell which it was."""
        record = {
            "type": "user",
            "uuid": "00000000-0000-4000-8000-000000000001",
            "sessionId": "s",
            "message": {"role": "user", "content": "hunter2"},
        }
        states = []
        for key in (b"a" * 32, b"b" * 32):
            parser = ClaudeParser(text_key=key)
            list(parser.feed(0, record))
            states.append(parser.state()["queued"]["delivered"])

        assert len(states[0]) == len(states[1]) == 1
        assert states[0] != states[1]
