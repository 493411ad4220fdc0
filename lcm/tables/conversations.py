"""Conversations."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    MetaData,
    Named,
    Table,
    TypedColumns,
    UniqueConstraint,
)

from lcm.domain.conversations import Relation
from lcm.tables import constraints
from lcm.tables.types import Id, Key, String, UtcTime


class ConversationColumns(TypedColumns):
    conversation_id: Named[int] = Column(Id, primary_key=True, autoincrement=True)
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_key: Named[uuid.UUID] = Column(Key())
    session_id: Named[str] = Column(String())
    client: Named[str] = Column(String())
    title: Named[str | None] = Column(String())
    relation: Named[str] = Column(String())
    base_conversation_id: Named[int | None] = Column(Id)
    base_message_id: Named[int | None] = Column(Id)
    parent_tool_call_id: Named[str | None] = Column(String())
    context_revision: Named[int] = Column(Id)
    bootstrapped_at: Named[datetime | None] = Column(UtcTime())
    created_at: Named[datetime] = Column(UtcTime())
    updated_at: Named[datetime] = Column(UtcTime())


def conversations(metadata: MetaData) -> Table[ConversationColumns]:
    """A base may be deleted only after what was built on it.

    `base_message_id` has no foreign key (messages already point here); the proof checks it.
    """
    return Table(
        "conversations",
        metadata,
        ConversationColumns,
        UniqueConstraint("conversation_id", "project_id"),
        UniqueConstraint(*constraints.scoped(metadata, "conversation_key"), name="uq_conversations_key"),
        constraints.of_project(),
        constraints.owned_by("conversations", "conversation_id", local="base_conversation_id", ondelete="RESTRICT"),
        constraints.one_of("relation", Relation),
        constraints.safe_integer("context_revision"),
        CheckConstraint("base_message_id IS NULL OR base_conversation_id IS NOT NULL", name="base"),
        Index("ix_conversations_session", *constraints.scoped(metadata, "session_id", "created_at", "conversation_id")),
        Index("ix_conversations_created", *constraints.scoped(metadata, "created_at", "conversation_id")),
        sqlite_autoincrement=True,
    )
