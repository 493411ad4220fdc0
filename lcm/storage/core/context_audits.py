"""The record of what was taken out of contexts by hand, over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, insert, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.context import AuditAction, ContextAudit
from lcm.domain.messages import Exclusion
from lcm.errors import UnknownConversation, UnknownMessage
from lcm.ids import uuid7
from lcm.storage.core import rows
from lcm.storage.core.dialect import BackendDialect, Query
from lcm.storage.core.transaction import Executor
from lcm.tables.metadata import Tables
from lcm.text import require_safe

DOMAIN = "context-audits"
_TICK = timedelta(microseconds=1)


class CoreContextAuditRepository:
    """See `lcm.storage.contracts.context_audits.ContextAuditRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._tables = executor.dialect.tables
        self._project_id = executor.project_id

    async def note(
        self, conversation_id: int, message_ids: Sequence[int], action: AuditAction, reason: str
    ) -> list[ContextAudit]:
        require_safe("reason", reason)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            at = await self._next_time(connection, conversation_id)
            marks = await self._marks(connection, message_ids)
            audits = [
                ContextAudit(uuid7(), conversation_id, each, action, reason, marks[each], at) for each in message_ids
            ]
            if audits:
                values = [rows.context_audit_values(each, project_id=self._project_id) for each in audits]
                await connection.execute(insert(self._tables.context_audits), values)
        return audits

    async def list_audits(
        self, *, conversation_id: int | None = None, message_id: int | None = None
    ) -> list[ContextAudit]:
        a = self._tables.context_audits.c
        query = (
            select(
                a.audit_key,
                a.conversation_id,
                a.message_id,
                a.action,
                a.reason,
                a.exclusion_before,
                a.created_at,
            )
            .where(a.project_id == self._project_id)
            .order_by(a.created_at, a.message_id, a.audit_key)
        )
        if conversation_id is not None:
            query = query.where(a.conversation_id == conversation_id)
        if message_id is not None:
            query = query.where(a.message_id == message_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_context_audit(row) for row in await connection.execute(query)]

    async def list_taken_out(self, conversation_id: int) -> list[int]:
        query = taken_out(self._tables, self._project_id, conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.safe(row.message_id) for row in await connection.execute(query)]

    async def list_neighbours(
        self, message_id: int, conversation_ids: Sequence[int], *, is_later: bool = False, limit: int | None = None
    ) -> list[int]:
        found: dict[int, None] = {}
        async with self._executor.operation(DOMAIN) as connection:
            for place in (await connection.execute(_places(self._tables, self._project_id, message_id))).all():
                query = _neighbours(
                    self._executor.dialect,
                    self._project_id,
                    conversation_ids,
                    place.source_id,
                    place.source_ordinal,
                    is_later=is_later,
                )
                found.update((rows.safe(row.message_id), None) for row in await connection.execute(query.limit(limit)))
        return list(found)

    # Steps inside an operation

    async def _next_time(self, connection: AsyncConnection, conversation_id: int) -> datetime:
        """Now, but later than everything recorded about this context: what came last is decided by time alone."""
        c, a = self._tables.conversations.c, self._tables.context_audits.c
        known = select(c.conversation_id).where(c.conversation_id == conversation_id, c.project_id == self._project_id)
        if (await connection.execute(known)).first() is None:
            raise UnknownConversation
        newest = select(func.max(a.created_at)).where(
            a.project_id == self._project_id, a.conversation_id == conversation_id
        )
        last = (await connection.execute(newest)).scalar()
        now = self._clock()
        return now if last is None else max(now, last + _TICK)

    async def _marks(self, connection: AsyncConnection, message_ids: Sequence[int]) -> dict[int, Exclusion | None]:
        m = self._tables.messages.c
        query = select(m.message_id, m.context_exclusion).where(
            m.project_id == self._project_id, self._executor.dialect.among(m.message_id, list(message_ids))
        )
        marks = {row.message_id: row.context_exclusion for row in await connection.execute(query)}
        if marks.keys() != set(message_ids):
            raise UnknownMessage
        return {each: Exclusion(mark) if mark else None for each, mark in marks.items()}


def taken_out(t: Tables, project_id: uuid.UUID, conversation_id: int) -> Query:
    """Messages whose last record in this context is that they were taken out, and that are not left out otherwise."""
    last, later, m = t.context_audits.alias("last"), t.context_audits.alias("later"), t.messages.c
    is_overtaken = exists().where(
        later.c.project_id == project_id,
        later.c.conversation_id == last.c.conversation_id,
        later.c.message_id == last.c.message_id,
        later.c.created_at > last.c.created_at,
    )
    return (
        select(last.c.message_id)
        .select_from(last.join(t.messages, and_(m.message_id == last.c.message_id, m.project_id == project_id)))
        .where(
            last.c.project_id == project_id,
            last.c.conversation_id == conversation_id,
            last.c.action == AuditAction.EXCLUDE.value,
            or_(m.conversation_id != conversation_id, m.context_exclusion == Exclusion.AUDITED.value),
            ~is_overtaken,
        )
        .order_by(last.c.message_id)
    )


def _places(t: Tables, project_id: uuid.UUID, message_id: int) -> Query:
    """Every source that holds a message, with its place there."""
    m, s = t.messages.c, t.message_sources.c
    own = select(m.source_id, m.source_ordinal).where(
        m.project_id == project_id, m.message_id == message_id, m.source_ordinal.is_not(None)
    )
    further = select(s.source_id, s.source_ordinal).where(s.project_id == project_id, s.message_id == message_id)
    both = union_all(own, further).subquery()
    return select(both.c.source_id, both.c.source_ordinal).order_by(both.c.source_id)


def _neighbours(
    dialect: BackendDialect,
    project_id: uuid.UUID,
    conversation_ids: Sequence[int],
    source_id: int,
    ordinal: int,
    *,
    is_later: bool,
) -> Query:
    """Messages of one source before or behind a place, nearest first."""
    t = dialect.tables
    m, s = t.messages.c, t.message_sources.c

    def beyond(column: ColumnElement[Any]) -> ColumnElement[bool]:
        return column > ordinal if is_later else column < ordinal

    among = dialect.among(m.conversation_id, list(conversation_ids))
    own = select(m.message_id, m.source_ordinal).where(
        m.project_id == project_id, among, m.source_id == source_id, beyond(m.source_ordinal)
    )
    further = (
        select(s.message_id, s.source_ordinal)
        .select_from(t.message_sources.join(t.messages, m.message_id == s.message_id))
        .where(s.project_id == project_id, among, s.source_id == source_id, beyond(s.source_ordinal))
    )
    both = union_all(own, further).subquery()
    nearest = both.c.source_ordinal if is_later else both.c.source_ordinal.desc()
    return select(both.c.message_id).order_by(nearest, both.c.message_id)
