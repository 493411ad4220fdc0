"""One relevance in 0..1 of a text for a query: no statistics of the corpus, so it is equal on every backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

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


@dataclass(frozen=True, slots=True)
class Scored:
    """How well a text answers a query, and where its best passage starts (code points)."""

    relevance: float
    best_at: int


@dataclass(frozen=True, slots=True)
class Query:
    """A query made ready to score many texts.

    Attributes:
        words: stems of single words; pieces: stems of the parts of camelCase ones, by the stem of the whole.
        phrases: stems of words that belong side by side; cjk: runs of CJK characters.
        weights: of every stem to look for.
    """

    words: tuple[str, ...]
    pieces: dict[str, tuple[str, ...]]
    phrases: tuple[tuple[str, ...], ...]
    cjk: tuple[str, ...]
    weights: dict[str, float]

    @classmethod
    def of(cls, terms: QueryTerms) -> Query:
        words = tuple(dict.fromkeys(map(stem, terms.words)))
        pieces = {stem(word): tuple(map(stem, parts)) for word in terms.words if (parts := camel_pieces(word))}
        phrases = tuple(tuple(map(stem, phrase)) for phrase in terms.phrases)
        stems = {*words, *(part for group in (*pieces.values(), *phrases) for part in group)}
        return cls(words, pieces, phrases, terms.cjk, {each: weight(each) for each in sorted(stems)})


def score(query: Query, text: str) -> Scored:
    """Relevance of a text: 0 without any term, 1 at most for all of them side by side in a short text."""
    hits = find_hits(text, frozenset(query.weights))
    counts = Counter(hit.stem for hit in hits)
    strengths = [
        *((query.weights[word], _word_strength(query, word, counts)) for word in query.words),
        *((_phrase_weight(query, phrase), _phrase_strength(text, hits, phrase, counts)) for phrase in query.phrases),
        *((min(_MAX_CJK_WEIGHT, _CJK_WEIGHT * len(run)), _cjk_strength(text, run)) for run in query.cjk),
    ]
    total = sum(weighed for weighed, _ in strengths)
    if not total:
        return Scored(0.0, 0)
    coverage = sum(weighed * strength for weighed, strength in strengths) / total
    has_all = all(strength > 0 for _, strength in strengths)
    quality = 0.6 + 0.12 * has_all + 0.13 * _closeness(query, text, hits) + 0.15 * _density(query, text, counts)
    return Scored(round(min(1.0, coverage * quality), 6), _best_place(query, text, hits))


def _word_strength(query: Query, word: str, counts: Counter[str]) -> float:
    if word in counts:
        return 1.0
    parts = query.pieces.get(word, ())
    return _PIECE_STRENGTH * sum(part in counts for part in parts) / len(parts) if parts else 0.0


def _phrase_weight(query: Query, phrase: Sequence[str]) -> float:
    return sum(query.weights[word] for word in phrase)


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
    wanted = list(pairwise(query.words))
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
    return found / sum(query.weights.values())


def _best_place(query: Query, text: str, hits: Sequence[Hit]) -> int:
    """Start of the hit behind which most is said within a snippet; without one that of the first CJK pair."""
    best, best_weight = _first_cjk(query, text), 0.0
    for at, hit in enumerate(hits):
        near = (other for other in hits[at : at + _MAX_NEIGHBOURS] if other.end - hit.start <= _SNIPPET_CHARS)
        said = sum(query.weights[word] for word in {other.stem for other in near})
        if said > best_weight:
            best, best_weight = hit.start, said
    return best


def _first_cjk(query: Query, text: str) -> int:
    places = (text.find(pair) for run in query.cjk for pair in character_pairs(run))
    return min((place for place in places if place >= 0), default=0)
