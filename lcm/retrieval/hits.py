"""Where the words of a query stand in a text, by their stems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lcm.retrieval.stems import fold, stem
from lcm.retrieval.terms import LETTER, WORD_CHAR, camel_pieces

#: Longer texts are read only around the places where a word can be.
_WHOLE_CHARS = 50_000
_PLACES_PER_WORD = 24
_PASSAGE_RADIUS = 400
_MAX_HITS = 4_000
#: A word starts where no letter stands before it, or where a part of a camelCase word starts.
_WORD_START = rf"(?:(?<!{LETTER})|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
_TOKEN = re.compile(f"{_WORD_START}{WORD_CHAR}+")
_HAS_WORD = re.compile(WORD_CHAR)


class Hit(NamedTuple):
    """A word of the text, or a part of a camelCase one, with a stem that was looked for; places in code points.

    A tuple, because a search makes hundreds of them and a frozen dataclass costs three times as much.
    """

    start: int
    end: int
    stem: str


def find_hits(text: str, stems: frozenset[str]) -> list[Hit]:
    """Hits in order of their place; of a text with very many, the first 4,000."""
    hits: list[Hit] = []
    if not stems:
        return hits
    prefixes = _prefixes(stems)
    folded = fold(text)
    lowered = _lower(folded)
    end_of_last = 0
    for at in _candidates(lowered, prefixes):
        if at < end_of_last or not (token := _TOKEN.match(folded, at)):
            continue
        if found := _read_token(token[0], stems):
            stemmed, length = found
            end_of_last = at + length
            hits.append(Hit(at, end_of_last, stemmed))
            if len(hits) == _MAX_HITS:
                break
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


def _read_token(token: str, stems: frozenset[str]) -> tuple[str, int] | None:
    """The stem and length of a token, or of the first part of a camelCase one, when it is looked for."""
    whole = stem(token)
    if whole in stems:
        return whole, len(token)
    parts = camel_pieces(token)
    if parts and token.startswith(parts[0]) and (first := stem(parts[0])) in stems:
        return first, len(parts[0])
    return None


@lru_cache(maxsize=64)
def _prefixes(stems: frozenset[str]) -> tuple[str, ...]:
    """What every word with one of the stems starts with: stemming changes at most the last letter that it keeps."""
    return tuple(sorted({each[:-1] if len(each) > 3 or each.endswith(("e", "i")) else each for each in stems} - {""}))


def _lower(text: str) -> str:
    """In lower case, of the same length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)


def _candidates(lowered: str, prefixes: Sequence[str]) -> Iterator[int]:
    """Where a word can start, in order: `str.find` passes over a text many times faster than an expression does."""
    for start, end in _passages(lowered, prefixes):
        yield from sorted({place for prefix in prefixes for place in _places(lowered, prefix, start, end)})


def _passages(lowered: str, prefixes: Sequence[str]) -> list[tuple[int, int]]:
    """A text as (start, end): whole, or of a long one the parts around some places of each prefix, none overlapping."""
    if len(lowered) <= _WHOLE_CHARS:
        return [(0, len(lowered))]
    spans: list[tuple[int, int]] = []
    for at in sorted(place for prefix in prefixes for place in _spread_places(lowered, prefix)):
        start, end = max(0, at - _PASSAGE_RADIUS), at + _PASSAGE_RADIUS
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _spread_places(lowered: str, prefix: str) -> Iterator[int]:
    """The first 24 places that are a radius apart."""
    at = lowered.find(prefix)
    for _ in range(_PLACES_PER_WORD):
        if at < 0:
            return
        yield at
        at = lowered.find(prefix, at + _PASSAGE_RADIUS)


def _places(lowered: str, prefix: str, start: int, end: int) -> Iterator[int]:
    at = lowered.find(prefix, start, end)
    while at >= 0:
        yield at
        at = lowered.find(prefix, at + 1, end)
