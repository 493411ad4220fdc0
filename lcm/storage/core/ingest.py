"""State of ingest over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.ingest import Checkpoint, Source, StoredIdentity
from lcm.errors import IdentityConflict, InvalidInput, UnknownMessage
from lcm.storage.core import rows
from lcm.storage.core.dialect import Query
from lcm.storage.core.transaction import Executor
from lcm.text import require_safe, require_safe_integer

DOMAIN = "ingest"
_DIGEST_BYTES = 32


class CoreIngestRepository:
    """See `lcm.storage.contracts.ingest.IngestRepository`."""

    def __init__(self, executor: Executor, clock: Clock, machine_id: uuid.UUID) -> None:
        self._executor = executor
        self._clock = clock
        self._machine_id = machine_id
        self._tables = executor.dialect.tables

    async def get_or_create_source(self, client: str, locator: str) -> Source:
        require_safe("client", client)
        require_safe("locator", locator)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await connection.execute(
                self._executor.dialect.insert_or_skip(self._tables.sources).values(
                    project_id=self._executor.project_id,
                    machine_id=self._machine_id,
                    client=client,
                    locator=locator,
                    revision=0,
                    updated_at=self._clock(),
                    **_checkpoint_values(Checkpoint()),
                )
            )
            s = self._tables.sources.c
            query = self._sources().where(s.machine_id == self._machine_id, s.client == client, s.locator == locator)
            return rows.to_source((await connection.execute(query)).one())

    async def save_checkpoint(self, source_id: int, checkpoint: Checkpoint, *, expected_revision: int) -> Source:
        require_safe("parser_state", checkpoint.parser_state)
        rows.require_safe_integers(checkpoint, "offset", "line_count")
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            return await self._move(connection, source_id, checkpoint, expected_revision)

    async def reset_source(self, source_id: int, *, expected_revision: int) -> Source:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            occurrences = self._tables.source_occurrences
            await connection.execute(
                delete(occurrences).where(
                    occurrences.c.project_id == self._executor.project_id, occurrences.c.source_id == source_id
                )
            )
            return await self._move(connection, source_id, Checkpoint(), expected_revision)

    async def get_identity_salt(self) -> bytes:
        p = self._tables.projects.c
        query = select(p.identity_salt).where(p.project_id == self._executor.project_id)
        async with self._executor.operation(DOMAIN) as connection:
            return bytes((await connection.execute(query)).scalar_one())

    async def find_identities(self, ingest_keys: Sequence[bytes]) -> Mapping[bytes, StoredIdentity]:
        _require_digests(ingest_keys)
        m = self._tables.messages.c
        query = select(m.ingest_key, m.message_id, m.conversation_id, m.content_sha256, m.source_id).where(
            m.project_id == self._executor.project_id,
            self._executor.dialect.among(m.ingest_key, list(ingest_keys)),
        )
        async with self._executor.operation(DOMAIN) as connection:
            found = await connection.execute(query)
            return {
                bytes(row.ingest_key): StoredIdentity(
                    ingest_key=bytes(row.ingest_key),
                    message_id=rows.safe(row.message_id),
                    conversation_id=rows.safe(row.conversation_id),
                    content_sha256=bytes(row.content_sha256),
                    source_id=row.source_id,
                )
                for row in found
            }

    async def find_tombstones(self, ingest_keys: Sequence[bytes]) -> frozenset[bytes]:
        _require_digests(ingest_keys)
        t = self._tables.ingest_tombstones.c
        query = select(t.ingest_key).where(
            t.project_id == self._executor.project_id,
            self._executor.dialect.among(t.ingest_key, list(ingest_keys)),
        )
        async with self._executor.operation(DOMAIN) as connection:
            return frozenset(bytes(row.ingest_key) for row in await connection.execute(query))

    async def get_occurrences(self, source_id: int, digests: Sequence[bytes]) -> dict[bytes, int]:
        _require_digests(digests)
        o = self._tables.source_occurrences.c
        query = select(o.identity_digest, o.occurrences).where(
            o.project_id == self._executor.project_id,
            o.source_id == source_id,
            self._executor.dialect.among(o.identity_digest, list(digests)),
        )
        async with self._executor.operation(DOMAIN) as connection:
            return {bytes(row.identity_digest): rows.safe(row.occurrences) for row in await connection.execute(query)}

    async def save_occurrences(self, source_id: int, occurrences: Mapping[bytes, int]) -> None:
        if not occurrences:
            return
        _require_digests(list(occurrences))
        for count in occurrences.values():
            require_safe_integer("occurrences", count)
        dialect = self._executor.dialect
        statement = dialect.upsert(self._tables.source_occurrences, ["source_id", "identity_digest"], {})
        values = [
            {
                "project_id": self._executor.project_id,
                "source_id": source_id,
                "identity_digest": digest,
                "occurrences": count,
            }
            for digest, count in occurrences.items()
        ]
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await connection.execute(statement, values)

    async def record_places(self, source_id: int, places: Sequence[tuple[int, int]]) -> None:
        if not places:
            return
        for _, ordinal in places:
            require_safe_integer("source_ordinal", ordinal)
        m = self._tables.messages
        values = [
            {
                "project_id": self._executor.project_id,
                "message_id": message_id,
                "source_id": source_id,
                "source_ordinal": ordinal,
            }
            for message_id, ordinal in places
        ]
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            known = select(m.c.message_id).where(
                m.c.project_id == self._executor.project_id,
                self._executor.dialect.among(m.c.message_id, [message_id for message_id, _ in places]),
            )
            if len((await connection.execute(known)).all()) != len({message_id for message_id, _ in places}):
                raise UnknownMessage
            await connection.execute(self._executor.dialect.insert_or_skip(self._tables.message_sources), values)

    # Steps inside an operation

    def _sources(self) -> Query:
        s = self._tables.sources.c
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
        ).where(s.project_id == self._executor.project_id)

    async def _move(
        self, connection: AsyncConnection, source_id: int, checkpoint: Checkpoint, expected_revision: int
    ) -> Source:
        s = self._tables.sources.c
        changed = await connection.execute(
            update(self._tables.sources)
            .where(
                s.source_id == source_id,
                s.project_id == self._executor.project_id,
                s.revision == expected_revision,
            )
            .values(revision=s.revision + 1, updated_at=self._clock(), **_checkpoint_values(checkpoint))
        )
        if changed.rowcount != 1:
            raise IdentityConflict("Another process moved this source's checkpoint; read it again.")
        return rows.to_source((await connection.execute(self._sources().where(s.source_id == source_id))).one())


def _require_digests(digests: Sequence[bytes]) -> None:
    if any(len(each) != _DIGEST_BYTES for each in digests):
        raise InvalidInput("A key or digest has 32 bytes.")


def _checkpoint_values(checkpoint: Checkpoint) -> dict[str, object]:
    return {
        "byte_offset": checkpoint.offset,
        "line_count": checkpoint.line_count,
        "inode": str(checkpoint.inode),
        "tail_sha256": checkpoint.tail_sha256,
        "parser_state": checkpoint.parser_state,
    }
