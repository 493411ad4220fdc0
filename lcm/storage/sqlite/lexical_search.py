"""Preselection over FTS5, bounded scans, and the soundness of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, literal, literal_column, select, text
from sqlalchemy import column as sql_column
from sqlalchemy import table as sql_table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.cjk import character_pairs
from lcm.domain.messages import Role
from lcm.errors import StorageUnavailable
from lcm.storage.contracts.lexical_search import MatchQuery, Preselection, SearchFilters, TextKind, TextRow
from lcm.storage.core import rows
from lcm.storage.core.dialect import Query
from lcm.storage.core.transaction import Executor
from lcm.storage.sqlite.search_index import DERIVATION_VERSION, SEARCH_STATE, derive, insert_statement
from lcm.text import require_safe, require_safe_integer

DOMAIN = "lexical-search"
_REBUILD_BATCH = 500
_MAX_FINDINGS = 100
#: SQLite refuses patterns above 50,000 bytes.
_LONGEST_PATTERN = 10_000

_INDEXES = {
    TextKind.MESSAGE: sql_table("messages_fts", sql_column("rowid"), sql_column("words"), sql_column("cjk")),
    TextKind.SUMMARY: sql_table("summaries_fts", sql_column("rowid"), sql_column("words"), sql_column("cjk")),
}


def match_expression(query: MatchQuery) -> str:
    """An FTS5 expression in which every term is a quoted string, so no character of it is syntax."""
    terms = [_quoted("words", [word]) for word in query.words]
    terms += [_quoted("words", list(phrase)) for phrase in query.phrases]
    terms += [_quoted("cjk", character_pairs(run)) for run in query.cjk]
    return (" AND " if query.require_all else " OR ").join(terms)


def _quoted(column: str, words: Sequence[str]) -> str:
    text_of = " ".join(words).replace('"', '""')
    return f'{column} : "{text_of}"'


class SqliteLexicalSearchRepository:
    """See `lcm.storage.contracts.lexical_search.LexicalSearchRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._tables = executor.dialect.tables

    async def match_messages(self, query: MatchQuery, filters: SearchFilters, *, limit: int) -> Preselection:
        return await self._match(TextKind.MESSAGE, query, filters, limit)

    async def match_summaries(self, query: MatchQuery, filters: SearchFilters, *, limit: int) -> Preselection:
        return await self._match(TextKind.SUMMARY, query, filters, limit)

    async def scan_messages(
        self, literals: Sequence[str], filters: SearchFilters, *, before_id: int | None, limit: int
    ) -> list[TextRow]:
        return await self._scan(TextKind.MESSAGE, literals, filters, before_id, limit)

    async def scan_summaries(
        self, literals: Sequence[str], filters: SearchFilters, *, before_id: int | None, limit: int
    ) -> list[TextRow]:
        return await self._scan(TextKind.SUMMARY, literals, filters, before_id, limit)

    async def find_missing(self) -> list[str]:
        # FTS5 spells its own check as an INSERT, which needs a writing transaction.
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            findings = await self._version_findings(connection)
            for kind in TextKind:
                findings += await self._rowid_findings(connection, kind)
                findings += await self._structure_findings(connection, kind)
            return findings[:_MAX_FINDINGS]

    async def rebuild(self) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            for kind in TextKind:
                name = _INDEXES[kind].name
                await connection.execute(text(f"INSERT INTO {name} ({name}) VALUES ('delete-all')"))  # noqa: S608
                await self._refill(connection, kind)
            await self._save_version(connection)

    # Steps inside an operation

    async def _match(self, kind: TextKind, query: MatchQuery, filters: SearchFilters, limit: int) -> Preselection:
        require_safe_integer("limit", limit)
        expression = match_expression(query)
        require_safe("query", expression)
        if not expression or limit == 0:
            return Preselection(rows=(), is_complete=True)
        index = _INDEXES[kind]
        matches = literal_column(index.name).op("MATCH")(bindparam("expression", expression))
        base = _text_rows(self._executor, kind, filters)
        row_id = base.selected_columns.row_id
        statement = (
            base.join(index, index.c.rowid == row_id)
            .where(matches)
            .order_by(literal_column("rank"), row_id.desc())
            .limit(limit + 1)
        )
        async with self._executor.operation(DOMAIN) as connection:
            found = [_to_text_row(kind, row) for row in await connection.execute(statement)]
        return Preselection(rows=tuple(found[:limit]), is_complete=len(found) <= limit)

    async def _scan(
        self, kind: TextKind, literals: Sequence[str], filters: SearchFilters, before_id: int | None, limit: int
    ) -> list[TextRow]:
        require_safe_integer("limit", limit)
        for each in literals:
            require_safe("literal", each)
        statement = _text_rows(self._executor, kind, filters)
        columns = statement.selected_columns
        for each in literals:
            statement = statement.where(_contains(columns.content, each))
        if before_id is not None:
            statement = statement.where(columns.row_id < before_id)
        statement = statement.order_by(columns.row_id.desc()).limit(limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [_to_text_row(kind, row) for row in await connection.execute(statement)]

    async def _version_findings(self, connection: AsyncConnection) -> list[str]:
        s = self._tables.search_state.c
        query = select(s.version).where(s.project_id == self._executor.project_id, s.name == SEARCH_STATE)
        version = (await connection.execute(query)).scalar()
        if version == DERIVATION_VERSION:
            return []
        return ["the search index was filled by another version of lcm"]

    async def _rowid_findings(self, connection: AsyncConnection, kind: TextKind) -> list[str]:
        name, base, key = _INDEXES[kind].name, *_BASE[kind]
        missing = text(f"SELECT {key} FROM {base} EXCEPT SELECT id FROM {name}_docsize ORDER BY 1")  # noqa: S608
        orphaned = text(f"SELECT id FROM {name}_docsize EXCEPT SELECT {key} FROM {base} ORDER BY 1")  # noqa: S608
        found = [f"{kind} {row[0]} is not in the search index" for row in await connection.execute(missing)]
        return found + [
            f"the search index holds {kind} {row[0]}, which is not stored" for row in await connection.execute(orphaned)
        ]

    async def _structure_findings(self, connection: AsyncConnection, kind: TextKind) -> list[str]:
        name = _INDEXES[kind].name
        try:
            check = text(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 0)")  # noqa: S608
            await connection.execute(check)
        except DBAPIError as error:
            told = self._executor.dialect.translate(error, project_id=None, domain=DOMAIN)
            if isinstance(told, StorageUnavailable):
                raise  # busy or full says nothing about the index
            return [f"the search index of {kind} texts is damaged"]
        return []

    async def _refill(self, connection: AsyncConnection, kind: TextKind) -> None:
        name, base, key = _INDEXES[kind].name, *_BASE[kind]
        after = 0
        page = text(
            f"SELECT {key}, content FROM {base} WHERE {key} > :after ORDER BY {key} LIMIT {_REBUILD_BATCH}"  # noqa: S608
        )
        while True:
            batch = (await connection.execute(page, {"after": after})).all()
            if not batch:
                return
            values = [{"rowid": row[0], "words": words, "cjk": cjk} for row in batch for words, cjk in [derive(row[1])]]
            await connection.execute(insert_statement(name), values)
            after = batch[-1][0]

    async def _save_version(self, connection: AsyncConnection) -> None:
        state = self._tables.search_state
        now = self._clock()
        statement = self._executor.dialect.upsert(
            state, ["project_id", "name"], {"version": DERIVATION_VERSION, "updated_at": now}
        )
        await connection.execute(
            statement.values(
                project_id=self._executor.project_id, name=SEARCH_STATE, version=DERIVATION_VERSION, updated_at=now
            )
        )


_BASE = {TextKind.MESSAGE: ("messages", "message_id"), TextKind.SUMMARY: ("summaries", "summary_rowid")}


def _text_rows(executor: Executor, kind: TextKind, filters: SearchFilters) -> Query:
    query = _message_rows(executor) if kind is TextKind.MESSAGE else _summary_rows(executor)
    columns = query.selected_columns
    for name in ("since", "until"):
        if getattr(filters, name) is not None:
            rows.require_aware(name, getattr(filters, name))
    if filters.conversation_id is not None:
        query = query.where(columns.conversation_id == filters.conversation_id)
    if filters.session_id is not None:
        require_safe("session_id", filters.session_id)
        query = query.where(columns.session_id == filters.session_id)
    if filters.since is not None:
        query = query.where(columns.occurred_at >= filters.since)
    if filters.until is not None:
        query = query.where(columns.occurred_at <= filters.until)
    return query


def _message_rows(executor: Executor) -> Query:
    t = executor.dialect.tables
    m, c = t.messages.c, t.conversations.c
    return (
        select(
            m.message_id.label("row_id"),
            m.conversation_id,
            c.session_id,
            m.content,
            m.occurred_at,
            m.seq,
            m.role,
            literal(None).label("summary_id"),
            literal(None).label("depth"),
        )
        .join_from(t.messages, t.conversations, c.conversation_id == m.conversation_id)
        .where(m.project_id == executor.project_id)
    )


def _summary_rows(executor: Executor) -> Query:
    t = executor.dialect.tables
    s, c = t.summaries.c, t.conversations.c
    return (
        select(
            s.summary_rowid.label("row_id"),
            s.conversation_id,
            c.session_id,
            s.content,
            s.latest_at.label("occurred_at"),
            literal(None).label("seq"),
            literal(None).label("role"),
            s.summary_id,
            s.depth,
        )
        .join_from(t.summaries, t.conversations, c.conversation_id == s.conversation_id)
        .where(s.project_id == executor.project_id)
    )


def _contains(content: ColumnElement[str], part: str) -> ColumnElement[bool]:
    """`LIKE` folds the case of ASCII letters only; a text with a wildcard, or a long one, is compared by `instr`."""
    if "%" in part or "_" in part or len(part) > _LONGEST_PATTERN:
        return func.instr(func.lower(content), func.lower(part)) > 0
    return content.like(f"%{part}%")


def _to_text_row(kind: TextKind, row: Any) -> TextRow:
    return TextRow(
        kind=kind,
        row_id=rows.safe(row.row_id),
        conversation_id=rows.safe(row.conversation_id),
        session_id=row.session_id,
        content=row.content,
        occurred_at=row.occurred_at,
        seq=row.seq,
        role=Role(row.role) if row.role else None,
        summary_id=row.summary_id,
        depth=row.depth,
    )
