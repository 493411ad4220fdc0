"""Messages and their parts."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    MetaData,
    Named,
    PrimaryKeyConstraint,
    Table,
    TypedColumns,
    UniqueConstraint,
)

from lcm.domain.messages import Exclusion, IdentityKind, PartType, Role
from lcm.tables import constraints
from lcm.tables.types import Digest, Id, Key, String, UtcTime


class MessageColumns(TypedColumns):
    message_id: Named[int] = Column(Id, primary_key=True, autoincrement=True)
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    seq: Named[int] = Column(Id)
    role: Named[str] = Column(String())
    content: Named[str] = Column(String())
    token_count: Named[int] = Column(Id)
    occurred_at: Named[datetime] = Column(UtcTime())
    created_at: Named[datetime] = Column(UtcTime())
    ingest_key: Named[bytes] = Column(Digest())
    identity_kind: Named[str] = Column(String())
    identity_occurrence: Named[int] = Column(Id)
    content_sha256: Named[bytes] = Column(Digest())
    api_message_id: Named[str | None] = Column(String())
    source_id: Named[int | None] = Column(Id)
    source_ordinal: Named[int | None] = Column(Id)
    context_exclusion: Named[str | None] = Column(String())


class MessagePartColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    message_id: Named[int] = Column(Id)
    ordinal: Named[int] = Column(Id)
    part_type: Named[str] = Column(String())
    content_start: Named[int | None] = Column(Id)
    content_end: Named[int | None] = Column(Id)
    text: Named[str | None] = Column(String())
    tool_call_id: Named[str | None] = Column(String())
    tool_name: Named[str | None] = Column(String())
    is_error: Named[bool | None] = Column(Boolean(create_constraint=False))
    file_id: Named[str | None] = Column(String())
    metadata_json: Named[str | None] = Column("metadata", String())


def messages(metadata: MetaData) -> Table[MessageColumns]:
    """`seq` is append order; `ingest_key` makes every entry point idempotent."""
    return Table(
        "messages",
        metadata,
        MessageColumns,
        UniqueConstraint("message_id", "project_id"),
        UniqueConstraint(*constraints.scoped(metadata, "ingest_key"), name="uq_messages_ingest_key"),
        UniqueConstraint(*constraints.scoped(metadata, "conversation_id", "seq"), name="uq_messages_seq"),
        constraints.owned_by("conversations", "conversation_id"),
        ForeignKeyConstraint(
            ["source_id", "project_id"], ["sources.source_id", "sources.project_id"], ondelete="RESTRICT"
        ),
        constraints.one_of("role", Role),
        constraints.one_of("identity_kind", IdentityKind),
        constraints.one_of("context_exclusion", Exclusion),
        constraints.safe_integer("seq"),
        constraints.safe_integer("token_count"),
        constraints.safe_integer("identity_occurrence"),
        constraints.digest_length("ingest_key"),
        constraints.digest_length("content_sha256"),
        Index("ix_messages_occurred", *constraints.scoped(metadata, "occurred_at", "message_id")),
        sqlite_autoincrement=True,
    )


def message_parts(metadata: MetaData) -> Table[MessagePartColumns]:
    """A part is a span of the content or its own text, never both."""
    table = Table(
        "message_parts",
        metadata,
        MessagePartColumns,
        PrimaryKeyConstraint("message_id", "ordinal"),
        constraints.owned_by("messages", "message_id"),
        constraints.one_of("part_type", PartType),
        constraints.safe_integer("ordinal"),
        CheckConstraint(
            "(text IS NULL AND content_start >= 0 AND content_end >= content_start)"
            " OR (text IS NOT NULL AND content_start IS NULL AND content_end IS NULL)",
            name="place",
        ),
    )
    is_tool = table.c.tool_call_id.is_not(None)
    Index(
        "ix_message_parts_tool_call",
        *(table.c[name] for name in constraints.scoped(metadata, "tool_call_id", "message_id")),
        sqlite_where=is_tool,
        postgresql_where=is_tool,
    )
    return table
