"""Words in the form in which they are compared: without case, accents and endings; and how much a word says."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import snowballstemmer

_ACCENT_MARKS = re.compile("[\u0300-\u036f]+")
_COMMON_WEIGHT = 0.4

#: Words that say little although they are no stop words.
_COMMON = """
    ask call come day feel find first get give go good great happen kind know last let like long look make mean much
    need new now one people really right said say see seem show start still take talk thing think time try use want way
    week well work year yes
"""


def _base_letter(code: int) -> str | None:
    """The ASCII letter under the accents of a letter, None when there is none."""
    base = _ACCENT_MARKS.sub("", unicodedata.normalize("NFKD", chr(code)))
    return base if len(base) == 1 and base.isascii() else None


#: Letter for letter, so that places in the text stay the same.
_FOLDED = {code: base for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if (base := _base_letter(code))}


def fold(text: str) -> str:
    """The text without accents on Latin letters, of the same length."""
    return text if text.isascii() else text.translate(_FOLDED)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """What two forms of a word have in common."""
    folded = _ACCENT_MARKS.sub("", fold(word)).casefold()
    if not folded.isascii():
        return folded
    return str(_stemmer().stemWord(folded))


@lru_cache(maxsize=1)
def _stemmer() -> snowballstemmer.PorterStemmer:
    return snowballstemmer.stemmer("porter")


def weight(stemmed: str) -> float:
    """How much a word tells, by its form alone: long words and numbers more than short and everyday ones."""
    if stemmed in _COMMON_STEMS:
        return _COMMON_WEIGHT
    length = min(len(stemmed), 8)
    return 0.6 + length / 20 + (0.2 if any(character.isdigit() for character in stemmed) else 0.0)


_COMMON_STEMS = frozenset(map(stem, _COMMON.split()))
