"""Preselection for search: which rows may match. Relevance is computed by `lcm.retrieval`, one way on every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from lcm.domain.messages import Exclusion, Role


class TextKind(StrEnum):
    MESSAGE = "message"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Applied before any limit. `since` and `until` compare `occurred_at` (a summary's `latest_at`), inclusive."""

    conversation_id: int | None = None
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class MatchQuery:
    """Terms of a full-text query, already taken apart; a backend quotes them, so any text is safe.

    Attributes:
        words: letters and digits only, as typed. cjk: runs of CJK characters, as typed.
        phrases: sequences of words that must stand side by side, or be written as one word when that is at most 100
            characters long.
        require_all: every term must occur; else any of them is enough.
    """

    words: tuple[str, ...] = ()
    cjk: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    require_all: bool = False


@dataclass(frozen=True, slots=True)
class TextRow:
    """A message or summary as search sees it.

    `row_id` is message_id or the summary's insertion number, `exclusion` why a message is not in context.
    """

    kind: TextKind
    row_id: int
    conversation_id: int
    session_id: str
    content: str
    occurred_at: datetime | None
    seq: int | None = None
    role: Role | None = None
    summary_id: str | None = None
    depth: int | None = None
    exclusion: Exclusion | None = None


@dataclass(frozen=True, slots=True)
class Preselection:
    """Rows by descending index rank, then descending row id; `is_complete`: the index held no more than `limit`."""

    rows: tuple[TextRow, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Matches:
    """Rows by descending time, then descending row id; `count` is that of all matches, also those beyond the limit.

    `is_complete`: every text in scope was looked at.
    """

    rows: tuple[TextRow, ...]
    count: int
    is_complete: bool


#: Which texts of a batch (UTF-8) match, by their places in it. Runs in any thread, and must not raise.
MatchTexts = Callable[[Sequence[bytes]], Sequence[int]]


class LexicalSearchRepository(Protocol):
    async def match_messages(self, query: MatchQuery, filters: SearchFilters, *, limit: int) -> Preselection:
        """Messages that the full-text index gives for these terms."""
        ...

    async def match_summaries(self, query: MatchQuery, filters: SearchFilters, *, limit: int) -> Preselection: ...

    async def scan_messages(
        self, literals: Sequence[str], filters: SearchFilters, *, before_id: int | None, limit: int
    ) -> list[TextRow]:
        """A page of messages that contain every literal (ASCII letters match either case), newest id first."""
        ...

    async def scan_summaries(
        self, literals: Sequence[str], filters: SearchFilters, *, before_id: int | None, limit: int
    ) -> list[TextRow]: ...

    async def find_newest(
        self,
        kind: TextKind,
        literals: Sequence[str],
        filters: SearchFilters,
        matching: MatchTexts,
        *,
        limit: int,
        max_bytes: int,
    ) -> Matches:
        """The newest texts that contain every literal (ASCII letters match either case) and for which `matching` holds.

        Every text in scope is looked at, newest id first, until `max_bytes` of them were given to `matching`.
        Cancelling ends it at once.
        """
        ...

    async def find_missing(self) -> list[str]:
        """A full check: what the index lacks or holds wrongly, as safe sentences; empty when sound."""
        ...

    async def rebuild(self) -> None:
        """Drop and refill the index from the stored texts."""
        ...
