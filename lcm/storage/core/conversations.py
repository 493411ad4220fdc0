"""Conversations, messages and parts over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.content_digest import content_digest
from lcm.domain.conversations import Conversation, ConversationOverview, NewConversation
from lcm.domain.messages import Exclusion, Message, MessagePart, NewMessage, Role
from lcm.errors import InvalidInput, UnknownConversation, UnknownMessage
from lcm.ids import uuid7
from lcm.storage.core import conversation_statements as statements
from lcm.storage.core import message_rows, rows
from lcm.storage.core.bulk_reading import read_messages, read_parts
from lcm.storage.core.dialect import IndexedText, Query
from lcm.storage.core.single_rows import find_conversation, require_conversation
from lcm.storage.core.transaction import Executor
from lcm.text import require_safe, require_safe_integer

DOMAIN = "conversations"


class CoreConversationRepository:
    """See `lcm.storage.contracts.conversations.ConversationRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._tables = executor.dialect.tables

    # Conversations

    async def create_conversation(self, new: NewConversation) -> Conversation:
        _validate_conversation(new)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            return await self._insert_conversation(connection, new)

    async def get_or_create_conversation(self, new: NewConversation) -> Conversation:
        _validate_conversation(new)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._executor.dialect.lock_key(connection, f"conversation:{new.session_id}")
            found = await self._find_existing(connection, new)
            return found or await self._insert_conversation(connection, new)

    async def get_conversation(self, conversation_id: int) -> Conversation:
        async with self._executor.operation(DOMAIN) as connection:
            return await self._get(connection, conversation_id)

    async def find_by_key(self, conversation_key: uuid.UUID) -> Conversation | None:
        async with self._executor.operation(DOMAIN) as connection:
            return await self._find_by_key(connection, conversation_key)

    async def find_newest_of_session(self, session_id: str) -> Conversation | None:
        require_safe("session_id", session_id)
        async with self._executor.operation(DOMAIN) as connection:
            return await self._find_newest(connection, session_id)

    async def list_of_session(self, session_id: str) -> list[Conversation]:
        require_safe("session_id", session_id)
        c = self._tables.conversations.c
        async with self._executor.operation(DOMAIN) as connection:
            found = await connection.execute(self._conversations().where(c.session_id == session_id))
            return [rows.to_conversation(row) for row in found]

    async def list_conversations(self, *, limit: int | None = None) -> list[Conversation]:
        query = self._conversations()
        if limit is not None and limit >= 0:
            query = query.limit(limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_conversation(row) for row in await connection.execute(query)]

    async def list_overviews(self, conversation_id: int | None = None) -> list[ConversationOverview]:
        async with self._executor.operation(DOMAIN) as connection:
            query = self._conversations()
            if conversation_id is not None:
                query = query.where(self._tables.conversations.c.conversation_id == conversation_id)
            conversations = [rows.to_conversation(row) for row in await connection.execute(query)]
            messages = await self._by_conversation(connection, statements.overview_messages, conversation_id)
            summaries = await self._by_conversation(connection, statements.overview_summaries, conversation_id)
            context = await self._by_conversation(connection, statements.overview_context, conversation_id)
        return [_overview(each, messages, summaries, context) for each in conversations]

    async def update_conversation(
        self,
        conversation_id: int,
        *,
        title: str | None = None,
        parent_tool_call_id: str | None = None,
        base: NewConversation | None = None,
    ) -> Conversation:
        values = _changes(title, parent_tool_call_id, base)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._get(connection, conversation_id)
            c = self._tables.conversations.c
            await connection.execute(
                update(self._tables.conversations)
                .where(c.conversation_id == conversation_id, c.project_id == self._executor.project_id)
                .values(updated_at=self._clock(), **values)
            )
            return await self._get(connection, conversation_id)

    async def mark_bootstrapped(self, conversation_id: int, at: datetime) -> None:
        rows.require_aware("at", at)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._get(connection, conversation_id)
            c = self._tables.conversations.c
            await connection.execute(
                update(self._tables.conversations)
                .where(
                    c.conversation_id == conversation_id,
                    c.project_id == self._executor.project_id,
                    c.bootstrapped_at.is_(None),
                )
                .values(bootstrapped_at=at)
            )

    # Messages

    async def append_messages(self, conversation_id: int, messages: Sequence[NewMessage]) -> list[Message]:
        if any(new.seq is not None for new in messages):
            raise InvalidInput("append_messages allocates seq itself; use create_messages for explicit ones.")
        _validate_messages(messages)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._executor.dialect.lock_key(connection, f"append:{conversation_id}")
            last = await self._end_of(connection, conversation_id)
            first = 0 if last is None else last + 1
            require_safe_integer("seq", first + max(0, len(messages) - 1))
            return await self._insert_messages(
                connection, conversation_id, messages, range(first, first + len(messages))
            )

    async def create_messages(self, conversation_id: int, messages: Sequence[NewMessage]) -> list[Message]:
        if any(new.seq is None for new in messages):
            raise InvalidInput("create_messages needs an explicit seq for every message.")
        _validate_messages(messages)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._require_conversation(connection, conversation_id)
            sequence = [new.seq for new in messages if new.seq is not None]
            return await self._insert_messages(connection, conversation_id, messages, sequence)

    async def list_messages(
        self, conversation_id: int, *, after_seq: int = -1, limit: int | None = None
    ) -> list[Message]:
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            page = statements.messages_page(self._tables, self._executor.project_id, conversation_id, after_seq, limit)
            return [rows.to_message(row) for row in await connection.execute(page)]

    async def get_message(self, message_id: int) -> Message:
        async with self._executor.operation(DOMAIN) as connection:
            return await self._get_message(connection, message_id)

    async def list_messages_by_id(self, message_ids: Sequence[int]) -> list[Message]:
        async with self._executor.operation(DOMAIN) as connection:
            found = await read_messages(self._executor.dialect, connection, self._executor.project_id, message_ids)
        return [found[message_id] for message_id in message_ids if message_id in found]

    async def find_last_message(self, conversation_id: int) -> Message | None:
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            m = self._tables.messages.c
            query = (
                statements.message_rows(self._tables, self._executor.project_id)
                .where(m.conversation_id == conversation_id)
                .order_by(m.seq.desc())
                .limit(1)
            )
            row = (await connection.execute(query)).first()
        return rows.to_message(row) if row else None

    async def find_last_seq(self, conversation_id: int) -> int | None:
        async with self._executor.operation(DOMAIN) as connection:
            return await self._end_of(connection, conversation_id)

    async def has_message(self, conversation_id: int, role: Role, content: str) -> bool:
        require_safe("content", content)
        m = self._tables.messages.c
        query = (
            select(m.message_id)
            .where(
                m.project_id == self._executor.project_id,
                m.conversation_id == conversation_id,
                m.role == role.value,
                m.content == content,
            )
            .limit(1)
        )
        async with self._executor.operation(DOMAIN) as connection:
            return (await connection.execute(query)).first() is not None

    async def count_messages(self, conversation_id: int) -> int:
        m = self._tables.messages.c
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            query = select(func.count()).where(
                m.project_id == self._executor.project_id, m.conversation_id == conversation_id
            )
            return rows.safe((await connection.execute(query)).scalar_one())

    async def count_messages_of_session(self, session_id: str) -> int:
        require_safe("session_id", session_id)
        m, c = self._tables.messages.c, self._tables.conversations.c
        query = (
            select(func.count())
            .select_from(self._tables.messages.join(self._tables.conversations, m.conversation_id == c.conversation_id))
            .where(c.project_id == self._executor.project_id, c.session_id == session_id)
        )
        async with self._executor.operation(DOMAIN) as connection:
            return rows.safe((await connection.execute(query)).scalar_one())

    async def delete_messages(self, message_ids: Sequence[int]) -> int:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            deletable = await self._deletable(connection, message_ids)
            if not deletable:
                return 0
            ids = [text.row_id for text in deletable]
            dialect, project_id = self._executor.dialect, self._executor.project_id
            await dialect.index.remove_messages(connection, deletable)
            items, messages = self._tables.context_items, self._tables.messages
            await self._touch_contexts(connection, ids)
            await connection.execute(
                delete(items).where(items.c.project_id == project_id, dialect.among(items.c.message_id, ids))
            )
            await connection.execute(
                delete(messages).where(messages.c.project_id == project_id, dialect.among(messages.c.message_id, ids))
            )
        return len(ids)

    # Parts

    async def count_parts(self) -> int:
        parts = self._tables.message_parts
        query = select(func.count()).select_from(parts).where(parts.c.project_id == self._executor.project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return rows.safe((await connection.execute(query)).scalar_one())

    async def create_parts(self, message_id: int, parts: Sequence[MessagePart]) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            message = await self._get_message(connection, message_id)
            for part in parts:
                message_rows.validate_part(part, len(message.content))
            await self._insert_parts(connection, [(message_id, tuple(parts))])
            await self._renew_digest(connection, message)

    async def list_parts(self, message_ids: Sequence[int]) -> Mapping[int, tuple[MessagePart, ...]]:
        async with self._executor.operation(DOMAIN) as connection:
            return await self._parts(connection, message_ids)

    async def find_tool_results(self, tool_call_ids: Sequence[str]) -> Mapping[str, int]:
        for each in tool_call_ids:
            require_safe("tool_call_id", each)
        async with self._executor.operation(DOMAIN) as connection:
            query = statements.tool_result_messages(
                self._executor.dialect, self._executor.project_id, list(tool_call_ids)
            )
            return {row.tool_call_id: rows.safe(row.message_id) for row in await connection.execute(query)}

    async def find_callers(self, tool_call_ids: Sequence[str]) -> Mapping[str, int]:
        for each in tool_call_ids:
            require_safe("tool_call_id", each)
        query = statements.calling_conversations(self._executor.dialect, self._executor.project_id, list(tool_call_ids))
        callers: dict[str, int] = {}
        async with self._executor.operation(DOMAIN) as connection:
            for row in await connection.execute(query):
                callers.setdefault(row.tool_call_id, rows.safe(row.conversation_id))
        return callers

    async def count_exclusions(self) -> Mapping[int, Mapping[Exclusion, int]]:
        query = statements.exclusion_counts(self._tables, self._executor.project_id)
        counts: dict[int, dict[Exclusion, int]] = {}
        async with self._executor.operation(DOMAIN) as connection:
            for row in await connection.execute(query):
                of_one = counts.setdefault(rows.safe(row.conversation_id), {})
                of_one[Exclusion(row.context_exclusion)] = rows.safe(row.message_count)
        return counts

    # Steps inside an operation

    def _conversations(self) -> Query:
        return statements.conversation_rows(self._tables, self._executor.project_id)

    async def _get(self, connection: AsyncConnection, conversation_id: int) -> Conversation:
        found = await find_conversation(
            self._executor.dialect, connection, self._executor.project_id, conversation_id=conversation_id
        )
        if found is None:
            raise UnknownConversation
        return found

    async def _require_conversation(self, connection: AsyncConnection, conversation_id: int) -> None:
        await require_conversation(self._executor.dialect, connection, self._executor.project_id, conversation_id)

    async def _find_by_key(self, connection: AsyncConnection, key: uuid.UUID) -> Conversation | None:
        return await find_conversation(self._executor.dialect, connection, self._executor.project_id, key=key)

    async def _find_newest(self, connection: AsyncConnection, session_id: str) -> Conversation | None:
        query = statements.newest_of_session(self._tables, self._executor.project_id, session_id)
        row = (await connection.execute(query)).first()
        return rows.to_conversation(row) if row else None

    async def _find_existing(self, connection: AsyncConnection, new: NewConversation) -> Conversation | None:
        if new.conversation_key is not None:
            return await self._find_by_key(connection, new.conversation_key)
        return await self._find_newest(connection, new.session_id)

    async def _insert_conversation(self, connection: AsyncConnection, new: NewConversation) -> Conversation:
        now = self._clock()
        statement = (
            insert(self._tables.conversations)
            .values(
                project_id=self._executor.project_id,
                conversation_key=new.conversation_key or uuid7(),
                session_id=new.session_id,
                client=new.client,
                title=new.title,
                relation=new.relation.value,
                base_conversation_id=new.base_conversation_id,
                base_message_id=new.base_message_id,
                parent_tool_call_id=new.parent_tool_call_id,
                context_revision=0,
                created_at=now,
                updated_at=now,
            )
            .returning(self._tables.conversations.c.conversation_id)
        )
        conversation_id = rows.safe((await connection.execute(statement)).scalar_one())
        return await self._get(connection, conversation_id)

    async def _insert_messages(
        self,
        connection: AsyncConnection,
        conversation_id: int,
        messages: Sequence[NewMessage],
        sequence: Sequence[int],
    ) -> list[Message]:
        if not messages:
            return []
        ids = await self._executor.dialect.reserve_message_ids(connection, len(messages))
        now = self._clock()
        stored = [
            message_rows.to_stored(new, conversation_id=conversation_id, message_id=message_id, seq=seq, created_at=now)
            for new, message_id, seq in zip(messages, ids, sequence, strict=True)
        ]
        dialect, project_id = self._executor.dialect, self._executor.project_id
        sourced = ((message, new.source_id) for message, new in zip(stored, messages, strict=True))
        values = message_rows.message_rows(dialect, project_id, sourced)
        await dialect.insert_rows(connection, self._tables.messages, message_rows.MESSAGE_COLUMNS, values)
        await self._insert_parts(connection, [(i, new.parts) for i, new in zip(ids, messages, strict=True)])
        texts = [IndexedText(message.message_id, message.content) for message in stored]
        await dialect.index.add_messages(connection, texts)
        return stored

    async def _insert_parts(
        self, connection: AsyncConnection, parts: Sequence[tuple[int, tuple[MessagePart, ...]]]
    ) -> None:
        dialect = self._executor.dialect
        values = message_rows.part_rows(dialect, self._executor.project_id, parts)
        await dialect.insert_rows(connection, self._tables.message_parts, message_rows.PART_COLUMNS, values)

    async def _renew_digest(self, connection: AsyncConnection, message: Message) -> None:
        parts = (await self._parts(connection, [message.message_id])).get(message.message_id, ())
        await connection.execute(
            update(self._tables.messages)
            .where(self._tables.messages.c.message_id == message.message_id)
            .values(content_sha256=content_digest(message.role.value, message.content, parts))
        )

    async def _parts(
        self, connection: AsyncConnection, message_ids: Sequence[int]
    ) -> Mapping[int, tuple[MessagePart, ...]]:
        return await read_parts(self._executor.dialect, connection, self._executor.project_id, message_ids)

    async def _get_message(self, connection: AsyncConnection, message_id: int) -> Message:
        query = statements.message_rows(self._tables, self._executor.project_id).where(
            self._tables.messages.c.message_id == message_id
        )
        row = (await connection.execute(query)).first()
        if row is None:
            raise UnknownMessage
        return rows.to_message(row)

    async def _end_of(self, connection: AsyncConnection, conversation_id: int) -> int | None:
        """The highest `seq` of a conversation that must exist."""
        query = statements.last_seq(self._executor.dialect)
        key = {"project_id": self._executor.project_id, "conversation_id": conversation_id}
        row = (await connection.execute(query, key)).first()
        if row is None:
            raise UnknownConversation
        return None if row.last_seq is None else rows.safe(row.last_seq)

    async def _deletable(self, connection: AsyncConnection, message_ids: Sequence[int]) -> list[IndexedText]:
        t, m = self._tables, self._tables.messages.c
        query = (
            select(m.message_id, m.content)
            .where(
                m.project_id == self._executor.project_id,
                self._executor.dialect.among(m.message_id, list(message_ids)),
                ~statements.is_summarized(t),
                ~statements.is_base_of_another(t),
            )
            .order_by(m.message_id)
        )
        return [IndexedText(row.message_id, row.content) for row in await connection.execute(query)]

    async def _touch_contexts(self, connection: AsyncConnection, message_ids: Sequence[int]) -> None:
        c, m = self._tables.conversations.c, self._tables.messages.c
        owners = select(m.conversation_id).where(self._executor.dialect.among(m.message_id, list(message_ids)))
        await connection.execute(
            update(self._tables.conversations)
            .where(c.project_id == self._executor.project_id, c.conversation_id.in_(owners))
            .values(context_revision=c.context_revision + 1, updated_at=self._clock())
        )

    async def _by_conversation(
        self, connection: AsyncConnection, statement: Any, conversation_id: int | None
    ) -> dict[int, Any]:
        query = statement(self._tables, self._executor.project_id)
        if conversation_id is not None:
            query = query.where(query.selected_columns.conversation_id == conversation_id)
        return {row.conversation_id: row for row in await connection.execute(query)}


def _validate_conversation(new: NewConversation) -> None:
    rows.require_safe_texts(new, "session_id", "client", "title", "parent_tool_call_id")


def _validate_messages(messages: Sequence[NewMessage]) -> None:
    for new in messages:
        message_rows.validate_message(new)


def _changes(title: str | None, parent_tool_call_id: str | None, base: NewConversation | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if title is not None:
        require_safe("title", title)
        values["title"] = title
    if parent_tool_call_id is not None:
        require_safe("parent_tool_call_id", parent_tool_call_id)
        values["parent_tool_call_id"] = parent_tool_call_id
    if base is not None:
        values["relation"] = base.relation.value
        values["base_conversation_id"] = base.base_conversation_id
        values["base_message_id"] = base.base_message_id
    return values


def _overview(
    conversation: Conversation, messages: dict[int, Any], summaries: dict[int, Any], context: dict[int, Any]
) -> ConversationOverview:
    conversation_id = conversation.conversation_id
    m, s, i = messages.get(conversation_id), summaries.get(conversation_id), context.get(conversation_id)
    return ConversationOverview(
        conversation=conversation,
        message_count=rows.safe(m.message_count) if m else 0,
        summary_count=rows.safe(s.summary_count) if s else 0,
        max_depth=rows.safe(s.max_depth) if s else None,
        raw_context_items=rows.safe(i.raw_context_items) if i else 0,
        context_tokens=rows.safe(i.context_tokens) if i else 0,
        raw_tokens=rows.safe(m.raw_tokens) if m else 0,
        first_at=m.first_at if m else None,
        last_at=m.last_at if m else None,
    )
