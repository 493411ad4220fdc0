"""Statements of the raw reads for the proof."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, and_, exists, func, or_, select, union
from sqlalchemy.orm import aliased

from lcm.storage.core.dialect import BackendDialect, Query
from lcm.tables.metadata import Tables


def conversation_rows(t: Tables, project_id: uuid.UUID) -> Query:
    c, m = t.conversations.c, t.messages.c
    return (
        select(
            c.conversation_id,
            c.session_id,
            c.base_conversation_id,
            c.base_message_id,
            m.conversation_id.label("base_message_owner"),
            c.context_revision,
        )
        .select_from(
            t.conversations.outerjoin(t.messages, and_(m.message_id == c.base_message_id, m.project_id == c.project_id))
        )
        .where(c.project_id == project_id)
        .order_by(c.conversation_id)
    )


def message_rows(
    dialect: BackendDialect, project_id: uuid.UUID, conversation_id: int, after: tuple[int, int] | None, limit: int
) -> Query:
    m = dialect.tables.messages.c
    page = (
        select(
            m.message_id,
            m.conversation_id,
            m.seq,
            m.role,
            dialect.text_bytes(m.content).label("content"),
            m.token_count,
            m.ingest_key,
            m.identity_kind,
            m.identity_occurrence,
            m.context_exclusion,
            m.content_sha256,
            m.source_id,
        )
        .where(m.project_id == project_id, m.conversation_id == conversation_id)
        .order_by(m.seq, m.message_id)
        .limit(limit)
    )
    if after is None:
        return page
    seq, message_id = after
    return page.where(or_(m.seq > seq, and_(m.seq == seq, m.message_id > message_id)))


def part_rows(dialect: BackendDialect, project_id: uuid.UUID, message_ids: Sequence[int]) -> Query:
    p, as_bytes = dialect.tables.message_parts.c, dialect.text_bytes
    return (
        select(
            p.message_id,
            p.ordinal,
            p.part_type,
            p.content_start,
            p.content_end,
            as_bytes(p.text).label("text"),
            as_bytes(p.tool_call_id).label("tool_call_id"),
            as_bytes(p.tool_name).label("tool_name"),
            p.is_error,
            as_bytes(p.file_id).label("file_id"),
            as_bytes(p.metadata_json).label("metadata"),
        )
        .where(p.project_id == project_id, dialect.among(p.message_id, message_ids))
        .order_by(p.message_id, p.ordinal)
    )


def item_counts(
    dialect: BackendDialect, project_id: uuid.UUID, conversation_id: int, message_ids: Sequence[int]
) -> Query:
    """How many items of one context show each of these messages; those that none shows are absent."""
    i = dialect.tables.context_items.c
    return (
        select(i.message_id, func.count().label("item_count"))
        .where(
            i.project_id == project_id,
            i.conversation_id == conversation_id,
            i.message_id.is_not(None),
            dialect.among(i.message_id, message_ids),
        )
        .group_by(i.message_id)
    )


def live_leaves(dialect: BackendDialect, project_id: uuid.UUID, message_ids: Sequence[int]) -> Query:
    e = dialect.tables.summary_messages.c
    return (
        select(e.message_id, e.conversation_id, e.summary_key)
        .where(e.project_id == project_id, e.is_live.is_(True), dialect.among(e.message_id, message_ids))
        .order_by(e.message_id, e.conversation_id, e.summary_key)
    )


def summary_rows(dialect: BackendDialect, project_id: uuid.UUID, after: uuid.UUID | None, limit: int) -> Query:
    s = dialect.tables.summaries.c
    page = (
        select(
            s.summary_key,
            s.summary_id,
            s.conversation_id,
            s.kind,
            s.depth,
            dialect.text_bytes(s.content).label("content"),
            s.created_at,
            s.token_count,
            s.earliest_at,
            s.latest_at,
            s.descendant_count,
            s.descendant_token_count,
            s.source_message_token_count,
            s.superseded_by_key,
        )
        .where(s.project_id == project_id)
        .order_by(s.summary_key)
        .limit(limit)
    )
    return page if after is None else page.where(s.summary_key > after)


def child_links(dialect: BackendDialect, project_id: uuid.UUID, summary_keys: Sequence[uuid.UUID]) -> Query:
    e = dialect.tables.summary_parents.c
    return (
        select(e.summary_key, e.parent_summary_key, e.conversation_id, e.ordinal, e.is_live)
        .where(e.project_id == project_id, dialect.among(e.summary_key, summary_keys))
        .order_by(e.summary_key, e.ordinal, e.parent_summary_key)
    )


def source_groups(dialect: BackendDialect, project_id: uuid.UUID, summary_keys: Sequence[uuid.UUID]) -> Query:
    """Message links of these leaves, summed by leaf, owner of the message, conversation and state of the link."""
    t = dialect.tables
    e, m = t.summary_messages.c, t.messages.c
    group = (e.summary_key, m.conversation_id, e.conversation_id, e.is_live)
    return (
        select(
            e.summary_key,
            m.conversation_id.label("message_owner"),
            e.conversation_id,
            e.is_live,
            func.count().label("link_count"),
            func.min(e.ordinal).label("lowest_ordinal"),
            func.max(e.ordinal).label("highest_ordinal"),
            func.sum(e.ordinal).label("ordinal_sum"),
            func.coalesce(func.sum(m.token_count), 0).label("token_count"),
            func.min(m.occurred_at).label("earliest_at"),
            func.max(m.occurred_at).label("latest_at"),
        )
        .select_from(
            t.summary_messages.outerjoin(t.messages, and_(m.message_id == e.message_id, m.project_id == e.project_id))
        )
        .where(e.project_id == project_id, dialect.among(e.summary_key, summary_keys))
        .group_by(*group)
        .order_by(*group)
    )


def summary_files(dialect: BackendDialect, project_id: uuid.UUID, summary_keys: Sequence[uuid.UUID]) -> Query:
    f = dialect.tables.summary_large_files.c
    return (
        select(f.summary_key, f.file_id)
        .where(f.project_id == project_id, dialect.among(f.summary_key, summary_keys))
        .order_by(f.summary_key, f.ordinal)
    )


def shown_summaries(t: Tables, project_id: uuid.UUID) -> Query:
    i = t.context_items.c
    return (
        select(i.conversation_id, i.summary_key)
        .where(i.project_id == project_id, i.summary_key.is_not(None))
        .order_by(i.conversation_id, i.position)
    )


def item_rows(t: Tables, project_id: uuid.UUID, conversation_id: int, after: int | None, limit: int) -> Query:
    i, m = t.context_items.c, t.messages.c
    page = (
        select(
            i.position,
            i.message_id,
            i.summary_key,
            m.conversation_id.label("message_owner"),
            m.seq.label("message_seq"),
            m.source_id,
            m.created_at.label("stored_at"),
        )
        .select_from(
            t.context_items.outerjoin(t.messages, and_(m.message_id == i.message_id, m.project_id == i.project_id))
        )
        .where(i.project_id == project_id, i.conversation_id == conversation_id)
        .order_by(i.position)
        .limit(limit)
    )
    return page if after is None else page.where(i.position > after)


def source_links(t: Tables, project_id: uuid.UUID, after: tuple[uuid.UUID, int, int] | None, limit: int) -> Query:
    e, m = t.summary_messages.c, t.messages.c
    page = (
        select(
            e.summary_key,
            e.ordinal,
            e.message_id,
            m.conversation_id,
            m.seq,
            m.source_id,
            m.created_at,
        )
        .select_from(
            t.summary_messages.outerjoin(t.messages, and_(m.message_id == e.message_id, m.project_id == e.project_id))
        )
        .where(e.project_id == project_id)
        .order_by(e.summary_key, e.ordinal, e.message_id)
        .limit(limit)
    )
    if after is None:
        return page
    key, ordinal, message_id = after
    # The first bound alone lets the database begin at this leaf in its index.
    return page.where(
        e.summary_key >= key,
        or_(
            e.summary_key > key,
            e.ordinal > ordinal,
            and_(e.ordinal == ordinal, e.message_id > message_id),
        ),
    )


def audit_rows(t: Tables, project_id: uuid.UUID) -> Query:
    a = t.context_audits.c
    return (
        select(a.conversation_id, a.message_id, a.action)
        .where(a.project_id == project_id)
        .order_by(a.created_at, a.audit_key)
    )


def borrowed_pairs(t: Tables, project_id: uuid.UUID) -> Query:
    """Conversations of which a source that is not a message's first one holds messages, two by two."""
    held, m = t.message_sources.c, t.messages.c
    further = t.message_sources.join(t.messages, and_(m.message_id == held.message_id, m.project_id == held.project_id))
    lent = (
        select(held.source_id, m.conversation_id).select_from(further).where(held.project_id == project_id).distinct()
    )
    first = select(m.source_id, m.conversation_id).where(
        m.project_id == project_id, m.source_id.in_(select(held.source_id).where(held.project_id == project_id))
    )
    one, other = union(first, lent).subquery(), lent.subquery()
    return (
        select(one.c.conversation_id, other.c.conversation_id.label("owner_id"))
        .where(one.c.source_id == other.c.source_id, one.c.conversation_id != other.c.conversation_id)
        .distinct()
        .order_by(one.c.conversation_id, other.c.conversation_id)
    )


