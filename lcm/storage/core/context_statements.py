"""Statements of the ordered context."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import Update, and_, bindparam, func, literal, or_, select, update

from lcm.domain.context import ItemRef
from lcm.storage.core.dialect import BackendDialect, Query
from lcm.tables.metadata import Tables
from lcm.tables.types import Id


def references(dialect: BackendDialect, project_id: uuid.UUID, conversation_id: int, refs: Sequence[ItemRef]) -> Query:
    """Places of these references, by position."""
    i = dialect.tables.context_items.c
    message_ids = [ref.message_id for ref in refs if ref.message_id is not None]
    summary_keys = [ref.summary_key for ref in refs if ref.summary_key is not None]
    return (
        select(i.position, i.message_id, i.summary_key)
        .where(
            i.project_id == project_id,
            i.conversation_id == conversation_id,
            or_(dialect.among(i.message_id, message_ids), dialect.among(i.summary_key, summary_keys)),
        )
        .order_by(i.position)
    )


def count_between(t: Tables, project_id: uuid.UUID, conversation_id: int, first: int, last: int) -> Query:
    i = t.context_items.c
    return select(func.count()).where(
        i.project_id == project_id, i.conversation_id == conversation_id, i.position.between(first, last)
    )


def last_position(t: Tables, project_id: uuid.UUID, conversation_id: int) -> Query:
    i = t.context_items.c
    return select(func.max(i.position)).where(i.project_id == project_id, i.conversation_id == conversation_id)


def move_items(t: Tables, project_id: uuid.UUID, conversation_id: int) -> Update:
    """One item from position `old` to `new`, for many of them in the order given."""
    i = t.context_items.c
    return (
        update(t.context_items)
        .where(
            i.project_id == project_id, i.conversation_id == conversation_id, i.position == bindparam("old", type_=Id)
        )
        .values(position=bindparam("new", type_=Id))
    )


def depths(t: Tables, project_id: uuid.UUID, conversation_id: int) -> Query:
    i, s = t.context_items.c, t.summaries.c
    return (
        select(s.depth)
        .distinct()
        .select_from(t.context_items.join(t.summaries, s.summary_key == i.summary_key))
        .where(i.project_id == project_id, i.conversation_id == conversation_id)
        .order_by(s.depth)
    )


def position_of_ordinal(t: Tables, project_id: uuid.UUID, conversation_id: int, ordinal: int) -> Query:
    i = t.context_items.c
    return (
        select(i.position)
        .where(i.project_id == project_id, i.conversation_id == conversation_id)
        .order_by(i.position)
        .offset(ordinal)
        .limit(1)
    )


def token_sum(t: Tables, project_id: uuid.UUID, conversation_id: int) -> Query:
    i, m, s = t.context_items.c, t.messages.c, t.summaries.c
    joined = t.context_items.outerjoin(
        t.messages, and_(m.message_id == i.message_id, m.project_id == i.project_id)
    ).outerjoin(t.summaries, and_(s.summary_key == i.summary_key, s.project_id == i.project_id))
    return (
        select(func.coalesce(func.sum(func.coalesce(m.token_count, s.token_count)), 0))
        .select_from(joined)
        .where(i.project_id == project_id, i.conversation_id == conversation_id)
    )


def live_uppers(dialect: BackendDialect, project_id: uuid.UUID, refs: Sequence[ItemRef]) -> tuple[Query, Query]:
    """Live edges above messages, and above summaries."""
    m, p = dialect.tables.summary_messages.c, dialect.tables.summary_parents.c
    message_ids = [ref.message_id for ref in refs if ref.message_id is not None]
    summary_keys = [ref.summary_key for ref in refs if ref.summary_key is not None]
    of_messages = select(m.message_id, literal(None).label("lower_key"), m.summary_key, m.conversation_id).where(
        m.project_id == project_id, m.is_live.is_(True), dialect.among(m.message_id, message_ids)
    )
    of_summaries = select(
        literal(None).label("message_id"), p.parent_summary_key.label("lower_key"), p.summary_key, p.conversation_id
    ).where(p.project_id == project_id, p.is_live.is_(True), dialect.among(p.parent_summary_key, summary_keys))
    return of_messages, of_summaries


def live_upper_of_message(t: Tables, project_id: uuid.UUID, message_id: int) -> Query:
    e = t.summary_messages.c
    return select(e.summary_key, e.conversation_id).where(
        e.project_id == project_id, e.message_id == message_id, e.is_live.is_(True)
    )


def live_upper_of_summary(t: Tables, project_id: uuid.UUID, summary_key: uuid.UUID) -> Query:
    e = t.summary_parents.c
    return select(e.summary_key, e.conversation_id).where(
        e.project_id == project_id, e.parent_summary_key == summary_key, e.is_live.is_(True)
    )


def sources_of_summary(t: Tables, project_id: uuid.UUID, summary_key: uuid.UUID) -> tuple[Query, Query]:
    """Its messages and its merged summaries, each in link order."""
    m, p = t.summary_messages.c, t.summary_parents.c
    messages = select(m.message_id).where(m.project_id == project_id, m.summary_key == summary_key).order_by(m.ordinal)
    summaries = (
        select(p.parent_summary_key).where(p.project_id == project_id, p.summary_key == summary_key).order_by(p.ordinal)
    )
    return messages, summaries
