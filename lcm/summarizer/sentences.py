"""Reading text as whole sentences and lines, without what clients wrap around it."""

from __future__ import annotations

import html
import re
from enum import StrEnum

from lcm.summarizer.cues import is_code
from lcm.text import clip, one_line


class Form(StrEnum):
    """What a piece of text is written as."""

    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"


#: A piece of text on one line, and its form.
Piece = tuple[str, Form]

#: A sentence or line longer than this is cut.
ENTRY_CHARS = 480

#: Of one text, the beginning and the end are read; nobody wrote what lies between.
_READ_CHARS = 100_000

#: Clients' words, not the user's: dropped with what stands inside.
_ASIDES = ("system-reminder", "command-message", "local-command-caveat")
_NAME_AND_ARGUMENTS = re.compile(r"</command-name>\s*<command-args>")
_WRAPPER = re.compile(r"</?[a-z][a-z0-9]{0,40}(?:[-_][a-z0-9]{1,40})+(?: [^<>]{0,200})?>")

#: Shorter lines of code are brackets and the like.
_LEAST_CODE_CHARS = 8
_FENCES = ("```", "~~~")
#: After Western marks a space and no small letter ("e.g. this"), after the full-width ones nothing.
_SENTENCE_END = re.compile("(?<=[.!?])(?<!\\s\\d\\.)\\s+(?![a-z])|(?<=[\u3002\uff01\uff1f\uff1b])")
_TERMINATORS = re.compile("[.!?] |[\u3002\uff01\uff1f\uff1b]")
_LINE_NUMBER = re.compile(r"\d{1,6}(?:[\u2192\t]|\| )\s*")
_BULLET = re.compile(r"\A(?:(?:[-*+#>|\u2022\u25cf]+|\d{1,3}[.)])\s+){1,3}")
_HEADING = re.compile(r"#{1,6} |\*\*[^*]+\*\*$")
SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")
_RULER = re.compile(r"([^\w\s.])\1{3,}\s*")
_EMPTY_SIGNS = "`*_-=#|>{}[]() "
_COLONS = (":", "\uff1a", ":**", ":*")
_CLAUSE_BORDERS = (
    ". ",
    "; ",
    ", ",
    ": ",
    " - ",
    " \u2013 ",
    " \u2014 ",
    " && ",
    "\u3002",
    "\uff0c",
    "\u3001",
    "\uff1b",
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


def unwrapped(text: str) -> str:
    """The text without the tags clients put around commands and outputs, and without their reminders.

    XML entities are read; `<command-name>/x</command-name> <command-args>y</command-args>` becomes `/x y`.
    """
    if "&" in text:
        text = html.unescape(text)
    if "<" not in text:
        return text
    for aside in _ASIDES:
        text = _without(text, aside)
    return _WRAPPER.sub("", _NAME_AND_ARGUMENTS.sub(" ", text))


def _without(text: str, tag: str) -> str:
    head, *rest = text.split(f"<{tag}>")
    return head + "".join(part.rpartition(f"</{tag}>")[2] for part in rest)


def sentences(text: str) -> list[Piece]:
    """Sentences and lines, each on one line without its bullet or line number.

    What ends with a colon takes the next sentence along, or is left out when code or nothing follows. Lines without
    any word are left out, and the shortest lines of code.
    """
    pieces: list[Piece] = []
    is_fenced, lead = False, ""
    for raw in text.split("\n"):
        line = raw.strip()
        if line[:1].isdigit() and (numbered := _LINE_NUMBER.match(line)):
            line = line[numbered.end() :]
        if line[:3] in _FENCES:
            is_fenced, lead = not is_fenced, ""
        elif is_fenced or (line and is_code(line)):
            lead = ""
            if len(line) >= _LEAST_CODE_CHARS:
                pieces.append((single_line(clip(line, ENTRY_CHARS)), Form.CODE))
        elif line:
            lead = _add_spoken(pieces, line, lead)
    return pieces


def _add_spoken(pieces: list[Piece], line: str, lead: str) -> str:
    """Add the sentences of a line of prose; returns one that ends with a colon, for the next line."""
    form = Form.PROSE
    if not line[0].isalpha():
        form = Form.HEADING if _HEADING.match(line) else Form.PROSE
        line = _BULLET.sub("", line, count=1)
    for sentence in _SENTENCE_END.split(line) if _TERMINATORS.search(line) else (line,):
        if sentence.endswith(_COLONS):
            lead = sentence
        elif sentence:
            _add(pieces, f"{lead} {sentence}" if lead else sentence, form)
            lead = ""
    return lead


def _add(pieces: list[Piece], text: str, form: Form) -> None:
    if "**" in text:
        text = text.replace("**", "")
    plain = single_line(text)
    if plain[:3] == 3 * plain[:1]:
        plain = _RULER.sub("", plain)
    if plain[-1:] == "|":
        plain = plain.rstrip("| ")
    if plain[:1].isalnum() or plain.strip(_EMPTY_SIGNS):
        pieces.append((cut_at_clause(plain, ENTRY_CHARS) if len(plain) > ENTRY_CHARS else plain, form))


def single_line(text: str) -> str:
    """One line of at most 960 characters, safe to print: as `lcm.text.one_line`, quicker for plain text."""
    if text.isprintable() and "  " not in text and len(text) <= 2 * ENTRY_CHARS:
        return text.strip()
    return one_line(text, 2 * ENTRY_CHARS)


def cut_at_clause(text: str, max_chars: int) -> str:
    """The text, or as many of its clauses as fit in `max_chars` with an ellipsis; at least a third of that.

    Without a border between clauses it is cut between words, and without any space between characters.
    """
    if len(text) <= max_chars:
        return text
    head = clip(text, max_chars - 1)
    place = max(head.rfind(border) for border in _CLAUSE_BORDERS)
    if place < max_chars // 3:
        place = head.rfind(" ") if head.rfind(" ") > max_chars // 3 else len(head)
    return f"{head[:place].rstrip(' ,;:')}\u2026"
