"""What every transcript parser is: pure, streaming, resumable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from lcm.domain.records import JsonObject, ParsedItem


class TranscriptParser(Protocol):
    """Turns the JSON objects of one file, in order, into items; keeps only bounded state.

    A parser made with the `state()` of an earlier one goes on where that one stopped and yields what one parser over
    the whole file would have yielded from there, or `HistoryNeeded` when it would need more than its state.
    """

    def feed(self, line: int, record: JsonObject) -> Iterator[ParsedItem]:
        """Items of one line: at most one message per part of it, facts before the message they concern."""
        ...

    def state(self) -> JsonObject:
        """JSON-serialisable state after the last line fed."""
        ...
