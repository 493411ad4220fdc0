"""Preselection over FTS5, bounded scans, and the soundness of the index."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import aiosqlite
from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    Text,
    bindparam,
    cast,
    func,
    literal,
    literal_column,
    select,
    text,
    type_coerce,
)
from sqlalchemy import column as sql_column
from sqlalchemy import table as sql_table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.cjk import character_pairs
from lcm.domain.messages import Exclusion, Role
from lcm.errors import StorageError, StorageUnavailable
from lcm.storage.contracts.lexical_search import (
    Matches,
    MatchQuery,
    MatchTexts,
    Preselection,
    SearchFilters,
    TextKind,
    TextRow,
)
from lcm.storage.core import rows
from lcm.storage.core.dialect import Query
from lcm.storage.core.newest_matches import NewestMatches
from lcm.storage.core.transaction import Executor
from lcm.storage.sqlite.errors import BACKEND
from lcm.storage.sqlite.index_check import raise_when_damaged
from lcm.storage.sqlite.search_index import DERIVATION_VERSION, SEARCH_STATE, derive, insert_statement
from lcm.tables.metadata import Tables
from lcm.text import MAX_SAFE_INTEGER, require_safe, require_safe_integer

DOMAIN = "lexical-search"
_NO_FILTERS = SearchFilters()
_EXPRESSION, _ROW_LIMIT = "expression", "row_limit"
_COLLECT = "lcm_collect"
_MAX_IDS = 1_000
#: Words of a phrase that make more characters than this are no name.
_LONGEST_NAME = 100
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
    terms += [_phrase(phrase) for phrase in query.phrases]
    terms += [_quoted("cjk", character_pairs(run)) for run in query.cjk]
    return (" AND " if query.require_all else " OR ").join(terms)


def _phrase(words: Sequence[str]) -> str:
    """Side by side, or written as one word: `max_tokens` also finds `maxTokens`."""
    apart, together = _quoted("words", words), "".join(words)
    if len(words) == 1 or len(together) > _LONGEST_NAME:
        return apart
    return f"({apart} OR {_quoted('words', [together])})"


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
        require_safe_integer("limit", limit)
        # A cancelled statement ends after so many steps, but one step may look at megabytes.
        found = NewestMatches(matching, limit=limit, max_bytes=max_bytes, is_given_up=_watch_current_task())
        containing = _containing(self._text_rows(kind, filters), literals, before_id=None)
        async with self._executor.operation(DOMAIN) as connection:
            await _collect(connection, containing, found)
            row_ids = found.finish()
            rows_by_id = {row.row_id: row for row in await self._rows_of(connection, kind, row_ids)}
        newest = tuple(rows_by_id[row_id] for row_id in row_ids)
        return Matches(rows=newest, count=found.count, is_complete=found.is_complete)

    async def find_missing(self) -> list[str]:
        async with self._executor.operation(DOMAIN) as connection:
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
        if filters == _NO_FILTERS:
            statement = _best_of_all(self._tables, self._executor.project_id, kind)
        else:
            statement = _best(self._tables, self._executor.project_id, kind, filters)
        values = {_EXPRESSION: expression, _ROW_LIMIT: limit + 1}
        async with self._executor.operation(DOMAIN) as connection:
            found = [_to_text_row(kind, row) for row in await connection.execute(statement, values)]
        return Preselection(rows=tuple(found[:limit]), is_complete=len(found) <= limit)

    async def _scan(
        self, kind: TextKind, literals: Sequence[str], filters: SearchFilters, before_id: int | None, limit: int
    ) -> list[TextRow]:
        require_safe_integer("limit", limit)
        statement = _containing(self._text_rows(kind, filters), literals, before_id).limit(limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [_to_text_row(kind, row) for row in await connection.execute(statement)]

    def _text_rows(self, kind: TextKind, filters: SearchFilters) -> Query:
        return _text_rows(self._tables, self._executor.project_id, kind, filters)

    async def _rows_of(self, connection: AsyncConnection, kind: TextKind, row_ids: Sequence[int]) -> list[TextRow]:
        """In any order."""
        query = self._text_rows(kind, _NO_FILTERS)
        found: list[TextRow] = []
        for start in range(0, len(row_ids), _MAX_IDS):
            chosen = query.where(query.selected_columns.row_id.in_(row_ids[start : start + _MAX_IDS]))
            found += [_to_text_row(kind, row) for row in await connection.execute(chosen)]
        return found

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
            await raise_when_damaged(connection, name)
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


@lru_cache(maxsize=64)
def _best_of_all(tables: Tables, project_id: uuid.UUID, kind: TextKind) -> Query:
    """Without filters the statement is always the same one: making it costs as much as running it for a rare word."""
    return _best(tables, project_id, kind, _NO_FILTERS)


def _best(tables: Tables, project_id: uuid.UUID, kind: TextKind, filters: SearchFilters) -> Query:
    """The first rows by rank; ranked before they are joined, since sorting whole texts costs more than all the rest."""
    index = _INDEXES[kind]
    rank = literal_column(f"{index.name}.rank", Float)
    ranked = select(index.c.rowid.label("best_id"), rank.label("best_rank")).where(
        literal_column(index.name).op("MATCH")(bindparam(_EXPRESSION, type_=Text()))
    )
    if filters != _NO_FILTERS:
        allowed = _text_rows(tables, project_id, kind, filters).subquery("allowed")
        ranked = ranked.join_from(index, allowed, allowed.c.row_id == index.c.rowid)
    limit = bindparam(_ROW_LIMIT, type_=Integer())
    chosen = ranked.order_by(rank, index.c.rowid.desc()).limit(limit).subquery("chosen")
    base = _text_rows(tables, project_id, kind, _NO_FILTERS)
    row_id = base.selected_columns.row_id
    return base.join(chosen, chosen.c.best_id == row_id).order_by(chosen.c.best_rank, row_id.desc())


def _text_rows(tables: Tables, project_id: uuid.UUID, kind: TextKind, filters: SearchFilters) -> Query:
    query = _message_rows(tables, project_id) if kind is TextKind.MESSAGE else _summary_rows(tables, project_id)
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


def _message_rows(t: Tables, project_id: uuid.UUID) -> Query:
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
            m.context_exclusion,
        )
        .join_from(t.messages, t.conversations, c.conversation_id == m.conversation_id)
        .where(m.project_id == project_id)
    )


def _summary_rows(t: Tables, project_id: uuid.UUID) -> Query:
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
            literal(None).label("context_exclusion"),
        )
        .join_from(t.summaries, t.conversations, c.conversation_id == s.conversation_id)
        .where(s.project_id == project_id, s.superseded_by_key.is_(None))
    )


def _containing(query: Query, literals: Sequence[str], before_id: int | None) -> Query:
    """Rows with every literal, newest id first; the bound on the id keeps the table's own order, which reads fast."""
    for each in literals:
        require_safe("literal", each)
    columns = query.selected_columns
    parts = [_contains(columns.content, each) for each in literals]
    newest_id = MAX_SAFE_INTEGER + 1 if before_id is None else before_id
    return query.where(columns.row_id < newest_id, *parts).order_by(columns.row_id.desc())


