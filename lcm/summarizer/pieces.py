"""A text in pieces that are small enough to be read at once. Pure."""

from __future__ import annotations

from math import ceil

from lcm.summarizer.truncation import clip_to_tokens
from lcm.tokens import estimate_tokens

#: Where a text is cut, the best first: before a message or summary, at a blank line, a line, a word.
_BOUNDARIES = ("\n\n[", "\n\n", "\n", " ")
#: A boundary before this share of a piece would make too many pieces.
_EARLIEST = 0.5
#: Pieces are of about equal size, with so much room for the search of a boundary.
_SLACK = 1.15


def split_text(text: str, max_tokens: int) -> list[str]:
    """Pieces of at most `max_tokens` (at least 1) estimated tokens, in order, none of them blank.

    They are cut where messages meet, else at blank lines, lines, words, and in an endless word where no character is
    split. White space at the cuts is dropped, nothing else.
    """
    pieces, rest = [], text.strip()
    while (tokens := estimate_tokens(rest)) > max_tokens:
        wanted = min(max_tokens, ceil(tokens / ceil(tokens / max_tokens) * _SLACK))
        cut = _cut(rest, wanted)
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*pieces, rest] if rest else pieces


def _cut(text: str, max_tokens: int) -> int:
    """Where the first piece ends; at least 1."""
    head = clip_to_tokens(text, max_tokens)
    for boundary in _BOUNDARIES:
        # One more character tells whether the head ends at a boundary.
        found = text.rfind(boundary, int(len(head) * _EARLIEST), len(head) + len(boundary))
        if found > 0:
            return found
    return len(head) or 1
