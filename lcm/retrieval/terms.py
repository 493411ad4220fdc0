"""Take any query text apart into terms; nothing in it is syntax but a pair of double quotes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lcm.domain.cjk import CJK, character_pairs
from lcm.storage.contracts.lexical_search import MatchQuery

MAX_TERMS = 64
_MAX_QUERY_CHARS = 20_000

#: A letter or digit of any other script, and what a word continues with (accents written apart).
LETTER = rf"[^\W_{CJK}]"
WORD_CHAR = rf"(?:{LETTER}|[\u0300-\u036f])"
_TOKEN = re.compile(rf"(?P<cjk>[{CJK}]+)|(?P<name>{WORD_CHAR}+(?:[_./\\:@#-]{{1,3}}{WORD_CHAR}+)*)")
_WORD = re.compile(rf"{WORD_CHAR}+")
_QUOTED = re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d')
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")

_STOP_WORDS = """
    a about after all also am an and any are as at be been before being but by can could d did didn do does doesn doing
    don down during each few for from had has hasn have haven having he her here hers him his how i if in into is isn it
    its just ll m me might more most must my no nor not of off on once only or other our ours out over own re s same
    shall she should so some such t than that the their theirs them then there these they this those through to too
    under until up us ve very was wasn we were weren what when where which while who whom whose why will with won would
    wouldn you your yours please tell
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query in the order typed, each once.

    Attributes:
        words: single words. phrases: words that stood in quotes, or make one identifier, path or hyphenated word.
        cjk: runs of CJK characters. pieces: parts of camelCase words, which may stand alone elsewhere.
        is_cut: the query has more terms than are looked for.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    cjk: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.phrases or self.cjk)

    @property
    def is_single(self) -> bool:
        """One plain word: any of the terms is all of them."""
        return len(self.words) == 1 and not (self.phrases or self.cjk or self.pieces)

    def match_all(self) -> MatchQuery:
        """Every term must occur."""
        return MatchQuery(words=self.words, cjk=self.cjk, phrases=self.phrases, require_all=True)

    def match_any(self) -> MatchQuery:
        """Any word, any part of an identifier and any pair of CJK characters is enough."""
        loose = (*self.words, *(word for phrase in self.phrases for word in phrase), *self.pieces)
        return MatchQuery(words=_each_once(loose), cjk=_pairs_of(self.cjk)[:MAX_TERMS], phrases=self.phrases)


def parse_query(query: str) -> QueryTerms:
    """At most 64 terms of a query. Stop words go unless they are quoted or all there is."""
    text = unicodedata.normalize("NFC", query[:_MAX_QUERY_CHARS])
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    plain = _read_terms(_QUOTED.sub(" ", text))
    exact = [term for segment in quoted for term in _read_quoted(segment)]
    kept = [term for term in plain if not _is_stop_word(term)]
    terms = exact + kept or plain
    is_cut = len(terms) > MAX_TERMS or len(query) > _MAX_QUERY_CHARS
    return _terms(terms[:MAX_TERMS], is_cut=is_cut)


@dataclass(frozen=True, slots=True)
class _Term:
    words: tuple[str, ...] = ()
    cjk: str = ""


def _read_terms(text: str) -> list[_Term]:
    return [
        _Term(cjk=match["cjk"]) if match["cjk"] else _Term(words=tuple(_WORD.findall(match["name"])))
        for match in _TOKEN.finditer(text)
    ]


def _read_quoted(segment: str) -> Iterator[_Term]:
    """Neighbouring words are one phrase; a CJK run parts them."""
    words: list[str] = []
    for term in _read_terms(segment):
        words += term.words
        if term.cjk:
            yield from [_Term(words=tuple(words))] if words else []
            yield term
            words = []
    if words:
        yield _Term(words=tuple(words))


def _is_stop_word(term: _Term) -> bool:
    return len(term.words) == 1 and term.words[0].lower() in STOP_WORDS


def _terms(terms: list[_Term], *, is_cut: bool) -> QueryTerms:
    words = _each_once(term.words[0] for term in terms if len(term.words) == 1)
    cjk = _each_once(term.cjk for term in terms if term.cjk)
    return QueryTerms(
        words=words,
        phrases=tuple(dict.fromkeys(term.words for term in terms if len(term.words) > 1)),
        cjk=cjk,
        pieces=_each_once(piece for word in words for piece in camel_pieces(word)),
        is_cut=is_cut or len(_pairs_of(cjk)) > MAX_TERMS,
    )


def _pairs_of(runs: Iterable[str]) -> tuple[str, ...]:
    return _each_once(pair for run in runs for pair in character_pairs(run))


def camel_pieces(word: str) -> list[str]:
    """`parseHTTPHeader` gives `parse`, `HTTP`, `Header`; a word of one piece gives none."""
    pieces = [piece for piece in _CAMEL.findall(word) if len(piece) > 1] if word.isascii() else []
    return pieces if len(pieces) > 1 else []


def _each_once(words: Iterable[str]) -> tuple[str, ...]:
    """Without repetitions in another case; the first spelling stays."""
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.lower(), word)
    return tuple(seen.values())