def _contains(content: ColumnElement[str], part: str) -> ColumnElement[bool]:
    """`LIKE` folds the case of ASCII letters only; a long text is compared by `instr`."""
    if len(part) > _LONGEST_PATTERN:
        return func.instr(func.lower(content), func.lower(part)) > 0
    if "%" in part or "_" in part:
        return content.contains(part, autoescape=True)
    return content.like(f"%{part}%")


def _watch_current_task() -> Callable[[], bool]:
    """Whether the running task was cancelled since; to be called from any thread."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    return lambda: task is not None and task.cancelling() > before


async def _collect(connection: AsyncConnection, query: Query, found: NewestMatches) -> None:
    """Give every row of a query to `found` inside the statement: a row handed out by it costs three times as much."""
    driver = (await connection.get_raw_connection()).driver_connection
    if not isinstance(driver, aiosqlite.Connection):
        raise StorageError(backend=BACKEND)
    await driver.create_function(_COLLECT, 3, found.add)
    columns = query.selected_columns
    at, utf8 = type_coerce(columns.occurred_at, Integer), cast(columns.content, LargeBinary)
    given = query.with_only_columns(getattr(func, _COLLECT)(columns.row_id, at, utf8).label("taken"))
    # The limit keeps SQLite from merging the query into the outer one, where the function might run first.
    inner = given.limit(-1).subquery()
    await connection.execute(select(inner.c.taken).where(inner.c.taken.is_not(None)))


_ROLES = {role.value: role for role in Role}
_EXCLUSIONS = {exclusion.value: exclusion for exclusion in Exclusion}


def _to_text_row(kind: TextKind, row: Any) -> TextRow:
    row_id, conversation_id, session_id, content, occurred_at, seq, role, summary_id, depth, exclusion = row[:10]
    return TextRow(
        kind=kind,
        row_id=rows.safe(row_id),
        conversation_id=rows.safe(conversation_id),
        session_id=session_id,
        content=content,
        occurred_at=occurred_at,
        seq=seq,
        role=_ROLES[role] if role else None,
        summary_id=summary_id,
        depth=depth,
        exclusion=_EXCLUSIONS[exclusion] if exclusion else None,
    )
