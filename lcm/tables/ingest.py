"""What ingest remembers: sources and checkpoints, second places of a message, counters, tombstones."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import (
    Column,
    ForeignKeyConstraint,
    MetaData,
    Named,
    PrimaryKeyConstraint,
    Table,
    TypedColumns,
    UniqueConstraint,
)

from lcm.tables import constraints
from lcm.tables.types import Digest, Id, Key, String, UtcTime


class SourceColumns(TypedColumns):
    source_id: Named[int] = Column(Id, primary_key=True, autoincrement=True)
    project_id: Named[uuid.UUID] = Column(Key())
    machine_id: Named[uuid.UUID] = Column(Key())
    client: Named[str] = Column(String())
    locator: Named[str] = Column(String())
    revision: Named[int] = Column(Id)
    byte_offset: Named[int] = Column(Id)
    line_count: Named[int] = Column(Id)
    inode: Named[str] = Column(String())
    tail_sha256: Named[bytes] = Column(Digest())
    parser_state: Named[str] = Column(String())
    updated_at: Named[datetime] = Column(UtcTime())


class MessageSourceColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    message_id: Named[int] = Column(Id)
    source_id: Named[int] = Column(Id)
    source_ordinal: Named[int] = Column(Id)


class SourceOccurrenceColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    source_id: Named[int] = Column(Id)
    identity_digest: Named[bytes] = Column(Digest())
    occurrences: Named[int] = Column(Id)


class TombstoneColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    ingest_key: Named[bytes] = Column(Digest())
    reason: Named[str] = Column(String())
    created_at: Named[datetime] = Column(UtcTime())


class RedactionCounterColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    category: Named[str] = Column(String())
    count: Named[int] = Column(Id)
    updated_at: Named[datetime] = Column(UtcTime())


class SessionIngestColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    session_id: Named[str] = Column(String())
    message_count: Named[int] = Column(Id)
    completed_at: Named[datetime] = Column(UtcTime())


def sources(metadata: MetaData) -> Table[SourceColumns]:
    """A transcript file as one machine sees it and how far it was read; `inode` is decimal text, it may exceed 2^53."""
    return Table(
        "sources",
        metadata,
        SourceColumns,
        UniqueConstraint("source_id", "project_id"),
        UniqueConstraint(*constraints.scoped(metadata, "machine_id", "client", "locator"), name="uq_sources_locator"),
        constraints.of_project(),
        ForeignKeyConstraint(["machine_id"], ["machines.machine_id"], ondelete="RESTRICT"),
        constraints.safe_integer("revision"),
        constraints.safe_integer("byte_offset"),
        constraints.safe_integer("line_count"),
        sqlite_autoincrement=True,
    )


def message_sources(metadata: MetaData) -> Table[MessageSourceColumns]:
    """Further sources that hold a message; its first one stands in `messages`."""
    return Table(
        "message_sources",
        metadata,
        MessageSourceColumns,
        PrimaryKeyConstraint("message_id", "source_id"),
        constraints.owned_by("messages", "message_id"),
        constraints.owned_by("sources", "source_id"),
        constraints.safe_integer("source_ordinal"),
    )


def source_occurrences(metadata: MetaData) -> Table[SourceOccurrenceColumns]:
    """How often an identity without an id of its own occurred in a source so far; part of the checkpoint."""
    return Table(
        "source_occurrences",
        metadata,
        SourceOccurrenceColumns,
        PrimaryKeyConstraint("source_id", "identity_digest"),
        constraints.owned_by("sources", "source_id"),
        constraints.safe_integer("occurrences"),
    )


def ingest_tombstones(metadata: MetaData) -> Table[TombstoneColumns]:
    """What was pruned or purged does not come back from a transcript on disk."""
    return Table(
        "ingest_tombstones",
        metadata,
        TombstoneColumns,
        PrimaryKeyConstraint(*constraints.scoped(metadata, "ingest_key")),
        constraints.of_project(),
        constraints.digest_length("ingest_key"),
    )


def redaction_counters(metadata: MetaData) -> Table[RedactionCounterColumns]:
    return Table(
        "redaction_counters",
        metadata,
        RedactionCounterColumns,
        PrimaryKeyConstraint("project_id", "category"),
        constraints.of_project(),
        constraints.one_of("category", ("built_in", "global", "project")),
        constraints.safe_integer("count"),
    )


def session_ingest_log(metadata: MetaData) -> Table[SessionIngestColumns]:
    """Completed sessions and how many messages they had then."""
    return Table(
        "session_ingest_log",
        metadata,
        SessionIngestColumns,
        PrimaryKeyConstraint("project_id", "session_id"),
        constraints.of_project(),
        constraints.safe_integer("message_count"),
    )
