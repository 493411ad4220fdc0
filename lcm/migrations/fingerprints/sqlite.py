"""The inventory of a SQLite database: catalogue rows read by four queries, turned into schema objects by pure code."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lcm.migrations.fingerprints.document import Fact, SchemaObject
from lcm.migrations.fingerprints.sqlite_text import TableText, normalise_sql, parse_table
from lcm.migrations.ledger import fetch
from lcm.migrations.sqlite_errors import translated_errors

_Row = tuple[object, ...]

_OBJECTS = """
    SELECT type, name, tbl_name, sql
    FROM sqlite_schema
    WHERE substr(name, 1, 7) <> 'sqlite_' AND sql IS NOT NULL
"""
# The columns of a virtual table are its module's business; its SQL says it all.
_COLUMNS = """
    SELECT s.name, c.name, c.type, c."notnull", c.dflt_value, c.hidden
    FROM sqlite_schema AS s JOIN pragma_table_xinfo(s.name) AS c
    WHERE s.type = 'table' AND upper(substr(s.sql, 1, 14)) <> 'CREATE VIRTUAL'
    ORDER BY s.name, c.cid
"""
_INDEX_COLUMNS = """
    SELECT s.name, i.name, i."unique", i.origin, c.name, c."desc", c.coll
    FROM sqlite_schema AS s JOIN pragma_index_list(s.name) AS i JOIN pragma_index_xinfo(i.name) AS c
    WHERE s.type = 'table' AND upper(substr(s.sql, 1, 14)) <> 'CREATE VIRTUAL' AND c."key" = 1
    ORDER BY s.name, i.name, c.seqno
"""
_REFERENCES = """
    SELECT s.name, f.id, f."table", f."from", f."to", f.on_update, f.on_delete
    FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS f
    WHERE s.type = 'table' AND upper(substr(s.sql, 1, 14)) <> 'CREATE VIRTUAL'
    ORDER BY s.name, f.id, f.seq
