"""What differs between backends, as one small interface; no other module asks for a dialect's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import ColumnElement, Insert, Select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.tables.metadata import Tables

#: A select of any columns.
Query: TypeAlias = Select[*tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A text to be found by search: row id and content."""

    row_id: int
    content: str


class SearchIndex(Protocol):
    """Keeps derived search words in step with their rows, in the same transaction."""

    async def add_messages(self, connection: AsyncConnection, texts: Sequence[IndexedText]) -> None: ...

    async def remove_messages(self, connection: AsyncConnection, texts: Sequence[IndexedText]) -> None:
        """Called before the rows go, with the content as stored."""
        ...

    async def add_summaries(self, connection: AsyncConnection, texts: Sequence[IndexedText]) -> None: ...


class BackendDialect(Protocol):
    """The statements and habits of one backend.

    Attributes:
        backend: "sqlite" or "postgresql".
        tables: its tables.
        index: its search index.
    """

    @property
    def backend(self) -> str: ...

    @property
    def tables(self) -> Tables: ...

    @property
    def index(self) -> SearchIndex: ...

    def among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        """`column` is one of `values`, with a constant number of bind parameters however many there are."""
        ...

    def text_bytes(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        """A text column as the bytes that are stored: the driver refuses a row whose text is damaged."""
        ...

    def insert_or_skip(self, table: Any) -> Insert:
        """An insert that leaves a row that is already there as it is."""
        ...

    def upsert(self, table: Any, keys: Sequence[str], update: Mapping[str, Any]) -> Insert:
        """An insert that on conflict over `keys` sets `update`; empty: every other column to its new value."""
        ...

    async def reserve_message_ids(self, connection: AsyncConnection, count: int) -> range:
        """Ids for the next `count` messages, ascending; the caller holds a write transaction and inserts them all."""
        ...

    async def lock_key(self, connection: AsyncConnection, name: str) -> None:
        """Serialize writers of one name until the end of the transaction, where the backend has several writers."""
        ...

    def translate(self, error: BaseException, *, project_id: str | None, domain: str) -> BaseException:
        """A driver's error as an error of lcm without SQL, values or paths; others are returned unchanged."""
        ...
