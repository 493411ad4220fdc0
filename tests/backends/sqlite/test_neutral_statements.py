"""Every statement function of the shared core compiles for PostgreSQL too."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import ARRAY, ColumnElement, Insert, bindparam
from sqlalchemy import any_ as any_of
from sqlalchemy.dialects import postgresql

from lcm.domain.context import ItemRef
from lcm.storage.core import (
    bulk_reading,
    context_statements,
    conversation_statements,
    ingest_statements,
    pass_statements,
    single_rows,
    summaries,
)
from lcm.tables.metadata import Tables, declare

KEY = uuid.UUID("01890000-0000-7000-8000-000000000001")


class StandInDialect:
    """What a PostgreSQL dialect would say; nothing is executed."""

    backend = "postgresql"

    @property
    def tables(self) -> Tables:
        return declare("lcm")

    def among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        return column == any_of(bindparam(None, list(values), type_=ARRAY(column.type), unique=True))

    def among_bound(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        return column == any_of(bindparam(name, type_=ARRAY(column.type)))

    def insert_or_skip(self, table: Any) -> Insert:
        return postgresql.insert(table).on_conflict_do_nothing()

    def upsert(self, table: Any, keys: Sequence[str], update: Mapping[str, Any]) -> Insert:
        return postgresql.insert(table).on_conflict_do_update(index_elements=list(keys), set_=dict(update))


#: A value for every parameter a statement function has.
ARGUMENTS: dict[str, object] = {
    "by_key": True,
    "newest_first": True,
    "t": declare("lcm"),
    "tables": declare("lcm"),
    "dialect": StandInDialect(),
    "project_id": KEY,
    "conversation_id": 1,
    "conversation_ids": [1, 2],
    "session_id": "session-1",
    "after_seq": -1,
    "limit": 10,
    "message_id": 1,
    "message_ids": [1, 2],
    "tool_call_ids": ["call-1"],
    "refs": [ItemRef(message_id=1), ItemRef(summary_key=KEY)],
    "first": 1,
    "last": 2,
    "after": 1,
    "ordinal": 1,
    "summary_key": KEY,
    "summary_keys": [KEY],
    "keys": [KEY],
}


def statement_functions() -> Iterator[Callable[..., Any]]:
    for module in (conversation_statements, context_statements, ingest_statements, pass_statements):
        yield from (each for each in vars(module).values() if is_statement_function(module, each))
    yield summaries.summary_rows
    for module in (bulk_reading, single_rows):
        yield from (each for each in vars(module).values() if is_cached(each))


def is_statement_function(module: ModuleType, each: Any) -> bool:
    is_function = inspect.isfunction(each) or is_cached(each)
    return is_function and each.__module__ == module.__name__ and not each.__name__.startswith("_")


def is_cached(each: object) -> bool:
    """Whether it is a function whose statement is built once."""
    return isinstance(each, _lru_cache_wrapper)


class TestStatements:
    @pytest.mark.parametrize("function", list(statement_functions()), ids=lambda each: each.__name__)
    def test_compiles_for_postgresql(self, function: Callable[..., Any]) -> None:
        """The statement is rendered with the schema of PostgreSQL and its parameters bound."""
        arguments = [ARGUMENTS[name] for name in inspect.signature(function).parameters]

        made = function(*arguments)

        for statement in made if isinstance(made, tuple) else (made,):
            rendered = str(statement.compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
            assert "lcm." in rendered
            assert "json_each" not in rendered

    def test_parameters_do_not_grow_with_values(self) -> None:
        """A list of any length is one parameter."""
        few = conversation_statements.part_rows(StandInDialect(), KEY, [1])  # type: ignore[arg-type] # a stand-in
        many = conversation_statements.part_rows(StandInDialect(), KEY, list(range(40_000)))  # type: ignore[arg-type] # a stand-in

        def count(statement: Any) -> int:
            return len(statement.compile(dialect=postgresql.dialect()).params)  # type: ignore[no-untyped-call]

        assert count(few) == count(many)
