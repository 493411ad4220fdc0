"""Messages, parts, summaries and context items read by the thousand: statements built once, rows taken by position.

The objects are the same as those of `rows`; here every value counts, because a long session is read at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.messages import Exclusion, IdentityKind, Message, MessagePart, PartType, Role
from lcm.domain.summaries import EscalationLevel, Summary, SummaryKind, SummaryOrigin
from lcm.storage.core.dialect import BackendDialect, Query
from lcm.storage.core.prepared import run
from lcm.storage.core.rows import safe
from lcm.tables.metadata import Tables
from lcm.text import MAX_SAFE_INTEGER

_ROLES = {each.value: each for each in Role}
_IDENTITY_KINDS = {each.value: each for each in IdentityKind}
_PART_TYPES = {each.value: each for each in PartType}
_KINDS = {each.value: each for each in SummaryKind}

#: Ids of the calls that a message makes and of those that it answers.
ToolIds = tuple[tuple[str, ...], tuple[str, ...]]
_NO_TOOLS: ToolIds = ((), ())
#: So many items are looked at first when raw tokens are added up.
_FIRST_SUM = 256


class Page(NamedTuple):
    """Which items are read; whether their ranks are counted and their tool calls read."""

    newest_first: bool
    before_position: int | None
    limit: int | None
    is_ranked: bool = True
    with_tools: bool = True

    @property
    def before(self) -> int:
        return MAX_SAFE_INTEGER if self.before_position is None else self.before_position

    @property
    def most(self) -> int:
        return MAX_SAFE_INTEGER if self.limit is None or self.limit < 0 else self.limit


async def read_messages(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, message_ids: Sequence[int]
) -> dict[int, Message]:
    """Those of these messages that exist, by id."""
    values = {"owner": dialect.key_value(project_id), "ids": dialect.among_value(message_ids)}
    time_of = dialect.time_of
    found = {}
    for (
        message_id,
        conversation_id,
        seq,
        role,
        content,
        token_count,
        occurred_at,
        created_at,
        ingest_key,
        identity_kind,
        identity_occurrence,
        api_message_id,
        source_ordinal,
        exclusion,
        content_sha256,
    ) in (await run(dialect, connection, _messages(dialect), values)).rows:
        if not (0 <= seq <= MAX_SAFE_INTEGER and 0 <= token_count <= MAX_SAFE_INTEGER):
            _raise_unsafe(seq, token_count)
        found[message_id] = Message(
            message_id,
            conversation_id,
            seq,
            _ROLES[role],
            content,
            token_count,
            time_of(occurred_at),
            time_of(created_at),
            ingest_key,
            _IDENTITY_KINDS[identity_kind],
            identity_occurrence,
            api_message_id,
            source_ordinal,
            Exclusion(exclusion) if exclusion else None,
            content_sha256,
        )
    return found


async def read_parts(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, message_ids: Sequence[int]
) -> Mapping[int, tuple[MessagePart, ...]]:
    """Parts of these messages by message id, in order; a message without any is left out."""
    values = {"owner": dialect.key_value(project_id), "ids": dialect.among_value(message_ids)}
    found = (await run(dialect, connection, _parts(dialect), values)).rows
    return {message_id: tuple([_to_part(row) for row in rows]) for message_id, rows in groupby(found, itemgetter(0))}


async def read_summaries(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, keys: Sequence[uuid.UUID]
) -> dict[uuid.UUID, Summary]:
    """Those of these summaries that exist, by key, with their files."""
    if not keys:
        return {}
    values = {"owner": dialect.key_value(project_id), "keys": dialect.among_value(keys)}
    rows = (await run(dialect, connection, _summaries(dialect), values)).rows
    files: dict[Any, tuple[str, ...]] = {}
    for key, file_id in (await run(dialect, connection, _summary_files(dialect), values)).rows:
        files[key] = (*files.get(key, ()), file_id)
    found = [_to_summary(dialect, row, files.get(row[0], ())) for row in rows]
    return {each.summary_key: each for each in found}


async def read_children(
    dialect: BackendDialect, connection: AsyncConnection, project_id: uuid.UUID, keys: Sequence[uuid.UUID]
) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Keys of the summaries that each of these merges, in link order; those that merge none are left out."""
    values = {"owner": dialect.key_value(project_id), "keys": dialect.among_value(keys)}
    children: dict[uuid.UUID, list[uuid.UUID]] = {}
    for upper, lower in (await run(dialect, connection, _children(dialect), values)).rows:
        children.setdefault(dialect.key_of(upper), []).append(dialect.key_of(lower))
    return children


