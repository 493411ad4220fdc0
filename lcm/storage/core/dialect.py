"""What differs between backends, as one small interface; no other module asks for a dialect's name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias

from sqlalchemy import ColumnElement, Insert, Select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.tables.metadata import Tables

#: A select of any columns.
Query: TypeAlias = Select[*tuple[Any, ...]]


class IndexedText(NamedTuple):
    """A text to be found by search: row id and content."""

    row_id: int
    content: str


class Ran(NamedTuple):
    """What a statement gave, as the driver gives it: rows, or for a change how many rows it was of."""

    rows: Sequence[tuple[Any, ...]]
    rowcount: int

    @property
    def first(self) -> tuple[Any, ...] | None:
        return self.rows[0] if self.rows else None

    @property
    def scalar(self) -> Any:
        """The first value of the first row; None without one."""
        return self.rows[0][0] if self.rows else None


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

    def __hash__(self) -> int:
        """Statements are built once for a dialect, and kept under it."""
        ...

    @property
    def index(self) -> SearchIndex: ...

    def among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        """`column` is one of `values`, with a constant number of bind parameters however many there are."""
        ...

    def among_bound(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Like `among`, for a statement that is built once: its parameter `name` takes an `among_value`."""
        ...

    def among_value(self, values: Sequence[Any]) -> Any:
        """Integers, texts, keys or digests as the driver takes them in place of `among_bound`; all of one kind."""
        ...

    def text_bytes(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        """A text column as the bytes that are stored: the driver refuses a row whose text is damaged."""
        ...

    def key_value(self, key: uuid.UUID) -> Any:
        """A key as the driver takes it in `insert_rows`."""
        ...

    def time_value(self, at: datetime) -> Any:
        """A time as the driver takes it in `insert_rows`."""
        ...

    def key_of(self, value: Any) -> uuid.UUID:
        """A key as the driver gives it."""
        ...

    def time_of(self, value: Any) -> datetime:
        """A time as the driver gives it, in UTC."""
        ...

    async def run(self, connection: AsyncConnection, sql: str, values: Any) -> Ran:
        """Run a compiled statement with values as the driver takes them, in its order; see `prepared.run`."""
        ...

    async def insert_rows(
        self, connection: AsyncConnection, table: Any, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> None:
        """Insert many rows given as the driver takes them; none is no statement. `columns` are in the table's order.

        Compiled once per table: for thousands of rows the layers between a statement and its driver cost much.
        """
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

    async def count_messages_ever(self, connection: AsyncConnection) -> int | None:
        """How many messages were ever stored, those that are gone included; None where the backend does not know."""
        ...

    async def lock_key(self, connection: AsyncConnection, name: str) -> None:
        """Serialize writers of one name until the end of the transaction, where the backend has several writers."""
        ...

    def translate(self, error: BaseException, *, project_id: str | None, domain: str) -> BaseException:
        """A driver's error as an error of lcm without SQL, values or paths; others are returned unchanged."""
        ...
