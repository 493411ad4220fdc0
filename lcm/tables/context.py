"""Context items, what the model sees, in order; and what a person took out of them or put back."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Index, MetaData, Named, PrimaryKeyConstraint, Table, TypedColumns

from lcm.domain.context import AuditAction
from lcm.tables import constraints
from lcm.tables.types import Id, Key, String, UtcTime


class ContextItemColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    position: Named[int] = Column(Id)
    message_id: Named[int | None] = Column(Id)
    summary_key: Named[uuid.UUID | None] = Column(Key())


class ContextAuditColumns(TypedColumns):
    audit_key: Named[uuid.UUID] = Column(Key(), primary_key=True)
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    message_id: Named[int] = Column(Id)
    action: Named[str] = Column(String())
    reason: Named[str] = Column(String())
    exclusion_before: Named[str | None] = Column(String())
    created_at: Named[datetime] = Column(UtcTime())


def context_items(metadata: MetaData) -> Table[ContextItemColumns]:
    """`position` is sparse: a late record fits between two others without renumbering."""
    table = Table(
        "context_items",
        metadata,
        ContextItemColumns,
        PrimaryKeyConstraint("conversation_id", "position"),
        constraints.owned_by("conversations", "conversation_id"),
        constraints.owned_by("messages", "message_id", ondelete="RESTRICT"),
        constraints.owned_by("summaries", "summary_key", ondelete="RESTRICT"),
        constraints.safe_integer("position"),
        CheckConstraint("(message_id IS NULL) <> (summary_key IS NULL)", name="one_reference"),
    )
    has_message = table.c.message_id.is_not(None)
    has_summary = table.c.summary_key.is_not(None)
    Index(
        "uq_context_items_message",
        *(table.c[name] for name in constraints.scoped(metadata, "message_id", "conversation_id")),
        unique=True,
        sqlite_where=has_message,
        postgresql_where=has_message,
    )
    Index(
        "uq_context_items_summary",
        *(table.c[name] for name in constraints.scoped(metadata, "summary_key", "conversation_id")),
        unique=True,
        sqlite_where=has_summary,
        postgresql_where=has_summary,
    )
    return table


def context_audits(metadata: MetaData) -> Table[ContextAuditColumns]:
    """One row for every message that was excluded or included by hand; `exclusion_before` is its earlier mark."""
    return Table(
        "context_audits",
        metadata,
        ContextAuditColumns,
        constraints.owned_by("conversations", "conversation_id"),
        constraints.owned_by("messages", "message_id"),
        constraints.one_of("action", AuditAction),
        Index("ix_context_audits_message", *constraints.scoped(metadata, "message_id", "created_at")),
        Index("ix_context_audits_conversation", *constraints.scoped(metadata, "conversation_id", "created_at")),
    )
