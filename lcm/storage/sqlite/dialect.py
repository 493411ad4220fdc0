"""What SQLite does its own way."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Insert, Integer, bindparam, cast, func, literal, literal_column, select, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import LargeBinary, NullType

from lcm.storage.core.dialect import SearchIndex
from lcm.storage.sqlite import errors
from lcm.storage.sqlite.search_index import FtsIndex
from lcm.tables.metadata import Tables, declare


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
        if values and isinstance(values[0], (bytes, uuid.UUID)):
            return column.in_(_slices([each.bytes if isinstance(each, uuid.UUID) else each for each in values]))
        each = func.json_each(bindparam(None, json.dumps(list(values)), unique=True)).table_valued("value")
        return column.in_(select(each.c.value))

    def text_bytes(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        return cast(column, LargeBinary)

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

    async def lock_key(self, connection: AsyncConnection, name: str) -> None:
        """SQLite has one writer; there is nothing to lock."""

    def translate(self, error: BaseException, *, project_id: str | None, domain: str) -> BaseException:
        return errors.translate(error, project_id=project_id, domain=domain)


def _slices(values: Sequence[bytes]) -> Any:
    """A subquery of equally long byte strings out of one parameter: JSON cannot carry bytes."""
    width = len(values[0])
    joined = bindparam(None, b"".join(values), type_=LargeBinary(), unique=True)
    count = literal(len(values))
    numbers = select(literal(0).label("n")).cte(recursive=True)
    numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n + 1 < count))
    start = numbers.c.n * literal_column(str(width), Integer()) + 1
    return select(func.substr(joined, start, literal_column(str(width)), type_=NullType())).select_from(numbers)
