"""The summary DAG: nodes and their edges to messages, summaries and large files."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    Named,
    PrimaryKeyConstraint,
    Table,
    TypedColumns,
    UniqueConstraint,
)

from lcm.domain.summaries import EscalationLevel, SummaryKind, SummaryOrigin
from lcm.tables import constraints
from lcm.tables.types import Id, Key, String, UtcTime


class SummaryColumns(TypedColumns):
    summary_rowid: Named[int] = Column(Id, primary_key=True, autoincrement=True)
    project_id: Named[uuid.UUID] = Column(Key())
    summary_key: Named[uuid.UUID] = Column(Key())
    summary_id: Named[str] = Column(String())
    conversation_id: Named[int] = Column(Id)
    kind: Named[str] = Column(String())
    depth: Named[int] = Column(Integer())
    content: Named[str] = Column(String())
    token_count: Named[int] = Column(Id)
    earliest_at: Named[datetime | None] = Column(UtcTime())
    latest_at: Named[datetime | None] = Column(UtcTime())
    descendant_count: Named[int] = Column(Id)
    descendant_token_count: Named[int] = Column(Id)
    source_message_token_count: Named[int] = Column(Id)
    origin: Named[str] = Column(String())
    level: Named[str] = Column(String())
    model: Named[str | None] = Column(String())
    prompt_version: Named[str | None] = Column(String())
    superseded_by_key: Named[uuid.UUID | None] = Column(Key())
    created_at: Named[datetime] = Column(UtcTime())


class SummaryMessageColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    summary_key: Named[uuid.UUID] = Column(Key())
    message_id: Named[int] = Column(Id)
    ordinal: Named[int] = Column(Id)
    is_live: Named[bool] = Column(Boolean(create_constraint=False))


class SummaryParentColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    summary_key: Named[uuid.UUID] = Column(Key())
    parent_summary_key: Named[uuid.UUID] = Column(Key())
    ordinal: Named[int] = Column(Id)
    is_live: Named[bool] = Column(Boolean(create_constraint=False))


class SummaryLargeFileColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    summary_key: Named[uuid.UUID] = Column(Key())
    ordinal: Named[int] = Column(Id)
    file_id: Named[str] = Column(String())


def summaries(metadata: MetaData) -> Table[SummaryColumns]:
    return Table(
        "summaries",
        metadata,
        SummaryColumns,
        UniqueConstraint("summary_key", "project_id"),
        UniqueConstraint(*constraints.scoped(metadata, "summary_id"), name="uq_summaries_summary_id"),
        constraints.owned_by("conversations", "conversation_id"),
        constraints.one_of("kind", SummaryKind),
        constraints.one_of("origin", SummaryOrigin),
        constraints.one_of("level", EscalationLevel),
        CheckConstraint("(kind = 'leaf' AND depth = 0) OR (kind = 'condensed' AND depth >= 1)", name="depth"),
        CheckConstraint("earliest_at <= latest_at", name="time_range"),
        constraints.safe_integer("token_count"),
        constraints.safe_integer("descendant_count"),
        constraints.safe_integer("descendant_token_count"),
        constraints.safe_integer("source_message_token_count"),
        Index(
            "ix_summaries_conversation", *constraints.scoped(metadata, "conversation_id", "created_at", "summary_rowid")
        ),
        sqlite_autoincrement=True,
    )


def summary_messages(metadata: MetaData) -> Table[SummaryMessageColumns]:
    """Leaf to its source messages; one live leaf per message and conversation."""
    table = Table(
        "summary_messages",
        metadata,
        SummaryMessageColumns,
        PrimaryKeyConstraint("summary_key", "message_id"),
        UniqueConstraint("summary_key", "ordinal"),
        constraints.owned_by("conversations", "conversation_id"),
        constraints.owned_by("summaries", "summary_key"),
        constraints.owned_by("messages", "message_id", ondelete="RESTRICT"),
        constraints.safe_integer("ordinal"),
    )
    live = table.c.is_live.is_(True)
    Index(
        "uq_summary_messages_live",
        *(table.c[name] for name in constraints.scoped(metadata, "message_id", "conversation_id")),
        unique=True,
        sqlite_where=live,
        postgresql_where=live,
    )
    return table


def summary_parents(metadata: MetaData) -> Table[SummaryParentColumns]:
    """Condensed summary to the summaries it merges, its parents in time; one live merge per summary."""
    table = Table(
        "summary_parents",
        metadata,
        SummaryParentColumns,
        PrimaryKeyConstraint("summary_key", "parent_summary_key"),
        UniqueConstraint("summary_key", "ordinal"),
        constraints.owned_by("conversations", "conversation_id"),
        constraints.owned_by("summaries", "summary_key"),
        constraints.owned_by("summaries", "summary_key", local="parent_summary_key", ondelete="RESTRICT"),
        constraints.safe_integer("ordinal"),
        CheckConstraint("summary_key <> parent_summary_key", name="no_self_edge"),
    )
    live = table.c.is_live.is_(True)
    Index(
        "uq_summary_parents_live",
        *(table.c[name] for name in constraints.scoped(metadata, "parent_summary_key", "conversation_id")),
        unique=True,
        sqlite_where=live,
        postgresql_where=live,
    )
    return table


def summary_large_files(metadata: MetaData) -> Table[SummaryLargeFileColumns]:
    """Files mentioned in a summary's sources; no foreign key, a reference outlives its file."""
    return Table(
        "summary_large_files",
        metadata,
        SummaryLargeFileColumns,
        PrimaryKeyConstraint("summary_key", "ordinal"),
        constraints.owned_by("summaries", "summary_key"),
        constraints.safe_integer("ordinal"),
    )
