"""The baseline: a bare FTS5 table of the same texts, stemmed, ranked by BM25."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from lcm.retrieval.terms import STOP_WORDS

_WORD = re.compile(r"\w+")


class Bm25:
    """Any word of a question that is no stop word may occur; the rank alone decides."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
        self._database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", texts.items())

    def search(self, query: str, limit: int = 10) -> list[int]:
        """Keys of the texts, the best first."""
        words = [word for word in _WORD.findall(query) if word.lower() not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return []
        found = self._database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (match, limit)
        )
        return [row[0] for row in found]