async def read_items(
    dialect: BackendDialect,
    connection: AsyncConnection,
    project_id: uuid.UUID,
    conversation_id: int,
    page: Page,
) -> list[ContextItem]:
    """See `ContextRepository.list_items`; none are found of an unknown conversation either."""
    t = dialect.tables
    scope = {"owner": dialect.key_value(project_id), "place": conversation_id}
    values = {**scope, "before": page.before, "most": page.most}
    found = (await run(dialect, connection, _items(t, page.newest_first), values)).rows
    if not found:
        return []
    first, last = min(found[0][0], found[-1][0]), max(found[0][0], found[-1][0])
    ordinal, step = 0, 1 if page.is_ranked else 0
    if page.newest_first and page.is_ranked:
        count = await run(dialect, connection, _count_before(t), {"place": conversation_id, "before": last})
        ordinal, step = safe(count.scalar), -1
    tools: dict[int, ToolIds] = {}
    if page.with_tools:
        tools = await _read_tools(dialect, connection, {**scope, "first": first, "last": last})
    return [_to_item(dialect, ordinal + step * n, row, tools) for n, row in enumerate(found)]


async def has_raw_tokens(
    dialect: BackendDialect,
    connection: AsyncConnection,
    project_id: uuid.UUID,
    conversation_id: int,
    *,
    tokens: int,
    before_position: int,
) -> bool:
    """See `ContextRepository.has_raw_tokens`; looks at twice as many items each time until it knows."""
    most = _FIRST_SUM
    while True:
        values = {
            "owner": dialect.key_value(project_id),
            "place": conversation_id,
            "before": before_position,
            "most": most,
        }
        [(count, found)] = (await run(dialect, connection, _raw_tokens(dialect.tables), values)).rows
        if found >= tokens or count < most:
            return bool(found >= tokens)
        most *= 2


async def _read_tools(
    dialect: BackendDialect, connection: AsyncConnection, values: Mapping[str, Any]
) -> dict[int, ToolIds]:
    """Of the messages between two positions, by message id."""
    calls: dict[int, tuple[str, ...]] = {}
    results: dict[int, tuple[str, ...]] = {}
    for message_id, part_type, call_id in (await run(dialect, connection, _tools_between(dialect.tables), values)).rows:
        kind = calls if part_type == PartType.TOOL_CALL else results
        kind[message_id] = (*kind[message_id], call_id) if message_id in kind else (call_id,)
    return {each: (calls.get(each, ()), results.get(each, ())) for each in calls.keys() | results.keys()}


def _to_item(dialect: BackendDialect, ordinal: int, row: Any, tools: Mapping[int, ToolIds]) -> ContextItem:
    position, message_id, summary_key, tokens, occurred_at, role, api_message_id, latest_at, name, kind, depth = row
    if not (0 <= position <= MAX_SAFE_INTEGER and 0 <= tokens <= MAX_SAFE_INTEGER):
        _raise_unsafe(position, tokens)
    at = occurred_at if occurred_at is not None else latest_at
    calls, results = tools.get(message_id, _NO_TOOLS) if message_id is not None else _NO_TOOLS
    return ContextItem(
        ordinal,
        position,
        ItemRef(message_id, None if summary_key is None else dialect.key_of(summary_key)),
        tokens,
        None if at is None else dialect.time_of(at),
        _ROLES[role] if role else None,
        api_message_id,
        name,
        _KINDS[kind] if kind else None,
        depth,
        calls,
        results,
    )


def _to_part(row: Sequence[Any]) -> MessagePart:
    _, ordinal, part_type, content_start, content_end, text, tool_call_id, tool_name, is_error, file_id, metadata = row
    return MessagePart(
        ordinal,
        _PART_TYPES[part_type],
        content_start,
        content_end,
        text,
        tool_call_id,
        tool_name,
        None if is_error is None else bool(is_error),
        file_id,
        metadata,
    )


def _to_summary(dialect: BackendDialect, row: Sequence[Any], file_ids: tuple[str, ...]) -> Summary:
    key, name, conversation_id, kind, depth, content, tokens, earliest_at, latest_at, *rest = row
    count, count_tokens, source_tokens, origin, level, model, prompt_version, successor, created_at = rest
    return Summary(
        summary_key=dialect.key_of(key),
        summary_id=name,
        conversation_id=safe(conversation_id),
        kind=SummaryKind(kind),
        depth=safe(depth),
        content=content,
        token_count=safe(tokens),
        earliest_at=None if earliest_at is None else dialect.time_of(earliest_at),
        latest_at=None if latest_at is None else dialect.time_of(latest_at),
        descendant_count=safe(count),
        descendant_token_count=safe(count_tokens),
        source_message_token_count=safe(source_tokens),
        file_ids=file_ids,
        origin=SummaryOrigin(origin),
        level=EscalationLevel(level),
        model=model,
        prompt_version=prompt_version,
        superseded_by_key=None if successor is None else dialect.key_of(successor),
        created_at=dialect.time_of(created_at),
    )


