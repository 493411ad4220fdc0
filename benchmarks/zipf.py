"""Text of made-up words whose frequencies follow Zipf's law, as those of a language do; the same for the same seed."""

from __future__ import annotations

import random
from functools import cache
from itertools import accumulate

VOCABULARY = 30_000
_SEED = 1949
#: The commonest words of English take the first ranks, so that a question in plain language meets them in the text.
_FUNCTION_WORDS = """
    the of and to in a is that for it as was with be by on not he i this are or his from at which but have an had they
    you were their one all we can her has there been if more when will would who so no
"""
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"


class Words:
    """A vocabulary and a source of text from it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._words, self._weights = vocabulary(), _cumulative_weights()

    def text(self, count: int) -> str:
        """So many words, a full stop and a line end now and then."""
        words = self._chance.choices(self._words, cum_weights=self._weights, k=count)
        for end in range(14, count, 15):
            words[end] += ".\n" if end % 45 == 44 else "."
        return " ".join(words)


@cache
def vocabulary() -> list[str]:
    """All words by rank, the commonest first."""
    chance = random.Random(_SEED)
    words = dict.fromkeys(_FUNCTION_WORDS.split())
    while len(words) < VOCABULARY:
        words.setdefault(_made_up(chance))
    return list(words)


@cache
def _cumulative_weights() -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))


def _made_up(chance: random.Random) -> str:
    syllables = chance.choices((1, 2, 3, 4), weights=(10, 45, 35, 10))[0]
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables)) + chance.choice(
        "nrst"
    )
