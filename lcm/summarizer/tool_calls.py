"""Tool calls and their results in a leaf's source: what was called on what, and how it went, in a few words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lcm.summarizer.cues import error_places
from lcm.summarizer.sentences import cut_at_clause, single_line

_TOOL = re.compile(r"[A-Za-z_][\w.:/-]{0,99}")

_PATH_KEYS = ("file_path", "path", "filename", "file", "notebook_path", "filePath")
_COMMAND_KEYS = ("command", "cmd", "script")
#: What a call without a command is about, the most telling first.
_SUBJECT_KEYS = ("query", "pattern", "url", "description", "question", "name", "skill")
_TASK_KEYS = ("todos", "plan")
_SUBJECT_CHARS = 140
_OUTCOME_CHARS = 100
#: Where the tally of a test run or a build is looked for.
_TAIL_CHARS = 2000
_WRITTEN_CHARS = 80
_MAX_NESTING = 4

#: Tools whose results are somebody's text, in which an error message is no error.
_READERS = re.compile(r"read|view|open|cat|grep|search|glob|find|list|ls|fetch", re.IGNORECASE)
_COMPLAINT_CHARS = 2000
_BARE_CHARS = 12
#: What some clients write before an output: lines of figures, the last one names what follows.
_PREAMBLE = re.compile(r"\A(?:[A-Z][\w ]{1,40}:? [^\n]{1,80}\n){1,6}(?:Final )?Output:(?:\n|\Z)")
_EXIT_FAILED = re.compile(r"exit(?:ed with)? (?:code|status):? [1-9]", re.IGNORECASE)
_STILL_RUNNING = "running"
_TALLY = re.compile(
    r"(?<![\w.])\d+ (?:tests? |files? |specs? )?(?:passed|passing|failed|failing|failures?|errors?|problems?|warnings?"
    r"|skipped|insertions?|deletions?|changed)\b"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call.

    Attributes:
        paths: files it names, empty when it has a command or a pattern.
        subject: command, query or the like on one line, shortened; None without any.
        written: longer texts among its arguments.
        tasks: what is not done of a task list it sets; None when it sets none.
    """

    tool: str
    paths: tuple[str, ...] = ()
    subject: str | None = None
    written: tuple[str, ...] = ()
    tasks: tuple[str, ...] | None = None

    @property
    def is_reader(self) -> bool:
        return _READERS.search(self.tool) is not None

    def told(self, outcome: str) -> str:
        """`Bash: npm test -> 3 failed`; without arrow when the outcome is not known."""
        called = f"{self.tool}: {self.subject}"
        return f"{called} -> {outcome}" if outcome else called


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back: its text without preamble, and its error lines."""

    text: str
    errors: tuple[str, ...]
    has_failed: bool
    is_running: bool

    @property
    def is_short(self) -> bool:
        """Whether the outcome says it all."""
        return len(self.text) <= _OUTCOME_CHARS and "\n" not in self.text.strip()

    @property
    def outcome(self) -> str:
        """How it went in a few words: the last tally of tests or the like, else the only line or their number."""
        if self.is_running:
            return _STILL_RUNNING
        tally = _tally(self.text[-_TAIL_CHARS:])
        if tally is not None:
            return tally
        if self.has_failed or not self.text.strip():
            return "failed" if self.has_failed else "ok"
        lines = self.text.strip().count("\n") + 1
        return single_line(self.text) if self.is_short else f"{lines} line{'s' if lines > 1 else ''}"


def parse_call(line: str) -> Call | None:
    """The call that a line is: a name and a JSON object; None for any other line."""
    tool, _, text = line.rstrip().partition(" ")
    is_call = text.startswith("{") and text.endswith("}") and _TOOL.fullmatch(tool)
    arguments = _arguments(text) if is_call else None
    if arguments is None:
        return None
    tasks = next((arguments[key] for key in _TASK_KEYS if isinstance(arguments.get(key), list)), None)
    subject = _subject(arguments)
    return Call(
        tool=tool,
        paths=() if subject else _paths(arguments),
        subject=subject,
        written=() if tasks is not None else tuple(_written(arguments)),
        tasks=None if tasks is None else tuple(_unfinished(tasks)),
    )


def parse_result(content: str, *, is_somebodys_text: bool) -> Result:
    """Reads a result; of somebody's text only a first line that is the tool's own complaint is an error."""
    preamble = _PREAMBLE.match(content)
    text = content[preamble.end() :] if preamble else content
    errors = tuple(_errors(text, is_somebodys_text=is_somebodys_text))
    status = preamble.group() if preamble else ""
    return Result(
        text=text,
        errors=errors,
        has_failed=bool(errors) or _EXIT_FAILED.search(status) is not None,
        is_running=not text.strip() and _STILL_RUNNING in status,
    )


def _tally(tail: str) -> str | None:
    """The last short line that counts."""
    for found in reversed(list(_TALLY.finditer(tail))):
        line = tail[tail.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]
        if len(line) <= _OUTCOME_CHARS:
            return single_line(line.strip(" =\t"))
    return None


def _errors(text: str, *, is_somebodys_text: bool) -> Iterator[str]:
    lines = (text[:_COMPLAINT_CHARS] if is_somebodys_text else text).strip().split("\n")
    for place in error_places(lines[:1] if is_somebodys_text else lines):
        yield _with_next(lines, place)


def _with_next(lines: list[str], place: int) -> str:
    """A line; a bare "Error" or one that ends with a colon takes the next one along."""
    line = lines[place].strip()
    following = next((later for later in lines[place + 1 : place + 4] if later.strip()), "")
    is_bare = len(line) < _BARE_CHARS or line.endswith(":")
    return single_line(f"{line} {following}" if is_bare else line)


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _paths(arguments: dict[str, Any]) -> tuple[str, ...]:
    values = (arguments.get(key) for key in _PATH_KEYS)
    return tuple(dict.fromkeys(single_line(value) for value in values if isinstance(value, str) and value.strip()))


def _subject(arguments: dict[str, Any]) -> str | None:
    found = (arguments[key] for key in _COMMAND_KEYS if key in arguments)
    for value in found:
        text = " ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(text, str) and text.strip():
            return cut_at_clause(single_line(text), _SUBJECT_CHARS)
    if any(isinstance(arguments.get(key), str) for key in ("file_path", "filePath", "notebook_path")):
        return None
    texts = (arguments.get(key) for key in _SUBJECT_KEYS)
    text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    return None if text is None else cut_at_clause(single_line(text), _SUBJECT_CHARS)


def _written(value: Any, depth: int = 0) -> Iterator[str]:
    """Texts of some length in a JSON value, in order; what an edit replaces is not among them."""
    if isinstance(value, str) and (len(value) >= _WRITTEN_CHARS or "\n" in value):
        yield value
    elif isinstance(value, dict) and depth < _MAX_NESTING:
        for key, inner in value.items():
            if not key.startswith("old") and (key not in _COMMAND_KEYS or "\n" in str(inner)):
                yield from _written(inner, depth + 1)
    elif isinstance(value, list) and depth < _MAX_NESTING:
        for inner in value:
            yield from _written(inner, depth + 1)


def _unfinished(tasks: list[Any]) -> Iterator[str]:
    for task in tasks:
        if isinstance(task, dict) and task.get("status") not in ("completed", "done"):
            text = single_line(str(task.get("content", task.get("step", ""))))
            if text:
                yield text
