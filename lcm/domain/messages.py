"""Messages and their parts: what was said, once and for ever."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Who speaks. A record that holds only tool results has role `tool`; developer text is `system`."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class PartType(StrEnum):
    """The kind of a structured block."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    FILE = "file"


class IdentityKind(StrEnum):
    """What a message's ingest key was derived from; the first that applies."""

    UUID = "uuid"
    CALL = "call"
    POSITION = "position"
    TEXT = "text"


class Exclusion(StrEnum):
    """Why a stored message is not part of what the model sees."""

    META = "meta"
    CLIENT_SUMMARY = "client_summary"
    REWOUND = "rewound"
    DUPLICATE = "duplicate"
    AUDITED = "audited"


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One structured block of a message, ordered by `ordinal`.

    Text lives once: a part either points into the message's content (`content_start` and `content_end`, code points,
    0 <= start <= end <= length) or holds its own `text`, never both. A tool call's span is its arguments (JSON text);
    its name is in `tool_name`. `metadata` is opaque JSON text that keeps what else the client's block carried.
    """

    ordinal: int
    part_type: PartType
    content_start: int | None = None
    content_end: int | None = None
    text: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    file_id: str | None = None
    metadata: str | None = None

    def text_in(self, content: str) -> str:
        """Text of the part, given the content of its message."""
        if self.content_start is None or self.content_end is None:
            return self.text or ""
        return content[self.content_start : self.content_end]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to store. Text is already redacted.

    Attributes:
        content: plain text, tool name with arguments, tool output and file stubs, in order.
        token_count: estimated tokens of what the model sees of it, reasoning included.
        occurred_at: the client's own time (missing: the previous record's), aware UTC.
        ingest_key: 32 bytes, unique in the project; None makes one from a random UUID.
        seq: explicit sequence for replay; None allocates the next.
    """

    role: Role
    content: str
    token_count: int
    occurred_at: datetime
    parts: tuple[MessagePart, ...] = ()
    ingest_key: bytes | None = None
    identity_kind: IdentityKind = IdentityKind.TEXT
    identity_occurrence: int = 0
    api_message_id: str | None = None
    source_id: int | None = None
    source_ordinal: int | None = None
    exclusion: Exclusion | None = None
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `seq` is append order within its conversation, from 0, and never changes."""

    message_id: int
    conversation_id: int
    seq: int
    role: Role
    content: str
    token_count: int
    occurred_at: datetime
    created_at: datetime
    ingest_key: bytes
    identity_kind: IdentityKind
    identity_occurrence: int
    api_message_id: str | None
    source_ordinal: int | None
    exclusion: Exclusion | None
    content_sha256: bytes
