"""Metadata of large files over SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.large_files import LargeFile, NewLargeFile
from lcm.errors import IdentityConflict, UnknownFile
from lcm.storage.core import rows
from lcm.storage.core.dialect import Query
from lcm.storage.core.transaction import Executor
from lcm.text import require_safe, require_safe_integer

DOMAIN = "large-files"
#: Ids in one statement; SQLite takes 32,766 parameters, older builds 999.
_IDS_AT_ONCE = 500


class CoreLargeFileRepository:
    """See `lcm.storage.contracts.large_files.LargeFileRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._files = executor.dialect.tables.large_files

    async def insert_file(self, new: NewLargeFile) -> LargeFile:
        _validate(new)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await connection.execute(
                self._executor.dialect.insert_or_skip(self._files).values(
                    project_id=self._executor.project_id,
                    file_id=new.file_id,
                    conversation_id=new.conversation_id,
                    file_name=new.file_name,
                    mime_type=new.mime_type,
                    size_bytes=new.size_bytes,
                    content_sha256=new.content_sha256,
                    storage_uri=new.storage_uri,
                    exploration_summary=new.exploration_summary,
                    created_at=self._clock(),
                )
            )
            stored = await self._find(connection, new.file_id)
            if stored is None or stored.content_sha256 != new.content_sha256:
                raise IdentityConflict("A file with this id but other content is stored; nothing was written.")
            return stored

    async def get_file(self, file_id: str) -> LargeFile:
        require_safe("file_id", file_id)
        async with self._executor.operation(DOMAIN) as connection:
            stored = await self._find(connection, file_id)
        if stored is None:
            raise UnknownFile
        return stored

    async def list_files(self, conversation_id: int | None = None) -> list[LargeFile]:
        query = self._rows().order_by(self._files.c.created_at, self._files.c.file_id)
        if conversation_id is not None:
            query = query.where(self._files.c.conversation_id == conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_large_file(row) for row in await connection.execute(query)]

    async def list_by_id(self, file_ids: Sequence[str]) -> list[LargeFile]:
        wanted = sorted(set(file_ids))
        for each in wanted:
            require_safe("file_id", each)
        found: list[LargeFile] = []
        async with self._executor.operation(DOMAIN) as connection:
            for start in range(0, len(wanted), _IDS_AT_ONCE):
                some = self._files.c.file_id.in_(wanted[start : start + _IDS_AT_ONCE])
                query = self._rows().where(some).order_by(self._files.c.file_id)
                found += [rows.to_large_file(row) for row in await connection.execute(query)]
        return found

    async def find_by_prefix(self, prefix: str, *, limit: int = 20) -> list[LargeFile]:
        require_safe("file_id", prefix)
        require_safe_integer("limit", limit)
        f = self._files.c
        query = self._rows().where(f.file_id.startswith(prefix, autoescape=True)).order_by(f.file_id).limit(limit)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_large_file(row) for row in await connection.execute(query)]

    def _rows(self) -> Query:
        f = self._files.c
        return select(
            f.file_id,
            f.conversation_id,
            f.file_name,
            f.mime_type,
            f.size_bytes,
            f.content_sha256,
            f.storage_uri,
            f.exploration_summary,
            f.created_at,
        ).where(f.project_id == self._executor.project_id)

    async def _find(self, connection: AsyncConnection, file_id: str) -> LargeFile | None:
        row = (await connection.execute(self._rows().where(self._files.c.file_id == file_id))).first()
        return rows.to_large_file(row) if row else None


def _validate(new: NewLargeFile) -> None:
    rows.require_safe_texts(new, "file_id", "storage_uri", "file_name", "mime_type", "exploration_summary")
    require_safe_integer("size_bytes", new.size_bytes)
