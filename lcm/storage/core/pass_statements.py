"""Statements of storing a compaction pass and of the ledger around it, each built once."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Delete, Insert, Update, bindparam, delete, insert, or_, select, update

from lcm.domain.model_calls import CallStatus
from lcm.storage.core.dialect import BackendDialect, Query
from lcm.tables.metadata import Tables


@cache
def touch_conversation(t: Tables) -> Update:
    """Parameters: owner, place (the conversation), now."""
    c = t.conversations.c
    return (
        update(t.conversations)
        .where(c.conversation_id == bindparam("place"), c.project_id == bindparam("owner"))
        .values(context_revision=c.context_revision + 1, updated_at=bindparam("now"))
    )


@cache
def items_from_to(t: Tables) -> Query:
    """Items from the place of one reference to that of another, by position.

    Parameters: owner, place (the conversation), first_message or first_summary, last_message or last_summary; the other
    one of each is None.
    """
    i, other = t.context_items.c, t.context_items.alias("other")

    def position_of(end: str) -> Any:
        return (
            select(other.c.position)
            .where(
                other.c.project_id == bindparam("owner"),
                other.c.conversation_id == bindparam("place"),
                or_(
                    other.c.message_id == bindparam(f"{end}_message"),
                    other.c.summary_key == bindparam(f"{end}_summary"),
                ),
            )
            .scalar_subquery()
        )

    return (
        select(i.position, i.message_id, i.summary_key)
        .where(
            i.project_id == bindparam("owner"),
            i.conversation_id == bindparam("place"),
            i.position.between(position_of("first"), position_of("last")),
        )
        .order_by(i.position)
        .limit(bindparam("most"))
    )


@cache
def delete_items(t: Tables) -> Delete:
    """Parameters: owner, place (the conversation), first and last position."""
    i = t.context_items.c
    return delete(t.context_items).where(
        i.project_id == bindparam("owner"),
        i.conversation_id == bindparam("place"),
        i.position.between(bindparam("first"), bindparam("last")),
    )


@cache
def insert_summary(dialect: BackendDialect) -> Insert:
    """A summary with all its columns but the row id, which is returned; no row when its id or key is taken."""
    t = dialect.tables
    names = [column.name for column in t.summaries.columns if column.name != "summary_rowid"]
    statement = dialect.insert_or_skip(t.summaries).values({name: bindparam(name) for name in names})
    return statement.returning(t.summaries.c.summary_rowid)


@cache
def depths_of(dialect: BackendDialect) -> Query:
    """Depths of summaries. Parameters: owner, keys."""
    s = dialect.tables.summaries.c
    return select(s.depth).where(s.project_id == bindparam("owner"), dialect.among_bound(s.summary_key, "keys"))


@cache
def insert_call(t: Tables) -> Insert:
    names = (
        "call_key",
        "project_id",
        "conversation_id",
        "purpose",
        "model",
        "level",
        "depth",
        "status",
        "reserved_tokens",
        "started_at",
    )
    return insert(t.model_calls).values({name: bindparam(name) for name in names})


@cache
def finish_call(t: Tables) -> Update:
    """Parameters: owner, call, and the new values by column name with `new_` before it."""
    c = t.model_calls.c
    names = ("status", "input_tokens", "output_tokens", "cost_micros", "error_code", "finished_at")
    return (
        update(t.model_calls)
        .where(
            c.call_key == bindparam("call"),
            c.project_id == bindparam("owner"),
            c.status == CallStatus.RESERVED.value,
        )
        .values({name: bindparam(f"new_{name}") for name in names})
    )
