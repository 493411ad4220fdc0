"""State of ingest over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.ingest import Checkpoint, Source, StoredIdentity
from lcm.domain.messages import Exclusion
from lcm.errors import IdentityConflict, InvalidInput, UnknownMessage
from lcm.storage.core import ingest_statements as statements
from lcm.storage.core import rows
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
        query = statements.source_of_locator(self._executor.dialect)
        key = {
            "project_id": self._executor.project_id,
            "machine_id": self._machine_id,
            "client": client,
            "locator": locator,
        }
        async with self._executor.operation(DOMAIN) as connection:
            found = (await connection.execute(query, key)).first()
        if found is not None:
            return rows.to_source(found)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await connection.execute(
                self._executor.dialect.insert_or_skip(self._tables.sources).values(
                    **key,
                    revision=0,
                    updated_at=self._clock(),
                    **_checkpoint_values(Checkpoint()),
                )
            )
            return rows.to_source((await connection.execute(query, key)).one())

    async def list_revisions(self) -> dict[tuple[str, str], int]:
        s = self._tables.sources.c
        query = select(s.client, s.locator, s.revision).where(
            s.project_id == self._executor.project_id, s.machine_id == self._machine_id
        )
        async with self._executor.operation(DOMAIN) as connection:
            return {(row.client, row.locator): rows.safe(row.revision) for row in await connection.execute(query)}

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
        query = statements.identity_salt(self._executor.dialect)
        async with self._executor.operation(DOMAIN) as connection:
            found = await connection.execute(query, {"project_id": self._executor.project_id})
            return bytes(found.scalar_one())

    async def find_identities(self, ingest_keys: Sequence[bytes]) -> Mapping[bytes, StoredIdentity]:
        _require_digests(ingest_keys)
        if not ingest_keys:
            return {}
        query = statements.stored_identities(self._executor.dialect)
        async with self._executor.operation(DOMAIN) as connection:
            found = await connection.execute(query, self._keys(ingest_keys))
            return {
                bytes(row.ingest_key): StoredIdentity(
                    ingest_key=bytes(row.ingest_key),
                    message_id=rows.safe(row.message_id),
                    conversation_id=rows.safe(row.conversation_id),
                    content_sha256=bytes(row.content_sha256),
                    source_id=row.source_id,
                    exclusion=Exclusion(row.context_exclusion) if row.context_exclusion else None,
                )
                for row in found
            }

    async def find_tombstones(self, ingest_keys: Sequence[bytes]) -> frozenset[bytes]:
        _require_digests(ingest_keys)
        if not ingest_keys:
            return frozenset()
        query = statements.tombstones(self._executor.dialect)
        async with self._executor.operation(DOMAIN) as connection:
            return frozenset(bytes(row.ingest_key) for row in await connection.execute(query, self._keys(ingest_keys)))

    async def get_occurrences(self, source_id: int, digests: Sequence[bytes]) -> dict[bytes, int]:
        _require_digests(digests)
        if not digests:
            return {}
        dialect = self._executor.dialect
        values = {
            "project_id": self._executor.project_id,
            "source_id": source_id,
            "digests": dialect.among_value(list(digests)),
        }
        async with self._executor.operation(DOMAIN) as connection:
            found = await connection.execute(statements.occurrences(dialect), values)
            return {bytes(row.identity_digest): rows.safe(row.occurrences) for row in found}

    async def save_occurrences(self, source_id: int, occurrences: Mapping[bytes, int]) -> None:
        if not occurrences:
            return
        _require_digests(list(occurrences))
        for count in occurrences.values():
            require_safe_integer("occurrences", count)
        statement = self._executor.dialect.upsert(self._tables.source_occurrences, ["source_id", "identity_digest"], {})
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

    def _keys(self, ingest_keys: Sequence[bytes]) -> dict[str, object]:
        keys = self._executor.dialect.among_value(list(ingest_keys))
        return {"project_id": self._executor.project_id, "keys": keys}

    async def _move(
        self, connection: AsyncConnection, source_id: int, checkpoint: Checkpoint, expected_revision: int
    ) -> Source:
        dialect, project_id = self._executor.dialect, self._executor.project_id
        values = {
            "id": source_id,
            "in_project": project_id,
            "expected": expected_revision,
            "at": self._clock(),
            "offset": checkpoint.offset,
            "lines": checkpoint.line_count,
            "file": str(checkpoint.inode),
            "tail": checkpoint.tail_sha256,
            "state": checkpoint.parser_state,
        }
        changed = await connection.execute(statements.move_checkpoint(dialect), values)
        if changed.rowcount != 1:
            raise IdentityConflict("Another process moved this source's checkpoint; read it again.")
        query = statements.source_of_id(dialect)
        return rows.to_source(
            (await connection.execute(query, {"project_id": project_id, "source_id": source_id})).one()
        )


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