def checkpoint_rows(t: Tables, project_id: uuid.UUID, after: int | None, limit: int) -> Query:
    s = t.sources.c
    page = select(s.source_id, s.parser_state).where(s.project_id == project_id).order_by(s.source_id).limit(limit)
    return page if after is None else page.where(s.source_id > after)


def known_keys(dialect: BackendDialect, project_id: uuid.UUID, ingest_keys: Sequence[bytes]) -> tuple[Query, Query]:
    """Keys of stored messages, and of those that were pruned."""
    m, gone = dialect.tables.messages.c, dialect.tables.ingest_tombstones.c
    stored = select(m.ingest_key).where(m.project_id == project_id, dialect.among(m.ingest_key, ingest_keys))
    pruned = select(gone.ingest_key).where(gone.project_id == project_id, dialect.among(gone.ingest_key, ingest_keys))
    return stored, pruned


def count_messages(t: Tables, project_id: uuid.UUID) -> Query:
    return select(func.count()).where(t.messages.c.project_id == project_id)


def count_tombstones(t: Tables, project_id: uuid.UUID) -> Query:
    return select(func.count()).where(t.ingest_tombstones.c.project_id == project_id)


def compaction_states(t: Tables, project_id: uuid.UUID) -> Query:
    s, c = t.compaction_states.c, t.conversations.c
    return (
        select(
            s.conversation_id,
            s.mode,
            s.context_revision,
            c.context_revision.label("conversation_revision"),
            s.policy_sha256,
            s.stop_reason,
            s.last_summary_key,
        )
        .select_from(
            t.compaction_states.outerjoin(
                t.conversations, and_(c.conversation_id == s.conversation_id, c.project_id == s.project_id)
            )
        )
        .where(s.project_id == project_id)
        .order_by(s.conversation_id, s.mode)
    )


