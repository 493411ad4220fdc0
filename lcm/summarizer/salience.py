"""How much a line tells: rare words, names, numbers and paths count, common words and what is said already do not.

All figures are integers, so that the same source gives the same order on every machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from lcm.summarizer.sections import Entry
from lcm.tokens import estimate_tokens

#: Below this, a line says nothing worth a place ("You're right!", "Let me see.").
LEAST_INFORMATION = 150

_WORD = re.compile(r"[\w$@~/.:#+-]*\w")
_BLOB_CHARS = 60
_BLOB = re.compile(r"[A-Za-z0-9+=]{60,}|[A-Za-z0-9+/=]{160,}")
_OUTCOMES = re.compile(
    r"(?:errors?|fail(?:s|ed|ing|ures?)?|pass(?:es|ed|ing)?|fix(?:es|ed)?|bugs?|broken?|crash\w*|warn\w*|timeouts?"
    r"|exceptions?|denied|missing|wrong|completed?|removed?|added|created|renamed|deprecated)\Z",
    re.IGNORECASE,
)

_OUTCOME = 150
_NAME = 250
_ACRONYM = 120
_SHORT_ACRONYM = 40
_SHORTEST_ACRONYM = 3
_NUMBER = 120
_DIGIT = 80
_BIGRAM = 60
_OPAQUE = 20
#: Least length of a plain word and its value.
_PLAIN = ((8, 100), (6, 70), (4, 40), (0, 0))
_LONGEST_NAME = 160
_LONGEST_OPAQUE_NAME = 32

#: A word in so many lines more counts half.
_RARE_LINES = 8
#: Tokens that a line costs besides its own; without them the shortest lines would always win.
_LINE_TOKENS = 10
#: A line is new when at least this share of its information is, in per cent.
_LEAST_NEWS = 28
_SCALE = 1000


def information(text: str) -> int:
    """What the distinct words of a text are worth; 0 for none."""
    return sum(map(word_value, set(words_of(text))))


def words_of(text: str) -> list[str]:
    """Words, names, numbers and paths in order; scripts without spaces and capitals as overlapping pairs."""
    found: list[str] = _WORD.findall(text)
    if text.isascii():
        return found
    return [part for word in found for part in ((word,) if word.isascii() else _parts(word))]


def _parts(word: str) -> Sequence[str]:
    if word.lower() != word.upper() or len(word) < 3:
        return (word,)
    return [word[place : place + 2] for place in range(len(word) - 1)]


@lru_cache(maxsize=1 << 14)
def word_value(word: str) -> int:
    """What a word tells by itself: a name, path or number much, a short common word nothing."""
    if not word.isascii() and word.lower() == word.upper():
        return _BIGRAM
    if word.isalpha():
        return _letters_value(word)
    if word.isdigit():
        return _NUMBER if len(word) > 1 else _DIGIT
    is_opaque = len(word) > (_LONGEST_NAME if "/" in word or "." in word else _LONGEST_OPAQUE_NAME)
    return _OPAQUE if is_opaque else _NAME


def _letters_value(word: str) -> int:
    if _OUTCOMES.match(word):
        return _OUTCOME
    if word.islower() or word.istitle():
        return next(value for least, value in _PLAIN if len(word) >= least)
    if not word.isupper():
        return _NAME
    return _ACRONYM if len(word) >= _SHORTEST_ACRONYM else _SHORT_ACRONYM


class Salience:
    """What each of some entries would add to those that were covered so far; entries go by index."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._words: dict[int, set[str]] = {}
        self._values: dict[str, int] = {}
        self._totals: dict[int, int] = {}
        self._worths: dict[int, int] = {}

    def read(self, indexes: Sequence[int]) -> None:
        """Take some entries into account; a word is the rarer the fewer of them have it."""
        read = {index: set(words_of(self._entries[index].text)) for index in indexes}
        lines = Counter(chain.from_iterable(read.values()))
        values = {word: word_value(word) * _RARE_LINES // (_RARE_LINES - 1 + count) for word, count in lines.items()}
        # What was covered before stays covered.
        self._values = {**values, **self._values}
        self._words.update(read)
        for index, words in read.items():
            self._totals[index] = sum(map(self._values.__getitem__, words))
            self._worths[index] = _worth(self._entries[index])

    def most(self, index: int) -> int:
        """What `score` is at most."""
        return self._totals[index] * self._worths[index]

    def score(self, index: int) -> int:
        """What is new in an entry, by its worth and its length; 0 when too little is."""
        news = sum(map(self._values.__getitem__, self._words[index]))
        return news * self._worths[index] if news * 100 >= _LEAST_NEWS * self._totals[index] else 0

    def is_new(self, index: int) -> bool:
        """Whether an entry is more than a repetition of what was covered."""
        news = sum(map(self._values.__getitem__, self._words[index]))
        return news > 0 and news * 100 >= _LEAST_NEWS * self._totals[index]

    def tells(self, index: int) -> bool:
        """Whether an entry says enough to stand by itself."""
        return sum(map(word_value, self._words[index])) >= LEAST_INFORMATION

    def cover(self, index: int) -> None:
        """Take over an entry: its words are known from now on."""
        self._values.update(dict.fromkeys(self._words[index], 0))


def _worth(entry: Entry) -> int:
    """What a unit of an entry's information is worth, by its length; nothing in a line with encoded bytes."""
    if len(entry.text) >= _BLOB_CHARS and _BLOB.search(entry.text):
        return 0
    return _SCALE * entry.worth // (estimate_tokens(entry.text) + _LINE_TOKENS)
