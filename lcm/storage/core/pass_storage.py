"""Storing one compaction pass: a new summary, its links and its place, with the guards of storing them one by one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.context import ItemRef
from lcm.domain.summaries import NewSummary, Summary, SummaryKind
from lcm.errors import ContextChanged, InvalidInput, OutOfRange
from lcm.ids import summary_id, uuid7
from lcm.storage.core import pass_statements as statements
from lcm.storage.core.dialect import BackendDialect, IndexedText
from lcm.storage.core.prepared import run
from lcm.storage.core.rows import safe
from lcm.storage.core.single_rows import touch_conversation

_LINK_COLUMNS = ("project_id", "conversation_id", "summary_key", "message_id", "ordinal", "is_live")
_MERGE_COLUMNS = ("project_id", "conversation_id", "summary_key", "parent_summary_key", "ordinal", "is_live")
ITEM_COLUMNS = ("project_id", "conversation_id", "position", "message_id", "summary_key")
_FILE_COLUMNS = ("project_id", "summary_key", "ordinal", "file_id")


def require_sources(new: NewSummary, sources: Sequence[ItemRef]) -> None:
    """Raises `InvalidInput` unless a leaf is made of messages, or a condensed summary of summaries, and of some."""
    is_leaf = new.kind is SummaryKind.LEAF
    if not sources or any((ref.message_id is not None) is not is_leaf for ref in sources):
        raise InvalidInput("A leaf is made from messages, a condensed summary from summaries, and from at least one.")


@dataclass(frozen=True, slots=True)
class PassStorage:
    """`SummaryRepository.insert_in_place` and its steps, inside its operation."""

    dialect: BackendDialect
    project_id: uuid.UUID
    connection: AsyncConnection

    async def store(self, new: NewSummary, sources: Sequence[ItemRef], *, at: datetime) -> Summary:
        """All steps; what they raise undoes the operation."""
        await self.dialect.lock_key(self.connection, f"context:{new.conversation_id}")
        await touch_conversation(self.dialect, self.connection, self.project_id, new.conversation_id, at=at)
        first, last = await self.require_range(new.conversation_id, sources)
        if new.kind is SummaryKind.CONDENSED:
            await self._require_less_deep(new, sources)
        summary = await self.insert_summary(new, at)
        await self.insert_links(summary, sources)
        await self.replace(summary, first, last)
        return summary

    async def require_range(self, conversation_id: int, expected: Sequence[ItemRef]) -> tuple[int, int]:
        """First and last position of exactly these items."""
        values = {
            **self._scope(conversation_id),
            "first_message": expected[0].message_id,
            "first_summary": self._key(expected[0].summary_key),
            "last_message": expected[-1].message_id,
            "last_summary": self._key(expected[-1].summary_key),
            "most": len(expected) + 1,
        }
        found = (await run(self.dialect, self.connection, statements.items_from_to(self.dialect.tables), values)).rows
        wanted = [(ref.message_id, self._key(ref.summary_key)) for ref in expected]
        if [(message_id, summary_key) for _, message_id, summary_key in found] != wanted:
            raise ContextChanged
        return found[0][0], found[-1][0]

    async def _require_less_deep(self, new: NewSummary, sources: Sequence[ItemRef]) -> None:
        keys = [ref.summary_key for ref in sources]
        values = {"owner": self.dialect.key_value(self.project_id), "keys": self.dialect.among_value(keys)}
        depths = (await run(self.dialect, self.connection, statements.depths_of(self.dialect), values)).rows
        if any(depth >= new.depth for (depth,) in depths):
            raise OutOfRange("child.depth", f"0 to {new.depth - 1}")

    async def insert_summary(self, new: NewSummary, at: datetime) -> Summary:
        """Equal content in one microsecond gives an equal id; the key then tells them apart."""
        key = uuid7()
        summary = _summary(new, key, summary_id(new.content, at), at)
        row_id = await self._try_insert(summary)
        if row_id is None:
            summary = _summary(new, key, summary_id(key.hex, at), at)
            row_id = await self._try_insert(summary)
        if row_id is None:
            raise InvalidInput("The summary could not be given an id of its own.")
        owner, own = self.dialect.key_value(self.project_id), self.dialect.key_value(key)
        files = [(owner, own, ordinal, file_id) for ordinal, file_id in enumerate(new.file_ids)]
        await self.dialect.insert_rows(self.connection, self.dialect.tables.summary_large_files, _FILE_COLUMNS, files)
        await self.dialect.index.add_summaries(self.connection, [IndexedText(row_id, new.content)])
        return summary

    async def _try_insert(self, summary: Summary) -> int | None:
        values = {
            "project_id": self.dialect.key_value(self.project_id),
            "summary_key": self.dialect.key_value(summary.summary_key),
            "summary_id": summary.summary_id,
            "conversation_id": summary.conversation_id,
            "kind": summary.kind.value,
            "depth": summary.depth,
            "content": summary.content,
            "token_count": summary.token_count,
            "earliest_at": self._time(summary.earliest_at),
            "latest_at": self._time(summary.latest_at),
            "descendant_count": summary.descendant_count,
            "descendant_token_count": summary.descendant_token_count,
            "source_message_token_count": summary.source_message_token_count,
            "origin": summary.origin.value,
            "level": summary.level.value,
            "model": summary.model,
            "prompt_version": summary.prompt_version,
            "superseded_by_key": None,
            "created_at": self._time(summary.created_at),
        }
        inserted = await run(self.dialect, self.connection, statements.insert_summary(self.dialect), values)
        return None if inserted.first is None else safe(inserted.scalar)

    async def insert_links(self, summary: Summary, sources: Sequence[ItemRef]) -> None:
        """Live links in the order of the sources."""
        owner, own = self.dialect.key_value(self.project_id), self.dialect.key_value(summary.summary_key)
        is_leaf = summary.kind is SummaryKind.LEAF
        links = [
            (
                owner,
                summary.conversation_id,
                own,
                ref.message_id if is_leaf else self._key(ref.summary_key),
                ordinal,
                True,
            )
            for ordinal, ref in enumerate(sources)
        ]
        tables = self.dialect.tables
        table, columns = (
            (tables.summary_messages, _LINK_COLUMNS) if is_leaf else (tables.summary_parents, _MERGE_COLUMNS)
        )
        await self.dialect.insert_rows(self.connection, table, columns, links)

    async def replace(self, summary: Summary, first: int, last: int) -> None:
        """Put the summary in the place of the items between two positions."""
        values = {**self._scope(summary.conversation_id), "first": first, "last": last}
        await run(self.dialect, self.connection, statements.delete_items(self.dialect.tables), values)
        own = self.dialect.key_value(summary.summary_key)
        item = (self.dialect.key_value(self.project_id), summary.conversation_id, first, None, own)
        await self.dialect.insert_rows(self.connection, self.dialect.tables.context_items, ITEM_COLUMNS, [item])

    def _scope(self, conversation_id: int) -> dict[str, object]:
        return {"owner": self.dialect.key_value(self.project_id), "place": conversation_id}

    def _key(self, key: uuid.UUID | None) -> object:
        return None if key is None else self.dialect.key_value(key)

    def _time(self, at: datetime | None) -> object:
        return None if at is None else self.dialect.time_value(at)


def _summary(new: NewSummary, key: uuid.UUID, name: str, at: datetime) -> Summary:
    """The summary as it is read back."""
    return Summary(
        summary_key=key,
        summary_id=name,
        conversation_id=new.conversation_id,
        kind=new.kind,
        depth=new.depth,
        content=new.content,
        token_count=new.token_count,
        earliest_at=_utc(new.earliest_at),
        latest_at=_utc(new.latest_at),
        descendant_count=new.descendant_count,
        descendant_token_count=new.descendant_token_count,
        source_message_token_count=new.source_message_token_count,
        file_ids=tuple(new.file_ids),
        origin=new.origin,
        level=new.level,
        model=new.model,
        prompt_version=new.prompt_version,
        superseded_by_key=None,
        created_at=at.astimezone(UTC),
    )


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
