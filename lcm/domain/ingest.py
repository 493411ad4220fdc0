"""State of ingest: sources (transcript files), their checkpoints, and what one import did."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lcm.domain.messages import Exclusion


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a source was read; losing it costs time, never rows.

    Attributes:
        offset: bytes consumed; line_count: physical lines consumed.
        inode, tail_sha256: identity of the file and of the 64 KB before the offset; a mismatch means reading from the
            start.
        parser_state: JSON text that the parser and the writer need to go on (last uuid, last placed keys).
    """

    offset: int = 0
    line_count: int = 0
    inode: int = 0
    tail_sha256: bytes = b""
    parser_state: str = "{}"


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript file as one machine sees it; `revision` grows with each stored checkpoint (compare-and-swap)."""

    source_id: int
    client: str
    locator: str
    revision: int
    checkpoint: Checkpoint
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredIdentity:
    """What the writer needs of a message already stored under an ingest key."""

    ingest_key: bytes
    message_id: int
    conversation_id: int
    content_sha256: bytes
    source_id: int | None
    exclusion: Exclusion | None = None


@dataclass(slots=True)
class IngestCounts:
    """What an ingest did, summed over batches; the only mutable object here, it is a running total."""

    messages_new: int = 0
    messages_known: int = 0
    messages_changed: int = 0
    parts_new: int = 0
    large_files: int = 0
    text_repairs: int = 0
    redactions: dict[str, int] = field(default_factory=dict)

    def add(self, other: IngestCounts) -> None:
        self.messages_new += other.messages_new
        self.messages_known += other.messages_known
        self.messages_changed += other.messages_changed
        self.parts_new += other.parts_new
        self.large_files += other.large_files
        self.text_repairs += other.text_repairs
        for category, count in other.redactions.items():
            self.redactions[category] = self.redactions.get(category, 0) + count
