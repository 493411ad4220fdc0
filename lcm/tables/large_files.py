"""Metadata of large files and media; their bytes lie outside the messages."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Index, MetaData, Named, PrimaryKeyConstraint, Table, TypedColumns

from lcm.tables import constraints
from lcm.tables.types import Digest, Id, Key, String, UtcTime


class LargeFileColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    file_id: Named[str] = Column(String())
    conversation_id: Named[int] = Column(Id)
    file_name: Named[str | None] = Column(String())
    mime_type: Named[str | None] = Column(String())
    size_bytes: Named[int] = Column(Id)
    content_sha256: Named[bytes] = Column(Digest())
    storage_uri: Named[str] = Column(String())
    exploration_summary: Named[str | None] = Column(String())
    created_at: Named[datetime] = Column(UtcTime())


def large_files(metadata: MetaData) -> Table[LargeFileColumns]:
    """One row per stored content; `conversation_id` is where it was seen first."""
    return Table(
        "large_files",
        metadata,
        LargeFileColumns,
        PrimaryKeyConstraint(*constraints.scoped(metadata, "file_id")),
        constraints.of_project(),
        constraints.owned_by("conversations", "conversation_id"),
        constraints.safe_integer("size_bytes"),
        constraints.digest_length("content_sha256"),
        CheckConstraint("length(storage_uri) > 0", name="storage_uri"),
        Index("ix_large_files_conversation", *constraints.scoped(metadata, "conversation_id", "created_at", "file_id")),
    )