def _raise_unsafe(*numbers: int) -> None:
    """A damaged row fails instead of losing precision later."""
    for number in numbers:
        safe(number)


@cache
def _messages(dialect: BackendDialect) -> Query:
    m = dialect.tables.messages.c
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
    ).where(m.project_id == bindparam("owner"), dialect.among_bound(m.message_id, "ids"))


@cache
def _parts(dialect: BackendDialect) -> Query:
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
            p.metadata_json,
        )
        .where(p.project_id == bindparam("owner"), dialect.among_bound(p.message_id, "ids"))
        .order_by(p.message_id, p.ordinal)
    )


@cache
def _summaries(dialect: BackendDialect) -> Query:
    s = dialect.tables.summaries.c
    return select(
        s.summary_key,
        s.summary_id,
        s.conversation_id,
        s.kind,
        s.depth,
        s.content,
        s.token_count,
        s.earliest_at,
        s.latest_at,
        s.descendant_count,
        s.descendant_token_count,
        s.source_message_token_count,
        s.origin,
        s.level,
        s.model,
        s.prompt_version,
        s.superseded_by_key,
        s.created_at,
    ).where(s.project_id == bindparam("owner"), dialect.among_bound(s.summary_key, "keys"))


@cache
def _summary_files(dialect: BackendDialect) -> Query:
    f = dialect.tables.summary_large_files.c
    return (
        select(f.summary_key, f.file_id)
        .where(f.project_id == bindparam("owner"), dialect.among_bound(f.summary_key, "keys"))
        .order_by(f.summary_key, f.ordinal)
    )


@cache
def _children(dialect: BackendDialect) -> Query:
    e = dialect.tables.summary_parents.c
    return (
        select(e.summary_key, e.parent_summary_key)
        .where(e.project_id == bindparam("owner"), dialect.among_bound(e.summary_key, "keys"))
        .order_by(e.summary_key, e.ordinal)
    )


@cache
def _items(t: Tables, newest_first: bool) -> Query:  # noqa: FBT001 - part of the key of the cache
    """Parameters: owner, place (the conversation), before (a position, exclusive), most (rows)."""
    i, m, s = t.context_items.c, t.messages.c, t.summaries.c
    joined = t.context_items.outerjoin(
        t.messages, and_(m.message_id == i.message_id, m.project_id == i.project_id)
    ).outerjoin(t.summaries, and_(s.summary_key == i.summary_key, s.project_id == i.project_id))
    return (
        select(
            i.position,
            i.message_id,
            i.summary_key,
            func.coalesce(m.token_count, s.token_count),
            m.occurred_at,
            m.role,
            m.api_message_id,
            s.latest_at,
            s.summary_id,
            s.kind,
            s.depth,
        )
        .select_from(joined)
        .where(
            i.project_id == bindparam("owner"),
            i.conversation_id == bindparam("place"),
            i.position < bindparam("before"),
        )
        .order_by(i.position.desc() if newest_first else i.position)
        .limit(bindparam("most"))
    )


@cache
def _tools_between(t: Tables) -> Query:
    """Parameters: owner, place (the conversation), first and last position."""
    i, p = t.context_items.c, t.message_parts.c
    return (
        select(i.message_id, p.part_type, p.tool_call_id)
        .select_from(t.context_items.join(t.message_parts, p.message_id == i.message_id))
        .where(
            i.project_id == bindparam("owner"),
            i.conversation_id == bindparam("place"),
            i.position.between(bindparam("first"), bindparam("last")),
            p.project_id == bindparam("owner"),
            p.tool_call_id.is_not(None),
            or_(p.part_type == PartType.TOOL_CALL.value, p.part_type == PartType.TOOL_RESULT.value),
        )
        .order_by(i.position, p.ordinal)
    )


@cache
def _raw_tokens(t: Tables) -> Query:
    """How many items, and the tokens of the messages among them. Parameters: owner, place, before, most."""
    i, m = t.context_items.c, t.messages.c
    newest = (
        select(i.message_id)
        .where(
            i.project_id == bindparam("owner"),
            i.conversation_id == bindparam("place"),
            i.position < bindparam("before"),
        )
        .order_by(i.position.desc())
        .limit(bindparam("most"))
        .subquery()
    )
    joined = newest.outerjoin(t.messages, m.message_id == newest.c.message_id)
    return select(func.count(), func.coalesce(func.sum(m.token_count), 0)).select_from(joined)


@cache
def _count_before(t: Tables) -> Query:
    """Only by conversation, which belongs to one project: the index alone answers that, however long it is."""
    i = t.context_items.c
    return select(func.count()).where(i.conversation_id == bindparam("place"), i.position < bindparam("before"))
