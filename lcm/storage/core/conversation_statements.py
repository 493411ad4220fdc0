"""Statements of conversations, messages and parts; each a small function of the dialect's tables."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, exists, func, literal_column, or_, select

from lcm.storage.core.dialect import BackendDialect, Query
from lcm.tables.metadata import Tables


def conversation_rows(t: Tables, project_id: uuid.UUID | BindParameter[Any]) -> Query:
    c = t.conversations.c
    return (
        select(
            c.conversation_id,
            c.conversation_key,
            c.session_id,
            c.client,
            c.title,
            c.relation,
            c.base_conversation_id,
            c.base_message_id,
            c.parent_tool_call_id,
            c.context_revision,
            c.bootstrapped_at,
            c.created_at,
            c.updated_at,
        )
        .where(c.project_id == project_id)
        .order_by(c.created_at, c.conversation_id)
    )


def newest_of_session(t: Tables, project_id: uuid.UUID, session_id: str) -> Query:
    c = t.conversations.c
    return (
        conversation_rows(t, project_id)
        .where(c.session_id == session_id)
        .order_by(None)
        .order_by(c.created_at.desc(), c.conversation_id.desc())
        .limit(1)
    )


def message_rows(t: Tables, project_id: uuid.UUID) -> Query:
    m = t.messages.c
    return select(
        m.message_id,
        m.conversation_id,
        m.seq,
        m.role,
        m.content,
        m.token_count,
        m.occurred_at,
        m.created_at,
        m.ingest_key,
        m.identity_kind,
        m.identity_occurrence,
        m.api_message_id,
        m.source_ordinal,
        m.context_exclusion,
        m.content_sha256,
    ).where(m.project_id == project_id)


def messages_page(t: Tables, project_id: uuid.UUID, conversation_id: int, after_seq: int, limit: int | None) -> Query:
    m = t.messages.c
    page = message_rows(t, project_id).where(m.conversation_id == conversation_id, m.seq > after_seq).order_by(m.seq)
    return page if limit is None or limit < 0 else page.limit(limit)


def part_rows(dialect: BackendDialect, project_id: uuid.UUID, message_ids: Sequence[int]) -> Query:
    p = dialect.tables.message_parts.c
    return (
        select(
            p.message_id,
            p.ordinal,
            p.part_type,
            p.content_start,
            p.content_end,
            p.text,
            p.tool_call_id,
            p.tool_name,
            p.is_error,
            p.file_id,
            p.metadata_json.label("metadata"),
        )
        .where(p.project_id == project_id, dialect.among(p.message_id, message_ids))
        .order_by(p.message_id, p.ordinal)
    )


@cache
def conversation_of_key(dialect: BackendDialect) -> Query:
    """Parameters: project_id, conversation_key."""
    c = dialect.tables.conversations.c
    key = bindparam("conversation_key", type_=c.conversation_key.type)
    return conversation_rows(dialect.tables, bindparam("project_id")).where(c.conversation_key == key)


@cache
def last_seq(dialect: BackendDialect) -> Query:
    """One row with the highest seq, NULL for an empty conversation; none without it. Parameters: both ids."""
    c, m = dialect.tables.conversations.c, dialect.tables.messages.c
    last = select(func.max(m.seq)).where(m.project_id == c.project_id, m.conversation_id == c.conversation_id)
    return select(last.scalar_subquery().label("last_seq")).where(
        c.conversation_id == bindparam("conversation_id"), c.project_id == bindparam("project_id")
    )


def is_summarized(t: Tables) -> ColumnElement[bool]:
    """The message has an edge to a summary, live or not."""
    return exists(select(literal_column("1")).where(t.summary_messages.c.message_id == t.messages.c.message_id))


def overview_messages(t: Tables, project_id: uuid.UUID) -> Query:
    m = t.messages.c
    return (
        select(
            m.conversation_id,
            func.count().label("message_count"),
            func.coalesce(func.sum(m.token_count), 0).label("raw_tokens"),
            func.min(m.occurred_at).label("first_at"),
            func.max(m.occurred_at).label("last_at"),
        )
        .where(m.project_id == project_id)
        .group_by(m.conversation_id)
    )


def overview_summaries(t: Tables, project_id: uuid.UUID) -> Query:
    s = t.summaries.c
    return (
        select(s.conversation_id, func.count().label("summary_count"), func.max(s.depth).label("max_depth"))
        .where(s.project_id == project_id)
        .group_by(s.conversation_id)
    )


def overview_context(t: Tables, project_id: uuid.UUID) -> Query:
    i, m, s = t.context_items.c, t.messages.c, t.summaries.c
    return (
        select(
            i.conversation_id,
            func.count(i.message_id).label("raw_context_items"),
            func.coalesce(func.sum(func.coalesce(m.token_count, s.token_count)), 0).label("context_tokens"),
        )
        .select_from(
            t.context_items.outerjoin(
                t.messages, and_(m.message_id == i.message_id, m.project_id == i.project_id)
            ).outerjoin(t.summaries, and_(s.summary_key == i.summary_key, s.project_id == i.project_id))
        )
        .where(i.project_id == project_id)
        .group_by(i.conversation_id)
    )


def tool_result_messages(dialect: BackendDialect, project_id: uuid.UUID, tool_call_ids: Sequence[str]) -> Query:
    p = dialect.tables.message_parts.c
    return (
        select(p.tool_call_id, func.min(p.message_id).label("message_id"))
        .where(
            p.project_id == project_id,
            p.part_type == "tool_result",
            p.tool_call_id.is_not(None),
            dialect.among(p.tool_call_id, tool_call_ids),
        )
        .group_by(p.tool_call_id)
    )


def is_base_of_another(t: Tables) -> ColumnElement[bool]:
    """Another conversation's context shows the message: it belongs to that one too."""
    i, m = t.context_items.c, t.messages.c
    other = exists(
        select(literal_column("1")).where(i.message_id == m.message_id, i.conversation_id != m.conversation_id)
    )
    base = exists(select(literal_column("1")).where(t.conversations.c.base_message_id == m.message_id))
    return or_(other, base)


def calling_conversations(dialect: BackendDialect, project_id: uuid.UUID, tool_call_ids: Sequence[str]) -> Query:
    """Every message that makes one of these calls, with its conversation, lowest message first."""
    p, m = dialect.tables.message_parts.c, dialect.tables.messages.c
    return (
        select(p.tool_call_id, m.conversation_id)
        .select_from(
            dialect.tables.message_parts.join(
                dialect.tables.messages, and_(m.message_id == p.message_id, m.project_id == p.project_id)
            )
        )
        .where(
            p.project_id == project_id,
            p.part_type == "tool_call",
            dialect.among(p.tool_call_id, tool_call_ids),
        )
        .order_by(p.message_id, p.ordinal)
    )


def exclusion_counts(t: Tables, project_id: uuid.UUID) -> Query:
    m = t.messages.c
    return (
        select(m.conversation_id, m.context_exclusion, func.count().label("message_count"))
        .where(m.project_id == project_id, m.context_exclusion.is_not(None))
        .group_by(m.conversation_id, m.context_exclusion)
        .order_by(m.conversation_id, m.context_exclusion)
    )
