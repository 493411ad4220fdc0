"""The parts of an extractive summary, and the reading of text that both kinds of sources share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lcm.text import one_line


class Section(StrEnum):
    """Kinds of lines, in the order in which a summary shows them; the value is the line's label."""

    ASKED = "Asked"
    DECIDED = "Decided"
    FILE = "File"
    COMMAND = "Ran"
    ERROR = "Error"
    NOTED = "Noted"
    OPEN = "Open"
    LAST = "Last state"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a summary without its label; `order` is its place in time, `weight` what it is worth."""

    section: Section
    text: str
    order: int
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Extract:
    """All that was found, and the range of time as the source's headers write it."""

    entries: tuple[Entry, ...]
    earliest: str | None
    latest: str | None


ENTRY_CHARS = 320
#: STAMP leads a line, TIME stands in a header: a moment to the minute, the latter with year and time zone.
STAMP = re.compile(r"\A\d\d-\d\d \d\d:\d\d ")
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,40}?"

#: Of one text, the beginning and the end are read; nobody wrote what lies between.
_READ_CHARS = 100_000

#: After Western marks a space, after the full-width ones nothing.
_SENTENCE_END = re.compile("(?<=[.!?])\\s+|(?<=[\u3002\uff01\uff1f\uff1b])|\\n+")
_BULLET = re.compile(r"^(?:[-*+#>|]+|\d{1,3}[.)])\s+")
_EMPTY_SIGNS = "`*_-=#|>{}[]() "

_DECIDING = re.compile(
    r"(?<![\w-])(?:decid\w+|chosen?|chose|agreed|instead|because|rather than|must(?: not)?|never|always|prefer\w*"
    r"|we(?:'ll| will) use|let'?s use|entschied\w*|stattdessen|weil|niemals|immer|muss|d[ée]cid\w+|parce que|toujours"
    r"|jamais|porque|siempre|nunca)(?![\w-])"
    r"|决定|決定|因为|因為|必须|必須|不要|采用|採用|使用する|ことにし|代わりに|결정|때문|대신",
    re.IGNORECASE,
)
_ADVISING = re.compile(r"(?<![\w-])(?:use|keep|do not|don'?t|should(?: not|n'?t)?)(?![\w-])", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:todo|fixme|next steps?|remain\w*|still (?:need|to|open|fail)\w*|not yet|blocked|pending|follow[- ]?up"
    r"|left to do|to be done|noch nicht|pas encore|pendiente)\b|\[ \]"
    r"|待办|待辦|未完成|下一步|残り|次に|未対応|미완|다음",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"(?:E\s{2,9}\S|(?:[\w.]{1,80}\.)?\w{0,60}(?:Error|Exception)\b\s{0,9}:|(?:error|fatal|panic|failed|failure|traceback)\b"
    r"|<tool_use_error>|.{0,120}(?:command not found|No such file or directory|Permission denied)"
    r"|.{0,40}exit(?:ed with)? (?:code|status):? [1-9])",
    re.IGNORECASE,
)


def split_blocks(text: str, header: re.Pattern[str]) -> list[tuple[re.Match[str] | None, str]]:
    """The text below each header, blank ones left out; what stands before the first header has none."""
    heads = list(header.finditer(text))
    starts = [(None, 0), *((head, head.end()) for head in heads)]
    ends = [*(head.start() for head in heads), len(text)]
    found = [(head, _window(text[start:end].strip())) for (head, start), end in zip(starts, ends, strict=True)]
    return [(head, content) for head, content in found if content]


def _window(text: str) -> str:
    if len(text) <= 2 * _READ_CHARS:
        return text
    return f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"


def sentences(text: str) -> Iterator[str]:
    """Sentences and lines, each on one line without its bullet; those without any word are left out."""
    for sentence in _SENTENCE_END.split(text):
        plain = one_line(_BULLET.sub("", sentence.strip()).replace("**", ""), ENTRY_CHARS)
        if plain.strip(_EMPTY_SIGNS):
            yield plain


def decision_weight(sentence: str) -> int:
    """How much a sentence sounds like a decision: two for each distinct word of deciding, one for each of advising."""
    deciding = {match.group().lower() for match in _DECIDING.finditer(sentence)}
    advising = {match.group().lower() for match in _ADVISING.finditer(sentence)}
    return 2 * len(deciding) + len(advising)


def is_open(sentence: str) -> bool:
    """Whether a sentence tells of something that remains to be done."""
    return _OPEN.search(sentence) is not None


def is_error(line: str) -> bool:
    """Whether a line begins as error messages do."""
    return _ERROR_LINE.match(line) is not None
