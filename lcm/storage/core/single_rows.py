"""Rows asked for by their key and small changes of one row, as every turn of a session makes them: built once."""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.breakers import Breaker, BreakerState
from lcm.domain.context import ItemRef
from lcm.domain.conversations import Conversation, Relation
from lcm.errors import UnknownConversation
from lcm.storage.core import pass_statements
from lcm.storage.core.dialect import BackendDialect, Query
from lcm.storage.core.prepared import run
from lcm.storage.core.rows import safe
from lcm.tables.metadata import Tables


async def find_conversation(
    dialect: BackendDialect,
    connection: AsyncConnection,
    project_id: uuid.UUID,
    *,
    conversation_id: int | None = None,
    key: uuid.UUID | None = None,
) -> Conversation | None:
    """The conversation with this id or with this key."""
    values = {
        "owner": dialect.key_value(project_id),
        "wanted": conversation_id if key is None else dialect.key_value(key),
    }
    row = (await run(dialect, connection, _conversation(dialect.tables, key is not None), values)).first
    return None if row is None else _to_conversation(dialect, row)


async def require_conversation(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, conversation_id: int
) -> None:
    """Raises `UnknownConversation` when the project has none of this id."""
    values = {"owner": dialect.key_value(project_id), "wanted": conversation_id}
    if (await run(dialect, connection, _conversation_exists(dialect.tables), values)).first is None:
        raise UnknownConversation


async def find_summary_key(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, summary_id: str
) -> uuid.UUID | None:
    """The key of the summary with this id."""
    values = {"owner": dialect.key_value(project_id), "wanted": summary_id}
    found = (await run(dialect, connection, _summary_key(dialect.tables), values)).scalar
    return None if found is None else dialect.key_of(found)


async def find_breaker(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, provider: str, model: str
) -> Breaker | None:
    """What is noted of a provider's model; asked for before and after every call."""
    values = {"owner": dialect.key_value(project_id), "provider": provider, "model": model}
    row = (await run(dialect, connection, _breaker(dialect.tables), values)).first
    if row is None:
        return None
    state, failures, error_code, opened_at, probe_at, updated_at = row
    return Breaker(
        provider=provider,
        model=model,
        state=BreakerState(state),
        failures=safe(failures),
        error_code=error_code,
        opened_at=None if opened_at is None else dialect.time_of(opened_at),
        probe_at=None if probe_at is None else dialect.time_of(probe_at),
        updated_at=dialect.time_of(updated_at),
    )


async def touch_conversation(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, conversation_id: int, *, at: datetime
) -> None:
    """Count a change of its context.

    Raises:
        UnknownConversation.
    """
    values = {"owner": dialect.key_value(project_id), "place": conversation_id, "now": dialect.time_value(at)}
    changed = await run(dialect, connection, pass_statements.touch_conversation(dialect.tables), values)
    if changed.rowcount != 1:
        raise UnknownConversation


async def find_position(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, conversation_id: int, ref: ItemRef
) -> int | None:
    """Where an item stands in a context."""
    key = None if ref.summary_key is None else dialect.key_value(ref.summary_key)
    values = {
        "owner": dialect.key_value(project_id),
        "place": conversation_id,
        "message": ref.message_id,
        "summary": key,
    }
    found = (await run(dialect, connection, _position(dialect.tables), values)).scalar
    return None if found is None else safe(found)


async def find_gap_behind(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, conversation_id: int, ref: ItemRef
) -> tuple[int, int | None] | None:
    """Where an item stands and the first taken position behind it (None: it is the last); None when it is not there."""
    key = None if ref.summary_key is None else dialect.key_value(ref.summary_key)
    values = {
        "owner": dialect.key_value(project_id),
        "place": conversation_id,
        "message": ref.message_id,
        "summary": key,
    }
    found = (await run(dialect, connection, _gap_behind(dialect.tables), values)).first
    return None if found is None else (safe(found[0]), None if found[1] is None else safe(found[1]))


async def find_next_position(
    dialect: BackendDialect, connection: AsyncConnection, conversation_id: int, after: int
) -> int | None:
    """The first taken position behind this one in a context that is known to be the project's."""
    values = {"place": conversation_id, "after": after}
    found = (await run(dialect, connection, _next_position(dialect.tables), values)).scalar
    return None if found is None else safe(found)


def _to_conversation(dialect: BackendDialect, row: Any) -> Conversation:
    row_id, key, session_id, client, title, relation, base_id, base_message_id, call_id, revision, *times = row
    bootstrapped_at, created_at, updated_at = times
    return Conversation(
        conversation_id=safe(row_id),
        conversation_key=dialect.key_of(key),
        session_id=session_id,
        client=client,
        title=title,
        relation=Relation(relation),
        base_conversation_id=base_id,
        base_message_id=base_message_id,
        parent_tool_call_id=call_id,
        context_revision=safe(revision),
        bootstrapped_at=None if bootstrapped_at is None else dialect.time_of(bootstrapped_at),
        created_at=dialect.time_of(created_at),
        updated_at=dialect.time_of(updated_at),
    )


@cache
def _conversation(t: Tables, by_key: bool) -> Query:  # noqa: FBT001 - part of the key of the cache
    """Parameters: owner, wanted (an id or a key)."""
    c = t.conversations.c
    return select(
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
    ).where(
        c.project_id == bindparam("owner"), (c.conversation_key if by_key else c.conversation_id) == bindparam("wanted")
    )


@cache
def _conversation_exists(t: Tables) -> Select[int]:
    """Parameters: owner, wanted."""
    c = t.conversations.c
    return select(c.conversation_id).where(c.project_id == bindparam("owner"), c.conversation_id == bindparam("wanted"))


@cache
def _breaker(t: Tables) -> Query:
    """Parameters: owner, provider, model."""
    b = t.provider_breakers.c
    return select(b.state, b.failures, b.error_code, b.opened_at, b.probe_at, b.updated_at).where(
        b.project_id == bindparam("owner"), b.provider == bindparam("provider"), b.model == bindparam("model")
    )


@cache
def _summary_key(t: Tables) -> Query:
    """Parameters: owner, wanted."""
    s = t.summaries.c
    return select(s.summary_key).where(s.project_id == bindparam("owner"), s.summary_id == bindparam("wanted"))


@cache
def _position(t: Tables) -> Select[int]:
    """Parameters: owner, place (the conversation), message or summary; the other one is None."""
    i = t.context_items.c
    return select(i.position).where(
        i.project_id == bindparam("owner"),
        i.conversation_id == bindparam("place"),
        or_(i.message_id == bindparam("message"), i.summary_key == bindparam("summary")),
    )


@cache
def _gap_behind(t: Tables) -> Query:
    """The position of an item and the next one. Parameters: as of `_position`."""
    i, behind = t.context_items.c, t.context_items.alias("behind")
    following = (
        select(func.min(behind.c.position))
        .where(behind.c.conversation_id == i.conversation_id, behind.c.position > i.position)
        .correlate(t.context_items)
        .scalar_subquery()
    )
    return select(i.position, following).where(
        i.project_id == bindparam("owner"),
        i.conversation_id == bindparam("place"),
        or_(i.message_id == bindparam("message"), i.summary_key == bindparam("summary")),
    )


@cache
def _next_position(t: Tables) -> Query:
    """Parameters: place (the conversation), after (a position, exclusive)."""
    i = t.context_items.c
    return select(func.min(i.position)).where(i.conversation_id == bindparam("place"), i.position > bindparam("after"))
