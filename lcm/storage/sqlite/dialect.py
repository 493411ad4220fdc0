"""What SQLite does its own way."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Insert, bindparam, cast, insert, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.types import LargeBinary, NullType

from lcm.errors import ProgrammingError
from lcm.storage.core.dialect import Ran, SearchIndex
from lcm.storage.sqlite import errors
from lcm.storage.sqlite.driver import driver_below
from lcm.storage.sqlite.search_index import FtsIndex
from lcm.tables.metadata import Tables, declare
from lcm.tables.types import Key, from_microseconds, to_microseconds

_KEY_BYTES = 16
_DIGEST_BYTES = 32


class SqliteDialect:
    """See `lcm.storage.core.dialect.BackendDialect`."""

    backend = "sqlite"

    def __init__(self) -> None:
        self._tables = declare(None)
        self._index = FtsIndex()

    @property
    def tables(self) -> Tables:
        return self._tables

    @property
    def index(self) -> SearchIndex:
        return self._index

    def among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        width = len(values[0].bytes if isinstance(values[0], uuid.UUID) else values[0]) if _are_bytes(values) else 0
        return _is_in(column, _Listed(bindparam(None, _listed(values), type_=NullType(), unique=True), width))

    def among_bound(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        width = _width_of(column)
        return _is_in(column, _Listed(bindparam(name, type_=NullType()), width))

    def among_value(self, values: Sequence[Any]) -> str | bytes:
        return _listed(values)

    def text_bytes(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        return cast(column, LargeBinary)

    def key_value(self, key: uuid.UUID) -> bytes:
        return key.bytes

    def time_value(self, at: datetime) -> int:
        return to_microseconds(at)

    def key_of(self, value: bytes) -> uuid.UUID:
        return uuid.UUID(bytes=value)

    def time_of(self, value: int) -> datetime:
        return from_microseconds(value)

    async def run(self, connection: AsyncConnection, sql: str, values: Any) -> Ran:
        return await driver_below(connection).run(sql, values)

    async def insert_rows(
        self, connection: AsyncConnection, table: Any, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> None:
        if rows:
            await driver_below(connection).run_many(_insert_sql(table, tuple(columns)), rows)

    def insert_or_skip(self, table: Any) -> Insert:
        return sqlite.insert(table).on_conflict_do_nothing()

    def upsert(self, table: Any, keys: Sequence[str], update: Mapping[str, Any]) -> Insert:
        statement = sqlite.insert(table)
        new_values = update or {
            column.name: statement.excluded[column.key] for column in table.columns if column.name not in keys
        }
        return statement.on_conflict_do_update(index_elements=list(keys), set_=new_values)

    async def reserve_message_ids(self, connection: AsyncConnection, count: int) -> range:
        """The writer holds the database, so the next ids are those after the highest ever given."""
        query = text(
            "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0),"
            " coalesce((SELECT max(message_id) FROM messages), 0))"
        )
        last = (await connection.execute(query)).scalar() or 0
        return range(last + 1, last + 1 + count)

    async def count_messages_ever(self, connection: AsyncConnection) -> int | None:
        """The highest id ever given: ids have no gaps, since what was rolled back gives its ids back."""
        query = text("SELECT seq FROM sqlite_sequence WHERE name = 'messages'")
        return int((await connection.execute(query)).scalar() or 0)

    async def lock_key(self, connection: AsyncConnection, name: str) -> None:
        """SQLite has one writer; there is nothing to lock."""

    def translate(self, error: BaseException, *, project_id: str | None, domain: str) -> BaseException:
        return errors.translate(error, project_id=project_id, domain=domain)


@cache
def sqlite_dialect() -> SqliteDialect:
    """The one dialect of all projects: statements are built once for it."""
    return SqliteDialect()


@cache
def _insert_sql(table: Any, columns: tuple[str, ...]) -> str:
    compiled = insert(table).compile(dialect=sqlite.dialect(paramstyle="qmark"), column_keys=list(columns))
    if tuple(compiled.positiontup or ()) != columns:
        raise ProgrammingError("Rows to insert name their columns in the table's order.")
    return str(compiled)


class _Listed(ColumnElement[Any]):
    """A subquery of many values out of one parameter: JSON, or byte strings of one length, which JSON cannot carry.

    An element of its own, because building the same of SQLAlchemy's parts costs more than the query.
    """

    inherit_cache = True
    type = NullType()
    _traverse_internals = [  # noqa: RUF012 - as SQLAlchemy declares it
        ("values", InternalTraversal.dp_clauseelement),
        ("width", InternalTraversal.dp_plain_obj),
    ]

    def __init__(self, values: BindParameter[Any], width: int) -> None:
        self.values = values
        self.width = width


@compiles(_Listed)
def _render_listed(element: _Listed, compiler: SQLCompiler, **options: Any) -> str:
    values, width = (compiler.process(element.values, **options) for _ in range(2)), element.width
    if not width:
        return f"(SELECT value FROM json_each({next(values)}))"  # noqa: S608 - a placeholder
    numbers = f"SELECT 0 UNION ALL SELECT n + 1 FROM each WHERE (n + 2) * {width} <= length({next(values)})"  # noqa: S608 - a placeholder
    pieces = f"SELECT substr({next(values)}, n * {width} + 1, {width}) FROM each"  # noqa: S608 - a placeholder
    return f"(WITH RECURSIVE each(n) AS ({numbers}) {pieces})"


def _is_in(column: ColumnElement[Any], listed: _Listed) -> ColumnElement[bool]:
    return column.bool_op("IN")(listed)


def _listed(values: Sequence[Any]) -> str | bytes:
    if _are_bytes(values):
        return b"".join(each.bytes if isinstance(each, uuid.UUID) else each for each in values)
    return json.dumps(list(values))


def _are_bytes(values: Sequence[Any]) -> bool:
    return bool(values) and isinstance(values[0], (bytes, uuid.UUID))


def _width_of(column: ColumnElement[Any]) -> int:
    """Length of a column's values when they are bytes: they are keys or digests."""
    if isinstance(column.type, Key):
        return _KEY_BYTES
    return _DIGEST_BYTES if isinstance(column.type, LargeBinary) else 0
