"""Where the words of a query stand in a text, by their stems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from lcm.retrieval.stems import fold, stem
from lcm.retrieval.terms import LETTER, WORD_CHAR, camel_pieces

#: Longer texts are read only around the places where a word can be.
_WHOLE_CHARS = 50_000
_PLACES_PER_WORD = 24
_PASSAGE_RADIUS = 400
_MAX_HITS = 4_000
#: A word starts where no letter stands before it, or where a part of a camelCase word starts.
_WORD_START = rf"(?:(?<!{LETTER})|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
_HAS_WORD = re.compile(WORD_CHAR)


@dataclass(frozen=True, slots=True)
class Hit:
    """A word of the text, or a part of a camelCase one, with a stem that was looked for; places in code points."""

    start: int
    end: int
    stem: str


def find_hits(text: str, stems: frozenset[str]) -> list[Hit]:
    """Hits in order of their place; of a text with very many, the first 4,000."""
    hits: list[Hit] = []
    if not stems:
        return hits
    prefixes = _prefixes(stems)
    pattern = _pattern(prefixes)
    for offset, passage in _passages(text, prefixes):
        for match in pattern.finditer(fold(passage)):
            start = offset + match.start()
            hits += [Hit(start, start + length, found) for found, length in _read_token(match[0], stems)]
            if len(hits) >= _MAX_HITS:
                return hits
    return hits


def is_adjacent(text: str, first: Hit, second: Hit) -> bool:
    """Whether no other word stands between two hits."""
    return first.end <= second.start and _HAS_WORD.search(text, first.end, second.start) is None


def has_phrase(text: str, hits: Sequence[Hit], phrase: Sequence[str]) -> bool:
    """Whether hits with these stems stand side by side in this order."""
    for at in range(len(hits) - len(phrase) + 1):
        run = hits[at : at + len(phrase)]
        if all(hit.stem == word for hit, word in zip(run, phrase, strict=True)) and all(
            is_adjacent(text, first, second) for first, second in pairwise(run)
        ):
            return True
    return False


def _read_token(token: str, stems: frozenset[str]) -> Iterable[tuple[str, int]]:
    """The stem and length of a token, or of the first part of a camelCase one, when it is looked for."""
    whole = stem(token)
    if whole in stems:
        return [(whole, len(token))]
    parts = camel_pieces(token)
    if parts and token.startswith(parts[0]) and (first := stem(parts[0])) in stems:
        return [(first, len(parts[0]))]
    return []


def _prefixes(stems: frozenset[str]) -> tuple[str, ...]:
    """What every word with one of the stems starts with: stemming changes at most the last letter that it keeps."""
    return tuple(sorted({each[:-1] if len(each) > 3 or each.endswith(("e", "i")) else each for each in stems} - {""}))


@lru_cache(maxsize=64)
def _pattern(prefixes: tuple[str, ...]) -> re.Pattern[str]:
    # Only the prefixes ignore case: under that flag the large classes take milliseconds to compile.
    return re.compile(f"{_WORD_START}(?i:{'|'.join(map(re.escape, prefixes))}){WORD_CHAR}*")


def _passages(text: str, prefixes: Sequence[str]) -> list[tuple[int, str]]:
    """A text as (offset, passage): whole, or of a long one the parts around the first places of each prefix."""
    if len(text) <= _WHOLE_CHARS:
        return [(0, text)]
    lowered = fold(text).lower()
    if len(lowered) != len(text):
        lowered = fold(text)
    spans: list[list[int]] = []
    for at in sorted(place for prefix in prefixes for place in _places(lowered, prefix)):
        start, end = max(0, at - _PASSAGE_RADIUS), at + _PASSAGE_RADIUS
        if spans and start <= spans[-1][1]:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    return [(start, text[start:end]) for start, end in spans]


def _places(lowered: str, prefix: str) -> list[int]:
    places: list[int] = []
    at = lowered.find(prefix)
    while at >= 0 and len(places) < _PLACES_PER_WORD:
        places.append(at)
        at = lowered.find(prefix, at + _PASSAGE_RADIUS)
    return places
