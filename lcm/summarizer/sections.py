"""The parts of an extractive summary: its sections, and what was found for them in a source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Section(StrEnum):
    """Kinds of findings; the value is the label of those that are shown as labelled lines.

    `COMMAND` and `NOTED` are shown without a label, in the narrative by time.
    """

    ASKED = "Asked"
    DECIDED = "Decided"
    FILE = "File"
    ERROR = "Error"
    OPEN = "Open"
    COMMAND = "Ran"
    NOTED = "Noted"
    LAST = "Last state"


class Entry(NamedTuple):
    """One finding; a named tuple, because a source has hundreds of them.

    Attributes:
        text: one line, without label, time and speaker.
        order: place in time of the message or summary it comes from; entries of equal order are kept in their order.
        stamp: `MM-DD HH:MM`, empty when not known.
        speaker: who says it in the narrative; empty for the assistant.
        weight: its rank in its section, the highest first.
        worth: per cent by which its information counts when it competes with all others.
        is_code: whether it is a line of code or data, which is shown only where prose leaves room.
    """

    section: Section
    text: str
    order: int = 0
    stamp: str = ""
    speaker: str = ""
    weight: int = 0
    worth: int = 100
    is_code: bool = False

    @property
    def stamped(self) -> str:
        """The text behind its time."""
        return f"{self.stamp} {self.text}" if self.stamp else self.text

    @property
    def is_told(self) -> bool:
        """Whether it belongs to the narrative by time instead of the labelled lines."""
        return self.section is Section.NOTED or self.section is Section.COMMAND

    @property
    def is_quoted(self) -> bool:
        """Whether it is a line of what a tool was given or gave back."""
        return bool(self.speaker) and self.speaker.endswith(QUOTED)


@dataclass(frozen=True, slots=True)
class Extract:
    """All that was found, and the range of time as the source's headers write it."""

    entries: tuple[Entry, ...]
    earliest: str | None
    latest: str | None


#: What the speaker of a quoted line ends with, as in `Bash output`.
QUOTED = (" input", " output")
#: STAMP leads a line, TIME stands in a header: a moment to the minute, the latter with year and time zone.
STAMP = re.compile(r"\A(\d\d-\d\d \d\d:\d\d) ")
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,40}?"
