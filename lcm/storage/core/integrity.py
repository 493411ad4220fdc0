"""Raw reads for the proof over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.large_files import LargeFile
from lcm.ids import summary_id
from lcm.storage.contracts.integrity import (
    AuditRow,
    BreakerRow,
    CheckpointRow,
    ChildLink,
    CompactionStateRow,
    ConversationRow,
    ItemRow,
    LiveLeaf,
    MessageRow,
    OrphanRows,
    PartRow,
    Placing,
    SourceGroup,
    SourceLink,
    SummaryRow,
)
from lcm.storage.core import integrity_statements as statements
from lcm.storage.core.dialect import Query
from lcm.storage.core.transaction import Executor

DOMAIN = "integrity"


class CoreIntegrityRepository:
    """See `lcm.storage.contracts.integrity.IntegrityRepository`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._dialect = executor.dialect
        self._tables = executor.dialect.tables
        self._project_id = executor.project_id

    async def list_conversations(self) -> list[ConversationRow]:
        query = statements.conversation_rows(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [_to_conversation(row) for row in await connection.execute(query)]

    async def list_messages(
        self, conversation_id: int, *, after: tuple[int, int] | None = None, limit: int
    ) -> list[MessageRow]:
        query = statements.message_rows(self._dialect, self._project_id, conversation_id, after, limit)
        async with self._executor.operation(DOMAIN) as connection:
            page = (await connection.execute(query)).all()
            ids = [row.message_id for row in page]
            parts = await self._parts(connection, ids)
            leaves = await self._live_leaves(connection, ids)
            counts = statements.item_counts(self._dialect, self._project_id, conversation_id, ids)
            shown = {row.message_id: row.item_count for row in await connection.execute(counts)}
        return [
            _to_message(
                row,
                parts=parts.get(row.message_id, ()),
                item_count=shown.get(row.message_id, 0),
                live_leaves=leaves.get(row.message_id, ()),
            )
            for row in page
        ]

    async def list_summaries(self, *, after: uuid.UUID | None = None, limit: int) -> list[SummaryRow]:
        query = statements.summary_rows(self._executor.dialect, self._project_id, after, limit)
        dialect, project_id = self._dialect, self._project_id
        async with self._executor.operation(DOMAIN) as connection:
            page = (await connection.execute(query)).all()
            keys = [row.summary_key for row in page]
            links = await _by_summary(connection, statements.child_links(dialect, project_id, keys))
            groups = await _by_summary(connection, statements.source_groups(dialect, project_id, keys))
            files = await _by_summary(connection, statements.summary_files(dialect, project_id, keys))
        return [
            _to_summary(
                row,
                children=tuple(_to_child_link(each) for each in links.get(row.summary_key, ())),
                sources=tuple(_to_source_group(each) for each in groups.get(row.summary_key, ())),
                file_ids=tuple(each.file_id for each in files.get(row.summary_key, ())),
            )
            for row in page
        ]

    async def list_shown_summaries(self) -> list[tuple[int, uuid.UUID]]:
        query = statements.shown_summaries(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [(row.conversation_id, row.summary_key) for row in await connection.execute(query)]

    async def list_items(self, conversation_id: int, *, after: int | None = None, limit: int) -> list[ItemRow]:
        query = statements.item_rows(self._tables, self._project_id, conversation_id, after, limit)
        async with self._executor.operation(DOMAIN) as connection:
            page = (await connection.execute(query)).all()
            leaves = await self._live_leaves(connection, [row.message_id for row in page if row.message_id is not None])
        return [
            ItemRow(
                position=row.position,
                message_id=row.message_id,
                summary_key=row.summary_key,
                message_owner=row.message_owner,
                message_seq=row.message_seq,
                leaf_keys=tuple(each.summary_key for each in leaves.get(row.message_id, ())),
                placing=_to_placing(row.message_owner, row.message_seq, row),
            )
            for row in page
        ]

    async def list_source_links(
        self, *, after: tuple[uuid.UUID, int, int] | None = None, limit: int
    ) -> list[SourceLink]:
        query = statements.source_links(self._tables, self._project_id, after, limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [SourceLink(*row) for row in await connection.execute(query)]

    async def list_audits(self) -> list[AuditRow]:
        query = statements.audit_rows(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [AuditRow(*row) for row in await connection.execute(query)]

    async def list_borrowed(self) -> list[tuple[int, int]]:
        query = statements.borrowed_pairs(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [(row.conversation_id, row.owner_id) for row in await connection.execute(query)]

    async def list_checkpoints(self, *, after: int | None = None, limit: int) -> list[CheckpointRow]:
        query = statements.checkpoint_rows(self._tables, self._project_id, after, limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [CheckpointRow(*row) for row in await connection.execute(query)]

    async def find_lost_keys(self, ingest_keys: Sequence[bytes]) -> list[bytes]:
        queries = statements.known_keys(self._dialect, self._project_id, list(ingest_keys))
        async with self._executor.operation(DOMAIN) as connection:
            known = {bytes(row.ingest_key) for query in queries for row in await connection.execute(query)}
        return sorted(set(ingest_keys) - known)

    async def count_lost_messages(self) -> int | None:
        stored = statements.count_messages(self._tables, self._project_id)
        pruned = statements.count_tombstones(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            ever = await self._dialect.count_messages_ever(connection)
            if ever is None:
                return None
            here = int((await connection.execute(stored)).scalar_one())
            gone = int((await connection.execute(pruned)).scalar_one())
        return max(0, ever - here - gone)

    async def list_compaction_states(self) -> list[CompactionStateRow]:
        query = statements.compaction_states(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [CompactionStateRow(*row) for row in await connection.execute(query)]

    async def list_breakers(self) -> list[BreakerRow]:
        query = statements.breaker_rows(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [BreakerRow(*row) for row in await connection.execute(query)]

    async def list_files(
        self, conversation_id: int | None = None, *, after: str | None = None, limit: int
    ) -> list[LargeFile]:
        query = statements.file_rows(self._tables, self._project_id, conversation_id, after, limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [_to_file(row) for row in await connection.execute(query)]

    async def find_file_digests(self, file_ids: Sequence[str]) -> Mapping[str, bytes]:
        query = statements.file_digests(self._dialect, self._project_id, list(file_ids))
        async with self._executor.operation(DOMAIN) as connection:
            return {row.file_id: bytes(row.content_sha256) for row in await connection.execute(query)}

    async def count_unanswered_calls(self, conversation_id: int | None = None) -> int:
        query = statements.unanswered_calls(self._tables, self._project_id, conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            return int((await connection.execute(query)).scalar_one())

    async def list_counters(self) -> list[tuple[str, int]]:
        redactions = statements.redaction_counters(self._tables, self._project_id)
        sessions = statements.session_counters(self._tables, self._project_id)
        async with self._executor.operation(DOMAIN) as connection:
            found = [(f"redactions {row.name}", int(row.value)) for row in await connection.execute(redactions)]
            found += [(f"session {row.name}", int(row.value)) for row in await connection.execute(sessions)]
        return sorted(found)

    async def list_orphans(self, *, limit: int) -> list[OrphanRows]:
        async with self._executor.operation(DOMAIN) as connection:
            return [
                OrphanRows(each.rows, each.owner, str(row.owner_id), row.row_count)
                for each in statements.ownerships(self._tables)
                for row in await connection.execute(statements.orphans(each, self._project_id, limit))
            ]

    # Steps inside an operation

    async def _parts(
        self, connection: AsyncConnection, message_ids: Sequence[int]
    ) -> dict[int, tuple[PartRow, ...] | None]:
        found = await connection.execute(statements.part_rows(self._dialect, self._project_id, message_ids))
        return {message_id: _to_parts(list(group)) for message_id, group in groupby(found, key=_message_id)}

    async def _live_leaves(
        self, connection: AsyncConnection, message_ids: Sequence[int]
    ) -> dict[int, tuple[LiveLeaf, ...]]:
        found = await connection.execute(statements.live_leaves(self._dialect, self._project_id, message_ids))
        return {
            message_id: tuple(LiveLeaf(row.conversation_id, row.summary_key) for row in group)
            for message_id, group in groupby(found, key=_message_id)
        }


async def _by_summary(connection: AsyncConnection, query: Query) -> dict[uuid.UUID, list[Any]]:
    found = await connection.execute(query)
    return {key: list(group) for key, group in groupby(found, key=lambda row: row.summary_key)}


def _message_id(row: Any) -> int:
    return int(row.message_id)


def _text(stored: bytes | None) -> str | None:
    """Raises `UnicodeDecodeError` when the bytes are no UTF-8 text."""
    return None if stored is None else bytes(stored).decode()


def _content(stored: bytes) -> str | None:
    try:
        return _text(stored)
    except UnicodeDecodeError:
        return None


def _to_conversation(row: Any) -> ConversationRow:
    return ConversationRow(
        conversation_id=row.conversation_id,
        session_id=row.session_id,
        base_conversation_id=row.base_conversation_id,
        base_message_id=row.base_message_id,
        base_message_owner=row.base_message_owner,
        context_revision=row.context_revision,
    )


def _to_placing(owner: int | None, seq: int | None, row: Any) -> Placing | None:
    return None if owner is None or seq is None else Placing(owner, seq, row.source_id, row.stored_at)


def _to_message(
    row: Any, *, parts: tuple[PartRow, ...] | None, item_count: int, live_leaves: tuple[LiveLeaf, ...]
) -> MessageRow:
    return MessageRow(
        message_id=row.message_id,
        conversation_id=row.conversation_id,
        seq=row.seq,
        role=row.role,
        content=_content(row.content),
        token_count=row.token_count,
        ingest_key=bytes(row.ingest_key),
        identity_kind=row.identity_kind,
        identity_occurrence=row.identity_occurrence,
        exclusion=row.context_exclusion,
        content_sha256=bytes(row.content_sha256),
        parts=parts,
        item_count=item_count,
        live_leaves=live_leaves,
        source_id=row.source_id,
    )


def _to_parts(found: Sequence[Any]) -> tuple[PartRow, ...] | None:
    try:
        return tuple(_to_part(row) for row in found)
    except UnicodeDecodeError:
        return None


def _to_part(row: Any) -> PartRow:
    return PartRow(
        ordinal=row.ordinal,
        part_type=row.part_type,
        content_start=row.content_start,
        content_end=row.content_end,
        text=_text(row.text),
        tool_call_id=_text(row.tool_call_id),
        tool_name=_text(row.tool_name),
        is_error=None if row.is_error is None else bool(row.is_error),
        file_id=_text(row.file_id),
        metadata=_text(row.metadata),
    )


def _to_summary(
    row: Any, *, children: tuple[ChildLink, ...], sources: tuple[SourceGroup, ...], file_ids: tuple[str, ...]
) -> SummaryRow:
    content = _content(row.content)
    ids = (summary_id(content or "", row.created_at), summary_id(row.summary_key.hex, row.created_at))
    return SummaryRow(
        summary_key=row.summary_key,
        summary_id=row.summary_id,
        conversation_id=row.conversation_id,
        kind=row.kind,
        depth=row.depth,
        content_chars=len(content or ""),
        has_own_text=content is not None and row.summary_id in ids,
        token_count=row.token_count,
        earliest_at=row.earliest_at,
        latest_at=row.latest_at,
        descendant_count=row.descendant_count,
        descendant_token_count=row.descendant_token_count,
        source_message_token_count=row.source_message_token_count,
        superseded_by_key=row.superseded_by_key,
        children=children,
        sources=sources,
        file_ids=file_ids,
    )


def _to_child_link(row: Any) -> ChildLink:
    return ChildLink(row.parent_summary_key, row.conversation_id, row.ordinal, bool(row.is_live))


def _to_source_group(row: Any) -> SourceGroup:
    return SourceGroup(
        message_owner=row.message_owner,
        conversation_id=row.conversation_id,
        is_live=bool(row.is_live),
        link_count=row.link_count,
        lowest_ordinal=row.lowest_ordinal,
        highest_ordinal=row.highest_ordinal,
        ordinal_sum=int(row.ordinal_sum),
        token_count=int(row.token_count),
        earliest_at=row.earliest_at,
        latest_at=row.latest_at,
    )


def _to_file(row: Any) -> LargeFile:
    return LargeFile(
        file_id=row.file_id,
        conversation_id=row.conversation_id,
        size_bytes=row.size_bytes,
        content_sha256=bytes(row.content_sha256),
        storage_uri=row.storage_uri,
        file_name=row.file_name,
        mime_type=row.mime_type,
        exploration_summary=row.exploration_summary,
        created_at=row.created_at,
    )
