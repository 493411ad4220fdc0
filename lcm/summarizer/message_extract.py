"""What messages say, sorted without a model: requests, decisions, files, commands, errors, open items, last state."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lcm.summarizer.sections import (
    ENTRY_CHARS,
    STAMP,
    TIME,
    Entry,
    Extract,
    Section,
    decision_weight,
    is_error,
    is_open,
    sentences,
    split_blocks,
)
from lcm.text import one_line
from lcm.tokens import estimate_tokens

_HEADER = re.compile(rf"^\[({TIME})\] (user|assistant|system|tool)[ \t]*$", re.MULTILINE)
_CALL = re.compile(r"([A-Za-z_][\w.:/-]{0,99}) (\{.*\})\s*")
_PATCHED = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")

_PATH_KEYS = ("file_path", "path", "filename", "file", "notebook_path", "filePath")
_COMMAND_KEYS = ("command", "cmd", "script")
#: Tools whose results are somebody's text, in which an error message is no error.
_READERS = re.compile(r"read|view|open|cat|grep|search|glob|find|list|ls|fetch", re.IGNORECASE)
_COMPLAINT_CHARS = 400
_ERRORS_PER_RESULT = 2
_BARE_CHARS = 12
_OPENING_SENTENCES = 4
_TELLING_TOKENS = 6


def extract_messages(text: str) -> Extract:
    """The extract of a leaf's source: messages below `[time] role` lines, oldest first."""
    blocks = split_blocks(text, _HEADER)
    scan = _Scan()
    for order, (header, content) in enumerate(blocks):
        time, role = (header.group(1), header.group(2)) if header else (None, "assistant")
        scan.read(order, time, role, content)
    times = [header.group(1) for header, _ in blocks if header]
    return Extract(tuple(scan.entries()), times[0] if times else None, times[-1] if times else None)


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call that waits for its result."""

    tool: str
    order: int
    paths: tuple[str, ...]
    command: str | None

    @property
    def is_reader(self) -> bool:
        return _READERS.search(self.tool) is not None


@dataclass(slots=True)
class _File:
    """What happened to one path: tools with their outcome, the latest last."""

    order: int = 0
    weight: int = 0
    uses: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Scan:
    """Reads messages in order; calls wait for their results, later states replace earlier ones."""

    found: list[Entry] = field(default_factory=list)
    files: dict[str, _File] = field(default_factory=dict)
    waiting: deque[_Call] = field(default_factory=deque)
    is_answering: bool = False
    tasks: list[Entry] = field(default_factory=list)
    last: Entry | None = None

    def entries(self) -> Iterator[Entry]:
        self._release()
        yield from self.found
        yield from self.tasks
        for path, file in self.files.items():
            yield Entry(Section.FILE, f"{path} ({', '.join(file.uses)})", file.order, file.weight)
        if self.last is not None:
            yield self.last

    def read(self, order: int, time: str | None, role: str, content: str) -> None:
        stamp = "" if time is None else f"{time[5:16]} "
        if role == "tool":
            self._read_result(order, stamp, content)
            return
        if self.is_answering:
            self._release()
        prose = [line for line in content.split("\n") if not self._read_call(order, line)]
        self._read_prose(order, stamp, role, list(sentences("\n".join(prose))))

    def _release(self) -> None:
        """Calls answered together with another, in one message: how each ended is not known."""
        while self.waiting:
            self._finish(self.waiting.popleft(), "")
        self.is_answering = False

    def _read_prose(self, order: int, stamp: str, role: str, spoken: list[str]) -> None:
        if not spoken:
            return
        opening = one_line(" ".join(spoken[:_OPENING_SENTENCES]), ENTRY_CHARS)
        if role == "user":
            self.found.append(Entry(Section.ASKED, stamp + opening, order, int(_tells(opening))))
            spoken = [sentence for sentence in spoken if sentence not in opening]
        elif role == "assistant":
            self.last = Entry(Section.LAST, stamp + opening, order)
        found = [_classified(sentence, stamp, order) for sentence in spoken]
        self.found.extend(entry for entry in found if entry.section is not Section.NOTED)
        if role != "user":
            self.found.extend(_note(found[:_OPENING_SENTENCES]))

    def _read_call(self, order: int, line: str) -> bool:
        """Whether the line is part of a tool call."""
        patched = _PATCHED.fullmatch(line.strip())
        if patched is not None:
            self._touch(patched.group(2), order, patched.group(1).lower(), is_change=True)
            return True
        called = _CALL.fullmatch(line)
        arguments = _arguments(called.group(2)) if called else None
        if called is None or arguments is None:
            return False
        self.waiting.append(_Call(called.group(1), order, _paths(arguments), _command(arguments)))
        tasks = arguments.get("todos", arguments.get("plan"))
        if isinstance(tasks, list):
            self.tasks = [Entry(Section.OPEN, task, order, 1) for task in _unfinished(tasks)]
        return True

    def _read_result(self, order: int, stamp: str, content: str) -> None:
        self.is_answering = True
        call = self.waiting.popleft() if self.waiting else None
        errors = _errors(content, is_somebodys_text=call is not None and call.is_reader)
        for line in errors[-_ERRORS_PER_RESULT:]:
            self.found.append(Entry(Section.ERROR, stamp + line, order))
        if call is not None:
            self._finish(call, "failed" if errors else "ok")
        elif not errors:
            opening = next(sentences(content), None)
            self.found.extend([Entry(Section.NOTED, stamp + opening, order, -1)] if opening else [])

    def _finish(self, call: _Call, outcome: str) -> None:
        for path in call.paths:
            self._touch(path, call.order, f"{call.tool} {outcome}".strip(), is_change=not call.is_reader)
        if call.command is not None:
            text = f"{call.command} ({outcome})" if outcome else call.command
            self.found.append(Entry(Section.COMMAND, text, call.order))

    def _touch(self, path: str, order: int, use: str, *, is_change: bool) -> None:
        file = self.files.setdefault(one_line(path, ENTRY_CHARS), _File())
        file.order = order
        file.weight = max(file.weight, int(is_change))
        file.uses.pop(use, None)
        file.uses[use] = None


def _classified(sentence: str, stamp: str, order: int) -> Entry:
    if is_open(sentence):
        return Entry(Section.OPEN, stamp + sentence, order)
    weight = decision_weight(sentence)
    return Entry(Section.DECIDED if weight else Section.NOTED, stamp + sentence, order, weight)


def _note(opening: list[Entry]) -> list[Entry]:
    """The first sentence of an opening that says something, unless it stands elsewhere already."""
    telling = next((entry for entry in opening if _tells(entry.text)), opening[0])
    return [telling] if telling.section is Section.NOTED else []


def _tells(text: str) -> bool:
    """Whether a text is more than an "ok"."""
    return estimate_tokens(STAMP.sub("", text)) >= _TELLING_TOKENS


def _errors(content: str, *, is_somebodys_text: bool) -> list[str]:
    """Error lines of a result; of somebody's text only a first line that is the tool's own complaint."""
    read = content[:_COMPLAINT_CHARS] if is_somebodys_text else content
    lines = [line.strip() for line in read.split("\n") if line.strip()]
    places = range(min(1, len(lines)) if is_somebodys_text else len(lines))
    return [_with_next(lines, place) for place in places if is_error(lines[place])]


def _with_next(lines: list[str], place: int) -> str:
    """A line; a bare "Error" or "Traceback" takes the next one along."""
    is_bare = len(lines[place]) < _BARE_CHARS
    return one_line(" ".join(lines[place : place + 1 + is_bare]), ENTRY_CHARS)


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _paths(arguments: dict[str, Any]) -> tuple[str, ...]:
    values = (arguments.get(key) for key in _PATH_KEYS)
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value.strip()))


def _command(arguments: dict[str, Any]) -> str | None:
    value = next((arguments[key] for key in _COMMAND_KEYS if key in arguments), None)
    if isinstance(value, list):
        value = " ".join(str(word) for word in value)
    return (one_line(value, ENTRY_CHARS) or None) if isinstance(value, str) else None


def _unfinished(tasks: list[Any]) -> Iterator[str]:
    for task in tasks:
        if isinstance(task, dict) and task.get("status") not in ("completed", "done"):
            text = one_line(str(task.get("content", task.get("step", ""))), ENTRY_CHARS)
            if text:
                yield text
