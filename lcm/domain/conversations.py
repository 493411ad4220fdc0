"""Conversations: ordered messages under one session id; one id may own several segments."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Relation(StrEnum):
    """How a conversation came to be."""

    ROOT = "root"
    SEGMENT = "segment"
    RESUME = "resume"
    FORK = "fork"
    SUBAGENT = "subagent"


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation to create.

    Attributes:
        conversation_key: natural key that travels between databases; None makes a random one.
        base_conversation_id, base_message_id: where a fork, resume or subagent starts.
        parent_tool_call_id: the parent's tool call that started a subagent.
    """

    session_id: str
    client: str = "api"
    title: str | None = None
    conversation_key: uuid.UUID | None = None
    relation: Relation = Relation.ROOT
    base_conversation_id: int | None = None
    base_message_id: int | None = None
    parent_tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stored conversation; `context_revision` grows with every change of its context."""

    conversation_id: int
    conversation_key: uuid.UUID
    session_id: str
    client: str
    title: str | None
    relation: Relation
    base_conversation_id: int | None
    base_message_id: int | None
    parent_tool_call_id: str | None
    context_revision: int
    bootstrapped_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ConversationOverview:
    """A conversation with its figures, for lists and for choosing work."""

    conversation: Conversation
    message_count: int
    summary_count: int
    max_depth: int | None
    raw_context_items: int
    context_tokens: int
    raw_tokens: int
    first_at: datetime | None
    last_at: datetime | None
