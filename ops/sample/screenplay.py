"""Reads the story: a text of beats (who speaks, which tool runs, what comes back) into plain values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

_HEAD = re.compile(r"(agent )?([A-Za-z]+)(?: (again|failed|refused))?> ?(.*)")
_SCENE = re.compile(r"@ (\d{4}-\d\d-\d\d \d\d:\d\d) (\S+)")
_INDENT = "  "
_SPEECH = ("you", "claude", "think", "compact", "interrupt")


class Turn(StrEnum):
    """How a beat went, where it did not go the plain way."""

    PLAIN = ""
    AGAIN = "again"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Scene:
    """From here on the clock shows `at` and the branch is `branch`."""

    at: datetime
    branch: str


@dataclass(frozen=True, slots=True)
class Speech:
    """A text: `who` is you, claude, think, compact or interrupt."""

    who: str
    text: str
    turn: Turn = Turn.PLAIN
    of_agent: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call with its argument (command, path, pattern) and the lines below it."""

    tool: str
    argument: str
    body: str
    turn: Turn = Turn.PLAIN
    of_agent: bool = False


Beat = Scene | Speech | ToolUse


def read_screenplay(text: str) -> Iterator[Beat]:
    """Beats in order. Lines that start with `#` and blank lines between beats are left out.

    Raises:
        ValueError: a line is neither a beat nor part of one.
    """
    head: str | None = None
    body: list[str] = []
    for line in text.splitlines():
        if line.startswith(_INDENT) or (not line and head is not None):
            body.append(line.removeprefix(_INDENT))
        elif line and not line.startswith("#"):
            if head is not None:
                yield _beat(head, body)
            head, body = line, []
    if head is not None:
        yield _beat(head, body)


def _beat(head: str, body: list[str]) -> Beat:
    scene = _SCENE.fullmatch(head)
    if scene is not None:
        return Scene(datetime.strptime(scene[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC), scene[2])
    match = _HEAD.fullmatch(head)
    if match is None:
        raise ValueError(f"not a beat: {head[:60]}")
    who, turn, rest = match[2], Turn(match[3] or ""), match[4]
    below = "\n".join(body).rstrip("\n")
    if who in _SPEECH:
        return Speech(who, "\n".join(filter(None, (rest, below))), turn, of_agent=bool(match[1]))
    return ToolUse(who, rest, below, turn, of_agent=bool(match[1]))
