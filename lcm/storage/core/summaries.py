"""The summary DAG over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.context import ItemRef
from lcm.domain.messages import Message
from lcm.domain.summaries import NewSummary, SubtreeEntry, Summary, SummaryKind, SummaryOrigin
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnknownSummary
from lcm.ids import summary_id, uuid7
from lcm.storage.core import conversation_statements, rows, supersede
from lcm.storage.core.bulk_reading import read_children, read_summaries
from lcm.storage.core.dialect import IndexedText, Query
from lcm.storage.core.pass_storage import PassStorage, require_sources
from lcm.storage.core.single_rows import find_summary_key
from lcm.storage.core.transaction import Executor
from lcm.tables.metadata import Tables
from lcm.text import require_safe, require_safe_integer

DOMAIN = "summaries"


def summary_rows(t: Tables, project_id: uuid.UUID) -> Query:
    s = t.summaries.c
    return select(
        s.summary_rowid,
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
    ).where(s.project_id == project_id)


class CoreSummaryRepository:
    """See `lcm.storage.contracts.summaries.SummaryRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._tables = executor.dialect.tables

    async def insert_summary(self, new: NewSummary) -> Summary:
        _validate(new)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            return await self._insert(connection, new)

    async def insert_in_place(
        self,
        new: NewSummary,
        sources: Sequence[ItemRef],
        *,
        fence: int | None = None,  # noqa: ARG002 - checked by backends with distributed coordination
    ) -> Summary:
        _validate(new)
        require_sources(new, sources)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            storage = PassStorage(self._executor.dialect, self._executor.project_id, connection)
            return await storage.store(new, sources, at=self._clock())

    async def link_messages(self, summary_key: uuid.UUID, message_ids: Sequence[int]) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            upper = await self._get_by_key(connection, summary_key)
            if upper.kind is not SummaryKind.LEAF or not message_ids:
                raise InvalidInput("Only a leaf is linked to messages, and to at least one.")
            await connection.execute(
                insert(self._tables.summary_messages),
                [self._edge(upper, ordinal, message_id=each) for ordinal, each in enumerate(message_ids)],
            )

    async def link_children(self, summary_key: uuid.UUID, child_keys: Sequence[uuid.UUID]) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            upper = await self._get_by_key(connection, summary_key)
            if upper.kind is not SummaryKind.CONDENSED or not child_keys:
                raise InvalidInput("Only a condensed summary is linked to summaries, and to at least one.")
            await self._require_less_deep(connection, upper, child_keys)
            await connection.execute(
                insert(self._tables.summary_parents),
                [self._edge(upper, ordinal, parent_summary_key=each) for ordinal, each in enumerate(child_keys)],
            )

    async def supersede(self, summary_key: uuid.UUID, new: NewSummary) -> Summary:
        _validate(new)
        project_id = self._executor.project_id
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            old = await self._get_by_key(connection, summary_key)
            _require_same_sources(old, new)
            successor = await self._insert(connection, new)
            key = successor.summary_key
            if not await supersede.mark_superseded(self._tables, connection, project_id, old, key):
                raise IdentityConflict("The summary was superseded already.")
            await supersede.take_over_sources(self._tables, connection, old, key)
            await supersede.take_over_place(self._tables, connection, project_id, old, key, at=self._clock())
            more = new.token_count - old.token_count
            await supersede.add_to_uppers(self._tables, connection, project_id, key, more)
            return successor

    async def list_fallbacks(self, conversation_id: int) -> list[Summary]:
        s = self._tables.summaries.c
        query = self._rows().where(
            s.conversation_id == conversation_id,
            s.origin == SummaryOrigin.TRUNCATED.value,
            s.superseded_by_key.is_(None),
        )
        async with self._executor.operation(DOMAIN) as connection:
            return await self._read(connection, query.order_by(s.depth, s.summary_rowid))

    async def get_summary(self, summary_id: str) -> Summary:
        require_safe("summary_id", summary_id)
        dialect, project_id = self._executor.dialect, self._executor.project_id
        async with self._executor.operation(DOMAIN) as connection:
            key = await find_summary_key(dialect, connection, project_id, summary_id)
            if key is None:
                raise UnknownSummary
            return await self._get_by_key(connection, key)

    async def list_by_key(self, summary_keys: Sequence[uuid.UUID]) -> list[Summary]:
        async with self._executor.operation(DOMAIN) as connection:
            return await self._list_by_key(connection, summary_keys)

    async def find_by_prefix(self, prefix: str, *, limit: int = 20) -> list[Summary]:
        require_safe("summary_id", prefix)
        require_safe_integer("limit", limit)
        s = self._tables.summaries.c
        query = self._rows().where(s.summary_id.startswith(prefix, autoescape=True)).order_by(s.summary_id)
        async with self._executor.operation(DOMAIN) as connection:
            return await self._read(connection, query.limit(limit))

    async def list_summaries(self, conversation_id: int) -> list[Summary]:
        s = self._tables.summaries.c
        query = self._rows().where(s.conversation_id == conversation_id).order_by(s.created_at, s.summary_rowid)
        async with self._executor.operation(DOMAIN) as connection:
            return await self._read(connection, query)

    async def list_recent(self, *, limit: int, session_id: str | None = None) -> list[Summary]:
        require_safe_integer("limit", limit)
        s, c = self._tables.summaries.c, self._tables.conversations.c
        query = self._rows().order_by(s.created_at.desc(), s.summary_rowid.desc()).limit(limit)
        if session_id is not None:
            require_safe("session_id", session_id)
            query = query.where(
                s.conversation_id.in_(
                    select(c.conversation_id).where(
                        c.project_id == self._executor.project_id, c.session_id == session_id
                    )
                )
            )
        async with self._executor.operation(DOMAIN) as connection:
            return await self._read(connection, query)

    async def list_children(self, summary_key: uuid.UUID) -> list[Summary]:
        async with self._executor.operation(DOMAIN) as connection:
            children = await self._children_of(connection, [summary_key])
            return await self._list_by_key(connection, children.get(summary_key, []))

    async def list_uppers(self, summary_key: uuid.UUID) -> list[Summary]:
        s, e = self._tables.summaries.c, self._tables.summary_parents.c
        uppers = select(e.summary_key).where(
            e.project_id == self._executor.project_id, e.parent_summary_key == summary_key
        )
        async with self._executor.operation(DOMAIN) as connection:
            return await self._read(connection, self._rows().where(s.summary_key.in_(uppers)).order_by(s.summary_rowid))

    async def list_messages(self, summary_key: uuid.UUID) -> list[Message]:
        m, e = self._tables.messages.c, self._tables.summary_messages.c
        query = (
            conversation_statements.message_rows(self._tables, self._executor.project_id)
            .join(self._tables.summary_messages, e.message_id == m.message_id)
            .where(e.summary_key == summary_key)
            .order_by(e.ordinal)
        )
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_message(row) for row in await connection.execute(query)]

    async def list_subtree(self, summary_key: uuid.UUID, *, max_depth: int | None = None) -> list[SubtreeEntry]:
        async with self._executor.operation(DOMAIN) as connection:
            await self._get_by_key(connection, summary_key)
            places = await self._walk(connection, summary_key, max_depth)
            summaries = await self._list_by_key(connection, list(places))
        found = {each.summary_key: each for each in summaries}
        return [
            SubtreeEntry(summary=found[key], parent_key=parent, depth_from_root=len(path), path=path)
            for key, (parent, path) in places.items()
            if key in found
        ]

    # Steps inside an operation

    async def _insert(self, connection: AsyncConnection, new: NewSummary) -> Summary:
        now = self._clock()
        key = uuid7()
        name = await self._free_id(connection, summary_id(new.content, now), key, now)
        values = rows.summary_values(new, project_id=self._executor.project_id, key=key, summary_id=name, at=now)
        statement = insert(self._tables.summaries).returning(self._tables.summaries.c.summary_rowid)
        row_id = (await connection.execute(statement, values)).scalar_one()
        await self._insert_files(connection, key, new.file_ids)
        await self._executor.dialect.index.add_summaries(connection, [IndexedText(row_id, new.content)])
        return (await self._read(connection, self._rows().where(self._tables.summaries.c.summary_key == key)))[0]

    def _rows(self) -> Query:
        return summary_rows(self._tables, self._executor.project_id)

    def _edge(self, upper: Summary, ordinal: int, **lower: object) -> dict[str, Any]:
        return {
            "project_id": self._executor.project_id,
            "conversation_id": upper.conversation_id,
            "summary_key": upper.summary_key,
            "ordinal": ordinal,
            "is_live": True,
            **lower,
        }

    async def _free_id(self, connection: AsyncConnection, name: str, key: uuid.UUID, at: datetime) -> str:
        """Equal content in one microsecond gives an equal id; the key then tells them apart."""
        taken = select(self._tables.summaries.c.summary_id).where(
            self._tables.summaries.c.summary_id == name,
            self._tables.summaries.c.project_id == self._executor.project_id,
        )
        if (await connection.execute(taken)).first() is None:
            return name
        return summary_id(key.hex, at)

    async def _insert_files(self, connection: AsyncConnection, key: uuid.UUID, file_ids: Sequence[str]) -> None:
        values = [
            {"project_id": self._executor.project_id, "summary_key": key, "ordinal": ordinal, "file_id": file_id}
            for ordinal, file_id in enumerate(file_ids)
        ]
        if values:
            await connection.execute(insert(self._tables.summary_large_files), values)

    async def _get_by_key(self, connection: AsyncConnection, key: uuid.UUID) -> Summary:
        found = await self._list_by_key(connection, [key])
        if not found:
            raise UnknownSummary
        return found[0]

    async def _list_by_key(self, connection: AsyncConnection, keys: Sequence[uuid.UUID]) -> list[Summary]:
        found = await read_summaries(self._executor.dialect, connection, self._executor.project_id, keys)
        return [found[key] for key in keys if key in found]

    async def _read(self, connection: AsyncConnection, query: Query) -> list[Summary]:
        found = (await connection.execute(query)).all()
        files = await self._files_of(connection, [row.summary_key for row in found])
        return [rows.to_summary(row, files.get(row.summary_key, ())) for row in found]

    async def _files_of(
        self, connection: AsyncConnection, keys: Sequence[uuid.UUID]
    ) -> Mapping[uuid.UUID, tuple[str, ...]]:
        f = self._tables.summary_large_files.c
        query = (
            select(f.summary_key, f.file_id)
            .where(f.project_id == self._executor.project_id, self._executor.dialect.among(f.summary_key, list(keys)))
            .order_by(f.summary_key, f.ordinal)
        )
        found = await connection.execute(query)
        return {
            key: tuple(row.file_id for row in group) for key, group in groupby(found, key=lambda row: row.summary_key)
        }

    async def _require_less_deep(
        self, connection: AsyncConnection, upper: Summary, child_keys: Sequence[uuid.UUID]
    ) -> None:
        children = await self._list_by_key(connection, child_keys)
        if len(children) != len(child_keys):
            raise UnknownSummary
        if any(child.depth >= upper.depth for child in children):
            raise OutOfRange("child.depth", f"0 to {upper.depth - 1}")

    async def _children_of(
        self, connection: AsyncConnection, keys: Sequence[uuid.UUID]
    ) -> dict[uuid.UUID, list[uuid.UUID]]:
        return await read_children(self._executor.dialect, connection, self._executor.project_id, keys)

    async def _walk(
        self, connection: AsyncConnection, root: uuid.UUID, max_depth: int | None
    ) -> dict[uuid.UUID, tuple[uuid.UUID, tuple[int, ...]]]:
        """Every summary below the root with its upper one and path, level by level: the first path wins."""
        places: dict[uuid.UUID, tuple[uuid.UUID, tuple[int, ...]]] = {}
        level: list[tuple[uuid.UUID, tuple[int, ...]]] = [(root, ())]
        while level and (max_depth is None or len(level[0][1]) < max_depth):
            children = await self._children_of(connection, [key for key, _ in level])
            following: list[tuple[uuid.UUID, tuple[int, ...]]] = []
            for key, path in level:
                for ordinal, child in enumerate(children.get(key, [])):
                    if child not in places and child != root:
                        places[child] = (key, (*path, ordinal))
                        following.append((child, (*path, ordinal)))
            level = following
        return places


def _validate(new: NewSummary) -> None:
    rows.require_safe_texts(new, "content", "model", "prompt_version")
    rows.require_safe_integers(
        new, "depth", "token_count", "descendant_count", "descendant_token_count", "source_message_token_count"
    )
    for file_id in new.file_ids:
        require_safe("file_ids", file_id)
    for name in ("earliest_at", "latest_at"):
        if getattr(new, name) is not None:
            rows.require_aware(name, getattr(new, name))


def _require_same_sources(old: Summary, new: NewSummary) -> None:
    """A successor differs from its predecessor in its text and in how that came about, in nothing else."""
    same = ("conversation_id", "kind", "depth", "earliest_at", "latest_at", "descendant_count", "file_ids")
    sums = ("descendant_token_count", "source_message_token_count")
    if any(getattr(old, name) != getattr(new, name) for name in (*same, *sums)):
        raise InvalidInput("A summary is superseded by one over the same sources.")
