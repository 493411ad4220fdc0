"""One relevance in 0..1 of a text for a query, read with what stands beside it.

No statistics of the corpus: it follows from the text and its neighbours alone, so it is equal on every backend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul

from lcm.domain.cjk import character_pairs
from lcm.retrieval.hits import Hit, find_hits, has_phrase, is_adjacent
from lcm.retrieval.stems import stem, weight
from lcm.retrieval.terms import QueryTerms, camel_pieces

_NEAR_CHARS = 24
_PIECE_STRENGTH = 0.6
#: Weight of a CJK character; runs longer than a few say no more.
_CJK_WEIGHT = 0.4
_MAX_CJK_WEIGHT = 1.6
#: A text of this length is neither short nor long, in characters.
_TYPICAL_CHARS = 600
_SNIPPET_CHARS = 160
_MAX_NEIGHBOURS = 32
#: A message answers or continues the one before it, so a word that stands beside it counts, but less than its own:
#: strength of a word of the message one before, two before, and one after.
_BESIDE_STRENGTHS = (0.6, 0.3, 0.4)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text itself says about a query.

    Attributes:
        strengths: 0..1 of every term of the query, in the order of `Query.term_weights`.
        quality: 0..1, how close together and how often the words come up.
        hits: where they are.
    """

    strengths: tuple[float, ...]
    quality: float
    hits: tuple[Hit, ...]

    @property
    def has_any(self) -> bool:
        return any(self.strengths)


@dataclass(frozen=True, slots=True)
class Query:
    """A query made ready to score many texts.

    Attributes:
        words: stems of single words; pieces: stems of the parts of camelCase ones, by the stem of the whole.
        phrases: stems of words that belong side by side; cjk: runs of CJK characters.
        weights: of every stem to look for; stems: these alone; total_weight: their sum.
        term_weights: of the words, then the phrases, then the runs; term_total: their sum.
        neighbours: words that follow each other.
    """

    words: tuple[str, ...]
    pieces: dict[str, tuple[str, ...]]
    phrases: tuple[tuple[str, ...], ...]
    cjk: tuple[str, ...]
    weights: dict[str, float]
    stems: frozenset[str]
    total_weight: float
    term_weights: tuple[float, ...]
    term_total: float
    neighbours: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, terms: QueryTerms) -> Query:
        words = tuple(dict.fromkeys(map(stem, terms.words)))
        pieces = {stem(word): tuple(map(stem, parts)) for word in terms.words if (parts := camel_pieces(word))}
        phrases = tuple(tuple(map(stem, phrase)) for phrase in terms.phrases)
        stems = frozenset({*words, *(part for group in (*pieces.values(), *phrases) for part in group)})
        weights = {each: weight(each) for each in sorted(stems)}
        term_weights = (
            *(weights[word] for word in words),
            *(sum(weights[word] for word in phrase) for phrase in phrases),
            *(min(_MAX_CJK_WEIGHT, _CJK_WEIGHT * len(run)) for run in terms.cjk),
        )
        return cls(
            words=words,
            pieces=pieces,
            phrases=phrases,
            cjk=terms.cjk,
            weights=weights,
            stems=stems,
            total_weight=sum(weights.values()),
            term_weights=term_weights,
            term_total=sum(term_weights),
            neighbours=tuple(pairwise(words)),
        )


def read(query: Query, text: str) -> Reading:
    """A text by itself."""
    hits = find_hits(text, query.stems)
    counts = Counter([hit.stem for hit in hits])
    strengths = (
        *(_word_strength(query, word, counts) for word in query.words),
        *(_phrase_strength(text, hits, phrase, counts) for phrase in query.phrases),
        *(_cjk_strength(text, run) for run in query.cjk),
    )
    if not any(strengths):
        return Reading(strengths, 0.0, ())
    quality = 0.6 + 0.12 * all(strengths) + 0.13 * _closeness(query, text, hits) + 0.15 * _density(query, text, counts)
    return Reading(strengths, quality, tuple(hits))


def relevance(query: Query, reading: Reading, beside: Sequence[Reading | None] = ()) -> float:
    """0 without any term of its own, 1 at most for all of them side by side in a short text.

    `beside` holds readings of the message before, the one before that, and the one after; None for one without any
    term.
    """
    if not reading.has_any:
        return 0.0
    strengths = reading.strengths
    for other, share in zip(beside, _BESIDE_STRENGTHS, strict=False):
        if other is not None:
            strengths = tuple(max(own, share * near) for own, near in zip(strengths, other.strengths, strict=True))
    covered: float = sum(map(mul, query.term_weights, strengths))
    return round(min(1.0, covered / query.term_total * reading.quality), 6)


def _word_strength(query: Query, word: str, counts: Counter[str]) -> float:
    if word in counts:
        return 1.0
    parts = query.pieces.get(word, ())
    return _PIECE_STRENGTH * sum(part in counts for part in parts) / len(parts) if parts else 0.0


def _phrase_strength(text: str, hits: Sequence[Hit], phrase: Sequence[str], counts: Counter[str]) -> float:
    """Whole when its words stand side by side, half for scattered words."""
    if has_phrase(text, hits, phrase):
        return 1.0
    return sum(word in counts for word in phrase) / len(phrase) / 2


def _cjk_strength(text: str, run: str) -> float:
    """Share of the pairs of characters that occur."""
    pairs = character_pairs(run)
    return sum(pair in text for pair in pairs) / len(pairs)


def _closeness(query: Query, text: str, hits: Sequence[Hit]) -> float:
    """Share of neighbouring query words that are neighbours in the text too; near ones count half, turned ones half."""
    wanted = query.neighbours
    if not wanted:
        return 1.0
    found: dict[tuple[str, str], float] = {}
    for first, second in pairwise(hits):
        if 0 <= second.start - first.end <= _NEAR_CHARS:
            pair, value = (first.stem, second.stem), 1.0 if is_adjacent(text, first, second) else 0.5
            found[pair] = max(found.get(pair, 0.0), value)
    return sum(max(found.get(pair, 0.0), found.get(pair[::-1], 0.0) / 2) for pair in wanted) / len(wanted)


def _density(query: Query, text: str, counts: Counter[str]) -> float:
    """How often the words come up, with a saturation that a long text reaches later."""
    if not query.weights:
        return 1.0
    reference = 0.3 + 0.7 * len(text) / _TYPICAL_CHARS
    found = sum(query.weights[word] * count / (count + reference) for word, count in counts.items())
    return found / query.total_weight


def best_place(query: Query, text: str, hits: Sequence[Hit]) -> int:
    """Start of the hit behind which most is said within a snippet; without one that of the first CJK pair.

    In code points.
    """
    best, best_weight = -1, 0.0
    for at, hit in enumerate(hits):
        near = (other for other in hits[at : at + _MAX_NEIGHBOURS] if other.end - hit.start <= _SNIPPET_CHARS)
        said = sum(query.weights[word] for word in {other.stem for other in near})
        if said > best_weight:
            best, best_weight = hit.start, said
    return best if best >= 0 else _first_cjk(query, text)


def _first_cjk(query: Query, text: str) -> int:
    places = (text.find(pair) for run in query.cjk for pair in character_pairs(run))
    return min((place for place in places if place >= 0), default=0)
