"""Domain objects with defaults, for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lcm.domain.conversations import NewConversation
from lcm.domain.messages import MessagePart, NewMessage, PartType, Role
from lcm.domain.summaries import NewSummary, SummaryKind

#: The first moment of every made-up session.
START = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float = 1) -> None:
        self.now += timedelta(seconds=seconds)


def make_conversation(session_id: str = "session-1", **fields: Any) -> NewConversation:
    return NewConversation(session_id=session_id, **fields)


def make_message(content: str = "hello", *, role: str = "user", minutes: int = 0, **fields: Any) -> NewMessage:
    """A message with one text part over its whole content."""
    fields.setdefault("parts", (MessagePart(0, PartType.TEXT, 0, len(content)),))
    fields.setdefault("token_count", max(1, len(content) // 4))
    return NewMessage(role=Role(role), content=content, occurred_at=START + timedelta(minutes=minutes), **fields)


def make_messages(count: int, **fields: Any) -> list[NewMessage]:
    """`message 0`, `message 1`, ... one minute apart."""
    return [make_message(f"message {number}", minutes=number, **fields) for number in range(count)]


def make_summary(conversation_id: int, content: str = "a summary", *, depth: int = 0, **fields: Any) -> NewSummary:
    fields.setdefault("token_count", 3)
    return NewSummary(
        conversation_id=conversation_id,
        kind=SummaryKind.LEAF if depth == 0 else SummaryKind.CONDENSED,
        depth=depth,
        content=content,
        earliest_at=START,
        latest_at=START + timedelta(minutes=30),
        **fields,
    )
