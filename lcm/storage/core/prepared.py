"""Statements compiled once and run with values as the driver takes them, for what runs many times in a row.

Between a statement and its driver stand its construction, the key of its cache, a context and a processor for every
value: more work than a small statement is for the database. The statements run here are built once (their functions are
cached), their values are made by `BackendDialect.key_value` and its like, and their rows are read with `key_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import ClauseElement

from lcm.storage.core.dialect import BackendDialect, Ran

#: Statements live as long as the process, so this holds as many entries as there are statement functions.
_compiled: dict[tuple[ClauseElement, str], _Compiled] = {}


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The text, the names of its values in order (None: the driver takes them by name), and values that are fixed."""

    sql: str
    names: tuple[str, ...] | None
    fixed: Mapping[str, Any]

    def values(self, given: Mapping[str, Any]) -> Any:
        if self.names is None:
            return {**self.fixed, **given}
        fixed = self.fixed
        return tuple([given[name] if name in given else fixed[name] for name in self.names])


async def run(
    dialect: BackendDialect, connection: AsyncConnection, statement: ClauseElement, values: Mapping[str, Any]
) -> Ran:
    """Run a statement that is built once, with a value for each of its parameters."""
    compiled = _compiled.get((statement, dialect.backend)) or _compile(statement, dialect.backend, connection.dialect)
    return await dialect.run(connection, compiled.sql, compiled.values(values))


def _compile(statement: ClauseElement, backend: str, dialect: Dialect) -> _Compiled:
    compiled = statement.compile(dialect=dialect)
    names = compiled.positiontup if compiled.positional else None  # type: ignore[attr-defined]
    fixed = {name: value for name, value in compiled.params.items() if value is not None}
    found = _Compiled(str(compiled), None if names is None else tuple(names), fixed)
    _compiled[statement, backend] = found
    return found
