"""Reads one transcript from where it was left, as a stream of parsed items with the checkpoint after each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lcm.domain.ingest import Checkpoint
from lcm.domain.records import HistoryNeeded, JsonObject, ParsedItem, SessionFact, SkippedLine
from lcm.transcripts.lines import iter_lines, tail_digest
from lcm.transcripts.parse import codex
from lcm.transcripts.parse.claude import ClaudeParser
from lcm.transcripts.parse.codex import CodexParser
from lcm.transcripts.parse.parser import TranscriptParser

_LOOK_FOR_CWD_LINES = 400


class HistoryIsNeeded(Exception):
    """The rest of the file cannot be understood without its beginning."""


@dataclass(frozen=True, slots=True)
class ReadLine:
    """What one line gave, and where reading goes on after it."""

    items: tuple[ParsedItem, ...]
    offset: int
    line_count: int
    repairs: int
    size_bytes: int


class TranscriptReader:
    """One pass over the new part of a file."""

    def __init__(self, path: Path, client: str, checkpoint: Checkpoint) -> None:
        self._path = path
        self._checkpoint = checkpoint
        state: JsonObject | None = json.loads(checkpoint.parser_state).get("parser")
        self._parser = make_parser(client, state, fallback_session_id=path.stem)

    def read(self) -> Iterator[ReadLine]:
        """Raises `HistoryIsNeeded`; nothing after the last yielded line may be kept then."""
        start = self._checkpoint
        for line in iter_lines(self._path, offset=start.offset, line=start.line_count):
            if line.record is None:
                items: tuple[ParsedItem, ...] = (SkippedLine(line.line, line.skipped or "not usable"),)
            else:
                items = tuple(self._parser.feed(line.line, line.record))
            if any(isinstance(item, HistoryNeeded) for item in items):
                raise HistoryIsNeeded
            is_consumed = line.end_offset > 0 and line.skipped != "incomplete last line"
            line_count = line.line + 1 if is_consumed else line.line
            yield ReadLine(items, line.end_offset, line_count, line.repairs, line.size_bytes)

    def checkpoint_at(self, line: ReadLine) -> Checkpoint:
        return Checkpoint(
            offset=line.offset,
            line_count=line.line_count,
            inode=self._path.stat().st_ino,
            tail_sha256=tail_digest(self._path, line.offset),
            parser_state=json.dumps({"parser": self._parser.state()}, separators=(",", ":")),
        )


def make_parser(client: str, state: JsonObject | None, *, fallback_session_id: str) -> TranscriptParser:
    if client == codex.CLIENT:
        return CodexParser(state, fallback_session_id=fallback_session_id)
    return ClaudeParser(state, fallback_session_id=fallback_session_id)


def is_still_valid(path: Path, checkpoint: Checkpoint) -> bool:
    """Whether the file still begins with what was read: the same inode, not shorter, the same bytes before the offset."""
    found = path.stat()
    if found.st_size < checkpoint.offset or (checkpoint.offset and found.st_ino != checkpoint.inode):
        return False
    return checkpoint.offset == 0 or tail_digest(path, checkpoint.offset) == checkpoint.tail_sha256


def first_cwd(path: Path, client: str) -> str | None:
    """The working directory of the file's first conversation, None when no record near its head has one."""
    parser = make_parser(client, None, fallback_session_id=path.stem)
    for line in iter_lines(path):
        if line.line >= _LOOK_FOR_CWD_LINES:
            return None
        if line.record is None:
            continue
        for item in parser.feed(line.line, line.record):
            if isinstance(item, SessionFact) and item.cwd:
                return item.cwd
    return None
