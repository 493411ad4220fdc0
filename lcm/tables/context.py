"""Context items: what the model sees, in order."""

from __future__ import annotations

import uuid

from sqlalchemy import CheckConstraint, Column, Index, MetaData, Named, PrimaryKeyConstraint, Table, TypedColumns

from lcm.tables import constraints
from lcm.tables.types import Id, Key


class ContextItemColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    position: Named[int] = Column(Id)
    message_id: Named[int | None] = Column(Id)
    summary_key: Named[uuid.UUID | None] = Column(Key())


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
