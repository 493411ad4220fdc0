"""Search and grep over the imported corpus: search beside the bare ranked query over the same index."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Budget, Line, line
from benchmarks.stores import least_cpu_ms, open_store
from benchmarks.workplace import Workplace, database_of
from benchmarks.zipf import vocabulary
from lcm.retrieval.grep import GrepMode, grep
from lcm.retrieval.search import search

_SEARCH_BUDGET = Budget(times_floor=1.5, plus=5)
_LITERAL_BUDGET, _OTHER_BUDGET = Budget(plus=150), Budget(plus=400)
_LIMIT = 5
#: The least that answers: the best rows by the index's own rank, with their texts.
_BARE = """
SELECT m.message_id, m.conversation_id, m.seq, m.content
FROM messages_fts
JOIN messages AS m ON m.message_id = messages_fts.rowid
WHERE messages_fts MATCH ?
ORDER BY rank
LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person types, and what is given to FTS5 for it."""

    typed: str
    bare: str


def questions() -> Mapping[str, Question]:
    """By what they are; ranks are places in the vocabulary, the commonest word first."""
    word = vocabulary()
    asked = (word[299], word[1_999], word[11_999])
    return {
        "rare word": Question(word[24_999], word[24_999]),
        "two common words": Question(f"{word[69]} {word[89]}", f"{word[69]} AND {word[89]}"),
        "phrase": Question(f'"{word[99]} {word[199]}"', f'"{word[99]} {word[199]}"'),
        "question": Question(f"what did we do with the {asked[0]} of {asked[1]} in {asked[2]}?", " OR ".join(asked)),
    }


def expressions() -> Mapping[str, tuple[str, Budget]]:
    """Regular expressions by what they are."""
    word = vocabulary()
    return {
        "regex with a rare literal": (rf"\b{word[24_999]}\s+\w+", _LITERAL_BUDGET),
        "regex with a common literal": (rf"\b{word[69]}\s+{word[89]}\b", _LITERAL_BUDGET),
        "regex without a literal": (r"\b\w{17,}\b", _OTHER_BUDGET),
        "regex without a literal or a match": (r"[0-9]{5}[a-f]{3}", _OTHER_BUDGET),
    }


def measure_search(work: Workplace) -> list[Line]:
    return asyncio.run(_measure_search(work))


def measure_grep(work: Workplace) -> list[Line]:
    return asyncio.run(_measure_grep(work))


async def _measure_search(work: Workplace) -> list[Line]:
    home, runs = work.home_of(work.corpus(work.sizes.messages)), work.sizes.light_runs
    lines = []
    async with open_store(home) as store:
        project, bare = await store.project(), _Bare(database_of(home))
        for kind, question in questions().items():
            own = await least_cpu_ms(partial(search, project, question.typed, limit=_LIMIT), runs)
            floor = await least_cpu_ms(partial(bare.search, question.bare), runs)
            lines.append(
                line(f"search, {kind}", own, "ms", floor=floor, budget=_SEARCH_BUDGET, is_full=work.sizes.is_full)
            )
        bare.close()
    return lines


async def _measure_grep(work: Workplace) -> list[Line]:
    home, lines = work.home_of(work.corpus(work.sizes.messages)), []
    async with open_store(home) as store:
        project = await store.project()
        for kind, (pattern, budget) in expressions().items():
            own = await least_cpu_ms(partial(grep, project, pattern, mode=GrepMode.REGEX), work.sizes.runs)
            lines.append(line(f"grep, {kind}", own, "ms", budget=budget, is_full=work.sizes.is_full))
    return lines


class _Bare:
    """The same index through the bare sqlite3 module, with the cache that lcm has."""

    def __init__(self, database: Path) -> None:
        self._connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        self._connection.execute("PRAGMA cache_size = -16384")

    async def search(self, expression: str) -> list[tuple[object, ...]]:
        return self._connection.execute(_BARE, (expression, _LIMIT)).fetchall()

    def close(self) -> None:
        self._connection.close()
