"""The part of a text that is shown in an answer."""

from __future__ import annotations

from collections.abc import Iterable

from lcm.text import one_line

SNIPPET_CHARS = 200
_LEAD_CHARS = 40
#: Enough of the text for a line of the snippet's length, whatever of it is white space or terminal sequences.
_WINDOW_CHARS = 16 * SNIPPET_CHARS


def snippet_at(text: str, place: int) -> str:
    """One line of at most 200 code points around a place; a beginning left out is marked by an ellipsis."""
    start = _start_of_word(text, max(0, place - _LEAD_CHARS), place)
    lead = "\u2026" if start else ""
    return lead + one_line(text[start : start + _WINDOW_CHARS], SNIPPET_CHARS - len(lead))


def _start_of_word(text: str, earliest: int, place: int) -> int:
    """The first place from `earliest` on where a word starts; `place` itself when there is none before it."""
    if earliest == 0:
        return 0
    blanks = (at for at in range(earliest - 1, place) if text[at].isspace())
    return next((at + 1 for at in blanks), place)


def place_of(text: str, literals: Iterable[str]) -> int:
    """Where the first of the literals to be found starts, in any case; 0 when none is."""
    lowered = text.lower()
    return next((place for literal in literals if (place := lowered.find(literal.lower())) >= 0), 0)
