"""Statements of ingest that every turn of every session runs, built once for a dialect."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Update, bindparam, select, update

from lcm.storage.core.dialect import BackendDialect, Query
from lcm.tables.metadata import Tables


def source_rows(t: Tables) -> Query:
    s = t.sources.c
    return select(
        s.source_id,
        s.client,
        s.locator,
        s.revision,
        s.byte_offset,
        s.line_count,
        s.inode,
        s.tail_sha256,
        s.parser_state,
        s.updated_at,
    ).where(s.project_id == bindparam("project_id"))


@cache
def source_of_locator(dialect: BackendDialect) -> Query:
    """Parameters: project_id, machine_id, client, locator."""
    s = dialect.tables.sources.c
    return source_rows(dialect.tables).where(
        s.machine_id == bindparam("machine_id"), s.client == bindparam("client"), s.locator == bindparam("locator")
    )


@cache
def source_of_id(dialect: BackendDialect) -> Query:
    """Parameters: project_id, source_id."""
    return source_rows(dialect.tables).where(dialect.tables.sources.c.source_id == bindparam("source_id"))


@cache
def move_checkpoint(dialect: BackendDialect) -> Update:
    """Parameters: id, in_project, expected, and of the new checkpoint at, offset, lines, file, tail, state."""
    s = dialect.tables.sources.c
    return (
        update(dialect.tables.sources)
        .where(
            s.source_id == bindparam("id"),
            s.project_id == bindparam("in_project"),
            s.revision == bindparam("expected"),
        )
        .values(
            revision=s.revision + 1,
            updated_at=bindparam("at"),
            byte_offset=bindparam("offset"),
            line_count=bindparam("lines"),
            inode=bindparam("file"),
            tail_sha256=bindparam("tail"),
            parser_state=bindparam("state"),
        )
    )


@cache
def identity_salt(dialect: BackendDialect) -> Query:
    p = dialect.tables.projects.c
    return select(p.identity_salt).where(p.project_id == bindparam("project_id"))


@cache
def stored_identities(dialect: BackendDialect) -> Query:
    """Parameters: project_id, keys."""
    m = dialect.tables.messages.c
    return select(
        m.ingest_key, m.message_id, m.conversation_id, m.content_sha256, m.source_id, m.context_exclusion
    ).where(m.project_id == bindparam("project_id"), dialect.among_bound(m.ingest_key, "keys"))


@cache
def tombstones(dialect: BackendDialect) -> Query:
    """Parameters: project_id, keys."""
    t = dialect.tables.ingest_tombstones.c
    return select(t.ingest_key).where(
        t.project_id == bindparam("project_id"), dialect.among_bound(t.ingest_key, "keys")
    )


@cache
def occurrences(dialect: BackendDialect) -> Query:
    """Parameters: project_id, source_id, digests."""
    o = dialect.tables.source_occurrences.c
    return select(o.identity_digest, o.occurrences).where(
        o.project_id == bindparam("project_id"),
        o.source_id == bindparam("source_id"),
        dialect.among_bound(o.identity_digest, "digests"),
    )
