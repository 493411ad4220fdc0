"""State of ingest, internal to lcm: sources with checkpoints, known identities, tombstones.

Keys and digests have 32 bytes; others raise `InvalidInput`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from lcm.domain.ingest import Checkpoint, Source, StoredIdentity


class IngestRepository(Protocol):
    async def get_or_create_source(self, client: str, locator: str) -> Source:
        """The source of this machine with its checkpoint (a new one starts at offset 0)."""
        ...

    async def list_revisions(self) -> dict[tuple[str, str], int]:
        """The checkpoint's revision of every source of this machine, by (client, locator)."""
        ...

    async def save_checkpoint(self, source_id: int, checkpoint: Checkpoint, *, expected_revision: int) -> Source:
        """Compare-and-swap; raises `IdentityConflict` when another process moved it meanwhile."""
        ...

    async def reset_source(self, source_id: int, *, expected_revision: int) -> Source:
        """Back to offset 0 with no occurrence counters: the source is read again from its start."""
        ...

    async def get_identity_salt(self) -> bytes:
        """32 random bytes made with the project; they never leave it except on transfer."""
        ...

    async def find_identities(self, ingest_keys: Sequence[bytes]) -> Mapping[bytes, StoredIdentity]:
        """Stored messages by ingest key; keys not stored are absent."""
        ...

    async def find_tombstones(self, ingest_keys: Sequence[bytes]) -> frozenset[bytes]:
        """Which of these keys were pruned and must not come back."""
        ...

    async def get_occurrences(self, source_id: int, digests: Sequence[bytes]) -> dict[bytes, int]:
        """How often each identity occurred in this source so far; unknown ones are absent."""
        ...

    async def save_occurrences(self, source_id: int, occurrences: Mapping[bytes, int]) -> None: ...

    async def record_places(self, source_id: int, places: Sequence[tuple[int, int]]) -> None:
        """Note (message_id, source_ordinal) of messages that another source brought first."""
        ...
