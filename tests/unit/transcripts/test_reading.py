"""Reading a transcript from a checkpoint: where it goes on, when it must begin anew, what its head tells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lcm.domain.ingest import Checkpoint
from lcm.domain.records import MessageRecord, SkippedLine, SubagentLink, Thread
from lcm.transcripts.reading import (
    FileWasReplaced,
    HistoryIsNeeded,
    ReadLine,
    TranscriptReader,
    is_still_valid,
    read_head,
    session_file_of,
)
from tests.engine.sessions import CWD, SESSION, Record, dialogue, name, to_bytes, user, write


def read(path: Path, checkpoint: Checkpoint | None = None) -> tuple[list[ReadLine], Checkpoint]:
    """The lines from a checkpoint on, and the checkpoint after the last of them."""
    start = checkpoint or Checkpoint()
    reader = TranscriptReader(path, "claude", start)
    lines = list(reader.read())
    return lines, reader.checkpoint_at(lines[-1]) if lines else start


def messages(lines: list[ReadLine]) -> list[str]:
    return [item.blocks[0].text for line in lines for item in line.items if isinstance(item, MessageRecord)]


class TestTranscriptReader:
    def test_it_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        """With the line number and the parser's state."""
        path = write(tmp_path / "s.jsonl", *dialogue(2))
        _, checkpoint = read(path)
        lines, _ = read(write(path, *dialogue(4)), checkpoint)

        assert messages(lines) == ["prompt 3", "answer 4"]
        assert [line.line_count for line in lines] == [3, 4]

    def test_an_incomplete_line_moves_nothing(self, tmp_path: Path) -> None:
        """It is reported and read again; also when it is the first."""
        path = tmp_path / "s.jsonl"
        path.write_bytes(to_bytes(user(1))[:-20])
        [line], checkpoint = read(path)

        assert line.items == (SkippedLine(0, "incomplete last line"),)
        assert (checkpoint.offset, checkpoint.line_count) == (0, 0)

    def test_a_last_line_without_its_end_is_consumed(self, tmp_path: Path) -> None:
        """The end that comes later is no line of its own."""
        path = tmp_path / "s.jsonl"
        path.write_bytes(to_bytes(user(1))[:-1])
        _, checkpoint = read(path)
        lines, _ = read(write(path, *dialogue(2)), checkpoint)

        assert (checkpoint.line_count, [line.line_count for line in lines]) == (1, [2])

    def test_what_needs_its_beginning_is_an_error(self, tmp_path: Path) -> None:
        """A prompt that does not follow on what the state knows; the lines before it were given."""
        path = write(tmp_path / "s.jsonl", *dialogue(4))
        _, checkpoint = read(path)
        reader = TranscriptReader(write(path, *dialogue(4), user(5), user(6, parentUuid=name(2))), "claude", checkpoint)
        lines = iter(reader.read())

        assert messages([next(lines)]) == ["prompt 5"]
        with pytest.raises(HistoryIsNeeded):
            next(lines)

    def test_no_checkpoint_for_a_file_that_was_replaced(self, tmp_path: Path) -> None:
        """By another file, or by a shorter version of itself."""
        path = write(tmp_path / "s.jsonl", *dialogue(2))
        reader = TranscriptReader(path, "claude", Checkpoint())
        [*_, last] = reader.read()
        path.write_bytes(b"")
        with pytest.raises(FileWasReplaced):
            reader.checkpoint_at(last)
        write(tmp_path / "new", *dialogue(2)).replace(path)
        with pytest.raises(FileWasReplaced):
            reader.checkpoint_at(last)

    def test_a_subagents_meta_file_gives_a_link_before_its_first_message(self, tmp_path: Path) -> None:
        """Once in a reading; none without that file or for another agent's records."""
        agent = {"isSidechain": True, "agentId": "a1"}
        path = write(tmp_path / "agent-a1.jsonl", user(1, **agent), user(2, **agent))
        path.with_name("agent-a1.meta.json").write_text(json.dumps({"toolUseId": "t1"}))
        copy = write(tmp_path / "agent-a2.jsonl", user(1, **agent))

        links = [item for line in read(path)[0] for item in line.items if isinstance(item, SubagentLink)]
        assert links == [SubagentLink(0, Thread(SESSION), Thread(SESSION, "a1"), "t1")]
        assert not any(isinstance(item, SubagentLink) for line in read(copy)[0] for item in line.items)


class TestIsStillValid:
    def test_a_file_that_only_grew(self, tmp_path: Path) -> None:
        """And one that did not change, and one that was never read."""
        path = write(tmp_path / "s.jsonl", *dialogue(2))
        _, checkpoint = read(path)

        assert is_still_valid(path, checkpoint)
        assert is_still_valid(write(path, *dialogue(4)), checkpoint)
        assert is_still_valid(path, Checkpoint())

    def test_a_shorter_a_changed_and_another_file(self, tmp_path: Path) -> None:
        """Each must be read from its start."""
        path = write(tmp_path / "s.jsonl", *dialogue(4))
        _, checkpoint = read(path)

        assert not is_still_valid(path, replace(checkpoint, inode=checkpoint.inode + 1))
        assert not is_still_valid(write(path, *dialogue(2)), checkpoint)
        assert not is_still_valid(write(path, user(9), *dialogue(4)), checkpoint)


class TestHead:
    def test_the_first_messages_thread_and_its_directory(self, tmp_path: Path) -> None:
        """Another session's state before it does not count."""
        other = {"type": "attachment", "uuid": "a", "sessionId": "other", "cwd": "/other", "attachment": {"type": "x"}}
        head = read_head(write(tmp_path / "s.jsonl", other, *dialogue(2)), "claude")

        assert (head.thread, head.cwd) == (Thread(SESSION), CWD)

    @pytest.mark.parametrize(("padding", "cwd"), [(10, "/late"), (500, None)])
    def test_a_directory_is_looked_for_near_the_head(self, tmp_path: Path, padding: int, cwd: str | None) -> None:
        """Not in the whole of a long file."""
        first: Record = user(1)
        del first["cwd"]
        blank: list[Any] = [{"type": "summary"}] * padding

        assert read_head(write(tmp_path / "s.jsonl", first, *blank, user(2, cwd="/late")), "claude").cwd == cwd

    def test_without_messages_there_is_no_thread(self, tmp_path: Path) -> None:
        """However long the file is."""
        path = write(tmp_path / "s.jsonl", *[{"type": "summary"}] * 1000)

        assert read_head(path, "claude").thread is None

    def test_a_message_far_down_is_found(self, tmp_path: Path) -> None:
        """State lines can fill the beginning."""
        path = write(tmp_path / "s.jsonl", *[{"type": "summary"}] * 1000, user(1))

        assert read_head(path, "claude").cwd == CWD


class TestSessionFile:
    @pytest.mark.parametrize(
        "place",
        ["agent-a1.jsonl", f"{SESSION}/subagents/agent-a1.jsonl", f"{SESSION}/subagents/workflows/w/agent-a1.jsonl"],
    )
    def test_it_is_found_from_every_layout(self, tmp_path: Path, place: str) -> None:
        """Beside the subagent's file, or beside the session's folder."""
        session = write(tmp_path / f"{SESSION}.jsonl", user(1))
        path = write(tmp_path / place, user(2))

        assert session_file_of(path, SESSION) == session

    @pytest.mark.parametrize("session_id", ["", "../up", "other", "s"])
    def test_otherwise_there_is_none(self, tmp_path: Path, session_id: str) -> None:
        """A strange id names no place, and no file is its own session's subagent."""
        assert session_file_of(write(tmp_path / "s.jsonl", user(1)), session_id) is None