"""
_FTS_SHADOWS = ("config", "content", "data", "docsize", "idx")
_KEY_ORIGINS = {"pk": "primary_key", "u": "unique"}


@dataclass(frozen=True, slots=True)
class _Entry:
    """One row of `sqlite_schema`."""

    type: str
    name: str
    table: str
    sql: str

    @property
    def is_virtual(self) -> bool:
        return normalise_sql(self.sql).startswith("create virtual table")


def inventory(connection: sqlite3.Connection) -> tuple[SchemaObject, ...]:
    """Every object of the database but SQLite's own, ordered by table, kind and name.

    Raises:
        StorageError: the file is not a database, or damaged.
        StorageUnavailable: it is busy or cannot be read.
    """
    with translated_errors():
        entries = [_Entry(*(str(value) for value in row)) for row in fetch(connection, _OBJECTS)]
        columns = _by_table(fetch(connection, _COLUMNS))
        keys = _by_table(fetch(connection, _INDEX_COLUMNS))
        references = _by_table(fetch(connection, _REFERENCES))
    objects = [*_search_tables(entries), *_triggers(entries)]
    for table in _plain_tables(entries):
        text = parse_table(table.sql)
        objects.append(SchemaObject("table", table.name, table.name, {"options": text.options}))
        objects += _columns(table.name, text, columns[table.name])
        objects += _constraints(table.name, text, keys[table.name], references[table.name])
        objects += _indexes(table.name, entries, keys[table.name])
    return tuple(sorted(objects, key=lambda o: o.key))


def _by_table(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    grouped: dict[str, list[_Row]] = defaultdict(list)
    for name, *rest in rows:
        grouped[str(name)].append(tuple(rest))
    return grouped


def _shadow_names(entries: Iterable[_Entry], search_table: str) -> list[str]:
    possible = {f"{search_table}_{suffix}" for suffix in _FTS_SHADOWS}
    return sorted(entry.name for entry in entries if entry.type == "table" and entry.name in possible)


def _search_tables(entries: list[_Entry]) -> Iterator[SchemaObject]:
    for entry in entries:
        if entry.is_virtual:
            facts: dict[str, Fact] = {
                "sql": normalise_sql(entry.sql),
                "shadow_tables": _shadow_names(entries, entry.name),
            }
            yield SchemaObject("fts", entry.name, entry.name, facts)


def _plain_tables(entries: list[_Entry]) -> list[_Entry]:
    virtual = [entry.name for entry in entries if entry.is_virtual]
    shadows = {shadow for name in virtual for shadow in _shadow_names(entries, name)}
    return [e for e in entries if e.type == "table" and e.name not in shadows and not e.is_virtual]


def _triggers(entries: list[_Entry]) -> Iterator[SchemaObject]:
    for entry in entries:
        if entry.type == "trigger":
            yield SchemaObject("trigger", entry.table, entry.name, {"sql": normalise_sql(entry.sql)})


def _columns(table: str, text: TableText, rows: Iterable[_Row]) -> Iterator[SchemaObject]:
    for name, kind, not_null, default, hidden in rows:
        facts: dict[str, Fact] = {
            "type": str(kind).upper(),
            "not_null": bool(not_null),
            "default": None if default is None else str(default),
            "hidden": int(str(hidden)),
            "sql": text.columns.get(str(name).lower()),
        }
        yield SchemaObject("column", table, f"{table}.{name}", facts)


def _constraints(
    table: str, text: TableText, key_rows: list[_Row], reference_rows: list[_Row]
) -> Iterator[SchemaObject]:
    for constraint in text.constraints:
        name = constraint.name or f"{table}({', '.join(constraint.columns) or constraint.sql})"
        yield SchemaObject(constraint.kind, table, name, {"sql": constraint.sql})
    # A constraint written beside a column has no line of its own in the text; SQLite still lists it.
    written = {(constraint.kind, constraint.columns) for constraint in text.constraints}
    for kind, columns, facts in [*_unnamed_keys(key_rows), *_unnamed_references(reference_rows)]:
        if (kind, tuple(column.lower() for column in columns)) not in written:
            yield SchemaObject(kind, table, f"{table}({', '.join(columns)})", facts)


def _unnamed_keys(rows: Iterable[_Row]) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Fact]]]:
    columns: dict[tuple[str, str], list[str]] = defaultdict(list)
    for index, _, origin, column, *_rest in rows:
        if origin in _KEY_ORIGINS:
            columns[str(index), _KEY_ORIGINS[str(origin)]].append(str(column))
    for (_, kind), names in columns.items():
        yield kind, tuple(names), {"columns": names}


def _unnamed_references(rows: Iterable[_Row]) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Fact]]]:
    grouped: dict[object, list[_Row]] = defaultdict(list)
    for number, *rest in rows:
        grouped[number].append(tuple(rest))
    for parts in grouped.values():
        target, _, _, on_update, on_delete = parts[0]
        facts: dict[str, Fact] = {
            "references": [f"{target}.{part[2]}" for part in parts],
            "on_update": str(on_update),
            "on_delete": str(on_delete),
        }
        yield "foreign_key", tuple(str(part[1]) for part in parts), facts


def _indexes(table: str, entries: Iterable[_Entry], key_rows: Iterable[_Row]) -> Iterator[SchemaObject]:
    columns: dict[str, list[str]] = defaultdict(list)
    unique: dict[str, bool] = {}
    for index, is_unique, _, column, is_descending, collation in key_rows:
        direction = " desc" if is_descending else ""
        columns[str(index)].append(f"{column or 'expression'}{direction} {str(collation).lower()}")
        unique[str(index)] = bool(is_unique)
    for entry in entries:
        if entry.type == "index" and entry.table == table:
            facts: dict[str, Fact] = {
                "columns": columns[entry.name],
                "unique": unique.get(entry.name, False),
                "sql": normalise_sql(entry.sql),
            }
            yield SchemaObject("index", table, entry.name, facts)