def breaker_rows(t: Tables, project_id: uuid.UUID) -> Query:
    b = t.provider_breakers.c
    return (
        select(b.provider, b.model, b.state, b.failures, b.opened_at, b.probe_at)
        .where(b.project_id == project_id)
        .order_by(b.provider, b.model)
    )


def file_rows(t: Tables, project_id: uuid.UUID, conversation_id: int | None, after: str | None, limit: int) -> Query:
    f = t.large_files.c
    page = (
        select(
            f.file_id,
            f.conversation_id,
            f.file_name,
            f.mime_type,
            f.size_bytes,
            f.content_sha256,
            f.storage_uri,
            f.exploration_summary,
            f.created_at,
        )
        .where(f.project_id == project_id)
        .order_by(f.file_id)
        .limit(limit)
    )
    if conversation_id is not None:
        page = page.where(f.conversation_id == conversation_id)
    return page if after is None else page.where(f.file_id > after)


def file_digests(dialect: BackendDialect, project_id: uuid.UUID, file_ids: Sequence[str]) -> Query:
    f = dialect.tables.large_files.c
    return select(f.file_id, f.content_sha256).where(f.project_id == project_id, dialect.among(f.file_id, file_ids))


def unanswered_calls(t: Tables, project_id: uuid.UUID, conversation_id: int | None) -> Query:
    calls, results = aliased(t.message_parts).c, aliased(t.message_parts).c
    answer = exists().where(
        results.project_id == project_id,
        results.tool_call_id == calls.tool_call_id,
        results.part_type == "tool_result",
    )
    query = select(func.count()).where(
        calls.project_id == project_id,
        calls.part_type == "tool_call",
        calls.tool_call_id.is_not(None),
        ~answer,
    )
    if conversation_id is None:
        return query
    m = t.messages.c
    return query.where(calls.message_id == m.message_id, m.conversation_id == conversation_id)


def redaction_counters(t: Tables, project_id: uuid.UUID) -> Query:
    c = t.redaction_counters.c
    return select(c.category.label("name"), c.count.label("value")).where(c.project_id == project_id)


def session_counters(t: Tables, project_id: uuid.UUID) -> Query:
    s = t.session_ingest_log.c
    return select(s.session_id.label("name"), s.message_count.label("value")).where(s.project_id == project_id)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Rows of `table` belong to the row of `owner_table` that `column` names."""

    rows: str
    owner: str
    table: FromClause
    column: ColumnElement[Any]
    owner_table: FromClause
    owner_column: ColumnElement[Any]


def ownerships(t: Tables) -> list[Ownership]:
    c, m, s = t.conversations, t.messages, t.summaries
    parts, links, merges = t.message_parts, t.summary_messages, t.summary_parents
    of_conversation = [("messages", m), ("summaries", s), ("context items", t.context_items), ("files", t.large_files)]
    return [
        *(
            Ownership(rows, "conversation", table, table.c.conversation_id, c, c.c.conversation_id)
            for rows, table in of_conversation
        ),
        Ownership("parts", "message", parts, parts.c.message_id, m, m.c.message_id),
        Ownership("message links", "summary", links, links.c.summary_key, s, s.c.summary_key),
        Ownership("summary links", "summary", merges, merges.c.summary_key, s, s.c.summary_key),
        Ownership(
            "file references",
            "summary",
            t.summary_large_files,
            t.summary_large_files.c.summary_key,
            s,
            s.c.summary_key,
        ),
    ]


def orphans(each: Ownership, project_id: uuid.UUID, limit: int) -> Query:
    """Owners that are gone, with how many rows they left."""
    project = each.table.c.project_id
    joined = each.table.outerjoin(
        each.owner_table, and_(each.owner_column == each.column, each.owner_table.c.project_id == project)
    )
    return (
        select(each.column.label("owner_id"), func.count().label("row_count"))
        .select_from(joined)
        .where(project == project_id, each.owner_column.is_(None))
        .group_by(each.column)
        .order_by(each.column)
        .limit(limit)
    )
