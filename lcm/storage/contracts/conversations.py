"""Conversations, messages and parts.

Rules of the whole contract:
- Text with U+0000 or a lone surrogate is refused with `UnsafeText` before any statement, integers outside 0..2^53-1
  with `OutOfRange`; a whole batch is validated before its first statement.
- A failed operation leaves nothing of itself behind, called alone or inside a transaction that goes on.
- Every list has a total order.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from lcm.domain.conversations import Conversation, ConversationOverview, NewConversation
from lcm.domain.messages import Exclusion, Message, MessagePart, NewMessage, Role


class ConversationRepository(Protocol):
    async def create_conversation(self, new: NewConversation) -> Conversation:
        """Start a new segment, also when the session already has one."""
        ...

    async def get_or_create_conversation(self, new: NewConversation) -> Conversation:
        """The segment with `new.conversation_key`, or without a key the newest of the exact session; else a new one.

        Equal creation times are resolved by conversation id. Concurrent calls converge on one segment.
        """
        ...

    async def get_conversation(self, conversation_id: int) -> Conversation:
        """Raises `UnknownConversation`."""
        ...

    async def find_by_key(self, conversation_key: uuid.UUID) -> Conversation | None: ...

    async def find_newest_of_session(self, session_id: str) -> Conversation | None: ...

    async def list_of_session(self, session_id: str) -> list[Conversation]:
        """All segments of the exact session, by (created_at, conversation_id)."""
        ...

    async def list_conversations(self, *, limit: int | None = None) -> list[Conversation]:
        """By (created_at, conversation_id)."""
        ...

    async def list_overviews(self, conversation_id: int | None = None) -> list[ConversationOverview]:
        """All conversations (or one) with their figures, by (created_at, conversation_id), in few queries."""
        ...

    async def update_conversation(
        self,
        conversation_id: int,
        *,
        title: str | None = None,
        parent_tool_call_id: str | None = None,
        base: NewConversation | None = None,
    ) -> Conversation:
        """Complete what is given: title; parent tool call; relation and base copied from `base`."""
        ...

    async def mark_bootstrapped(self, conversation_id: int, at: datetime) -> None:
        """Record the first bootstrap; a later call changes nothing."""
        ...

    async def append_messages(self, conversation_id: int, messages: Sequence[NewMessage]) -> list[Message]:
        """Store with contiguous `seq` from 0 on, parts and search words included, in the given order.

        `NewMessage.seq` must be None. Does not touch the context.

        Raises:
            UnknownConversation; IdentityConflict when an ingest key is already stored.
        """
        ...

    async def create_messages(self, conversation_id: int, messages: Sequence[NewMessage]) -> list[Message]:
        """Store with the explicit `seq` of each (replay and transfer); a taken one raises `IdentityConflict`."""
        ...

    async def list_messages(
        self, conversation_id: int, *, after_seq: int = -1, limit: int | None = None
    ) -> list[Message]:
        """Messages of one segment, by ascending `seq`.

        `after_seq` is an exclusive lower bound, -1 starts at the beginning; `limit` is the most messages to return:
        None or negative is unlimited, 0 returns none.

        Raises:
            UnknownConversation: no such segment in this project.
        """
        ...

    async def get_message(self, message_id: int) -> Message:
        """Raises `UnknownMessage`."""
        ...

    async def list_messages_by_id(self, message_ids: Sequence[int]) -> list[Message]:
        """The messages that exist among these, in the order given; of any conversation of the project."""
        ...

    async def find_last_message(self, conversation_id: int) -> Message | None: ...

    async def find_last_seq(self, conversation_id: int) -> int | None:
        """The highest `seq`, None when the segment is empty."""
        ...

    async def has_message(self, conversation_id: int, role: Role, content: str) -> bool:
        """Whether the segment holds this exact content under this role."""
        ...

    async def count_messages(self, conversation_id: int) -> int: ...

    async def count_messages_of_session(self, session_id: str) -> int:
        """Over all segments of the exact session."""
        ...

    async def count_parts(self) -> int:
        """Over the whole project."""
        ...

    async def create_parts(self, message_id: int, parts: Sequence[MessagePart]) -> None:
        """Add parts to a message; a taken ordinal raises `IdentityConflict`, spans outside the content `OutOfRange`."""
        ...

    async def list_parts(self, message_ids: Sequence[int]) -> Mapping[int, tuple[MessagePart, ...]]:
        """Parts by message id, each by ordinal; a message without parts is absent."""
        ...

    async def find_tool_results(self, tool_call_ids: Sequence[str]) -> Mapping[str, int]:
        """Message ids (the lowest each) that hold a result for these calls, anywhere in the project."""
        ...

    async def find_callers(self, tool_call_ids: Sequence[str]) -> Mapping[str, int]:
        """The conversations whose messages make these tool calls: of each call the one with the lowest message."""
        ...

    async def count_exclusions(self) -> Mapping[int, Mapping[Exclusion, int]]:
        """By conversation id, how many of its messages are left out of the context for which reason; none is absent."""
        ...

    async def delete_messages(self, message_ids: Sequence[int]) -> int:
        """Delete what no summary covers, with its parts, context item and search words; returns how many.

        Summarized and unknown messages are skipped.
        """
        ...
