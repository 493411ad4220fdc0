"""Gathers, batch by batch, which of many texts match, and keeps the newest of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from lcm.storage.contracts.lexical_search import MatchTexts

_BATCH_TEXTS = 64
_BATCH_BYTES = 1 << 20

#: Greater is newer; a text without a time is older than all others.
_Age = tuple[bool, float, int]


class NewestMatches:
    """Takes texts in any order; after `max_bytes` of them, or once its caller gave up, it takes no more."""

    def __init__(
        self, matching: MatchTexts, *, limit: int, max_bytes: int, is_given_up: Callable[[], bool] = lambda: False
    ) -> None:
        self._matching = matching
        self._is_given_up = is_given_up
        self._limit = limit
        self._bytes_left = max_bytes
        self._batch: list[bytes] = []
        self._ages: list[_Age] = []
        self._batch_bytes = 0
        self._newest: list[_Age] = []
        self.count = 0
        self.is_complete = True

    def add(self, row_id: int, at: float | None, text: bytes) -> None:
        """A text; `at` grows with its time."""
        if self._bytes_left <= 0 or self._is_given_up():
            self.is_complete = False
            return
        self._batch.append(text)
        self._ages.append((at is not None, at or 0, row_id))
        self._batch_bytes += len(text)
        if len(self._batch) >= _BATCH_TEXTS or self._batch_bytes >= _BATCH_BYTES:
            self._match_batch()

    def finish(self) -> list[int]:
        """Row ids of the newest matches, the newest first."""
        self._match_batch()
        return [row_id for *_, row_id in sorted(self._newest, reverse=True)]

    def _match_batch(self) -> None:
        self._bytes_left -= self._batch_bytes
        for at in self._matching(self._batch) if self._batch else ():
            self.count += 1
            if len(self._newest) < self._limit:
                heapq.heappush(self._newest, self._ages[at])
            else:
                heapq.heappushpop(self._newest, self._ages[at])
        self._batch, self._ages, self._batch_bytes = [], [], 0
