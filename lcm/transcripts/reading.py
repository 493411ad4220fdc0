"""Reads one transcript from where it was left, as a stream of parsed items with the checkpoint after each line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from lcm.domain.ingest import Checkpoint
from lcm.domain.records import (
    HistoryNeeded,
    JsonObject,
    MessageRecord,
    ParsedItem,
    SessionFact,
    SkippedLine,
    SubagentLink,
    Thread,
)
from lcm.errors import UnsafeText
from lcm.text import require_safe
from lcm.transcripts.lines import INCOMPLETE, iter_lines, tail_digest
from lcm.transcripts.parse import claude, codex
from lcm.transcripts.parse.claude import ClaudeParser
from lcm.transcripts.parse.codex import CodexParser
from lcm.transcripts.parse.parser import TranscriptParser
from lcm.transcripts.source_state import SourceState

_LOOK_FOR_CWD_LINES = 400
_META_SUFFIX = ".meta.json"
_MAX_META_BYTES = 1 << 20


class HistoryIsNeeded(Exception):
    """The rest of the file cannot be understood without its beginning."""


class FileWasReplaced(Exception):
    """What stands under the file's name is no longer what was read."""


class ReadLine(NamedTuple):
    """What one line gave, and where reading goes on after it."""

    items: tuple[ParsedItem, ...]
    offset: int
    line_count: int
    repairs: int
    size_bytes: int


@dataclass(slots=True)
class Head:
    """What a file tells before anything is stored.

    Attributes:
        thread: of its first message; None when no line gives a message.
        cwds: the first working directory of every thread near the head, in order.
    """

    thread: Thread | None = None
    cwds: dict[Thread, str] = field(default_factory=dict)

    @property
    def cwd(self) -> str | None:
        """The first directory of the first message's thread, else the first that any record names."""
        first = self.cwds.get(self.thread) if self.thread else None
        return first or next(iter(self.cwds.values()), None)


class TranscriptReader:
    """One pass over the new part of a file; `text_key` keys what the parser's state keeps of texts."""

    def __init__(self, path: Path, client: str, checkpoint: Checkpoint, *, text_key: bytes = b"") -> None:
        self._path = path
        self._checkpoint = checkpoint
        saved = SourceState.read(checkpoint.parser_state) or SourceState()
        self._parser = make_parser(client, saved.parser, fallback_session_id=_stem(path), text_key=text_key)
        self._inode = path.stat().st_ino
        self._looks_for_meta = client == claude.CLIENT

    def read(self) -> Iterator[ReadLine]:
        """Raises `HistoryIsNeeded`; nothing after the last yielded line may be kept then."""
        start = self._checkpoint
        for line in iter_lines(self._path, offset=start.offset, line=start.line_count):
            if line.record is None:
                items: tuple[ParsedItem, ...] = (SkippedLine(line.line, line.skipped or "not usable"),)
            else:
                items = tuple(self._parser.feed(line.line, line.record))
            for item in items:
                if type(item) is HistoryNeeded:
                    raise HistoryIsNeeded
            line_count = line.line if line.skipped == INCOMPLETE else line.line + 1
            if self._looks_for_meta:
                items = self._with_link(items)
            yield ReadLine(items, line.end_offset, line_count, line.repairs, line.size_bytes)

    def checkpoint_at(self, line: ReadLine, *, roots: dict[str, str] | None = None) -> Checkpoint:
        """The checkpoint after the line that was read last, with the parser's state and these roots of sessions.

        Raises:
            FileWasReplaced: a checkpoint would vouch for bytes that nobody read.
        """
        found = self._path.stat()
        if found.st_ino != self._inode or found.st_size < line.offset:
            raise FileWasReplaced
        return Checkpoint(
            offset=line.offset,
            line_count=line.line_count,
            inode=self._inode,
            tail_sha256=tail_digest(self._path, line.offset),
            parser_state=SourceState(parser=self._parser.state(), roots=roots or {}).to_text(),
        )

    def _with_link(self, items: tuple[ParsedItem, ...]) -> tuple[ParsedItem, ...]:
        """Before the first message of a subagent's file: the link that the meta file beside it tells."""
        message = next((item for item in items if isinstance(item, MessageRecord)), None)
        if message is None:
            return items
        self._looks_for_meta = False
        link = _link_from_meta(self._path, message.thread)
        return items if link is None else (replace(link, line=message.line), *items)


def make_parser(
    client: str, state: JsonObject | None, *, fallback_session_id: str, text_key: bytes = b""
) -> TranscriptParser:
    if client == codex.CLIENT:
        return CodexParser(state, fallback_session_id=fallback_session_id)
    return ClaudeParser(state, fallback_session_id=fallback_session_id, text_key=text_key)


def is_still_valid(path: Path, checkpoint: Checkpoint) -> bool:
    """Whether the file still begins with what was read: same inode, not shorter, same bytes before the offset."""
    if SourceState.read(checkpoint.parser_state) is None:
        return False
    found = path.stat()
    if found.st_size < checkpoint.offset or (checkpoint.offset and found.st_ino != checkpoint.inode):
        return False
    return checkpoint.offset == 0 or tail_digest(path, checkpoint.offset) == checkpoint.tail_sha256


def read_head(path: Path, client: str) -> Head:
    """Reads until the first message and its directory are known; a file without messages is read to its end."""
    parser = make_parser(client, None, fallback_session_id=_stem(path))
    head = Head()
    for line in iter_lines(path):
        if head.thread is not None and (head.thread in head.cwds or line.line >= _LOOK_FOR_CWD_LINES):
            break
        for item in parser.feed(line.line, line.record) if line.record is not None else ():
            if isinstance(item, SessionFact) and item.cwd:
                head.cwds.setdefault(item.thread, item.cwd)
            elif isinstance(item, MessageRecord) and head.thread is None:
                head.thread = item.thread
    return head


def session_file_of(path: Path, session_id: str) -> Path | None:
    """The file of the session that a subagent's file belongs to: beside it, or beside the session's own folder."""
    name = f"{session_id}.jsonl"
    if not session_id or "/" in session_id:
        return None
    places = [path.with_name(name), *(folder.with_name(name) for folder in path.parents if folder.name == session_id)]
    # The id came from the file: no name that it makes may be an error, such as one that is too long.
    return next((place for place in places if place != path and os.path.isfile(place)), None)  # noqa: PTH113


def _link_from_meta(path: Path, thread: Thread) -> SubagentLink | None:
    if thread.agent_id is None or path.stem != f"agent-{thread.agent_id}":
        return None
    try:
        with path.with_name(path.stem + _META_SUFFIX).open("rb") as file:
            meta = json.loads(file.read(_MAX_META_BYTES))
        link = claude.subagent_link_from_meta(meta, thread) if isinstance(meta, dict) else None
        if link is not None:
            require_safe("tool_call_id", link.tool_call_id)
    except (OSError, ValueError, RecursionError, UnsafeText):
        return None  # a hint only; the parent's result may link it too
    return link


def _stem(path: Path) -> str:
    """The file's name without suffix; bytes that are no text are replaced."""
    return path.stem.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
