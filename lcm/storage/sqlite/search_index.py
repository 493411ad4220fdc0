"""The FTS5 index of message and summary texts: contentless, filled per batch in the writing transaction."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.cjk import CJK, character_pairs
from lcm.storage.core.dialect import IndexedText

#: Grows when `derive` changes; an index filled by another version is dropped and refilled, never patched.
DERIVATION_VERSION = 1
#: The name of the index in `search_state`.
SEARCH_STATE = "fts"

_CJK_RUN = re.compile(f"[{CJK}]+")


def derive(content: str) -> tuple[str, str]:
    """The indexed columns of a text: its words, and its CJK runs as overlapping pairs of characters."""
    if content.isascii():
        return content, ""
    return content, " ".join(pair for run in _CJK_RUN.findall(content) for pair in character_pairs(run))


def insert_statement(table: str) -> TextClause:
    return text(f"INSERT INTO {table} (rowid, words, cjk) VALUES (:rowid, :words, :cjk)")  # noqa: S608 - a constant name


# Given to the driver as they are, with tuples: the index is a third of an import.
_TABLES = ("messages_fts", "summaries_fts")
_INSERT = {table: f"INSERT INTO {table} (rowid, words, cjk) VALUES (?, ?, ?)" for table in _TABLES}  # noqa: S608 - constants
_DELETE = {
    table: f"INSERT INTO {table} ({table}, rowid, words, cjk) VALUES ('delete', ?, ?, ?)"  # noqa: S608 - constants
    for table in _TABLES
}
_INDEXED_MESSAGES = text("SELECT id FROM messages_fts_docsize WHERE id IN (SELECT value FROM json_each(:ids))")


class FtsIndex:
    """See `lcm.storage.core.dialect.SearchIndex`. One executemany per batch costs a quarter of a trigger per row."""

    async def add_messages(self, connection: AsyncConnection, texts: Sequence[IndexedText]) -> None:
        await _execute(connection, _INSERT["messages_fts"], texts)

    async def remove_messages(self, connection: AsyncConnection, texts: Sequence[IndexedText]) -> None:
        """A row that the index lost already is left out: its 'delete' would be refused, or damage the index further."""
        ids = json.dumps([each.row_id for each in texts])
        indexed = {row.id for row in await connection.execute(_INDEXED_MESSAGES, {"ids": ids})}
        await _execute(connection, _DELETE["messages_fts"], [each for each in texts if each.row_id in indexed])

    async def add_summaries(self, connection: AsyncConnection, texts: Sequence[IndexedText]) -> None:
        await _execute(connection, _INSERT["summaries_fts"], texts)


async def _execute(connection: AsyncConnection, statement: str, texts: Sequence[IndexedText]) -> None:
    if texts:
        await connection.exec_driver_sql(statement, [(each.row_id, *derive(each.content)) for each in texts])
