"""New messages and parts on their way into rows: checked once, and laid out as tuples in column order.

An import inserts hundreds of thousands of them: here a row is a tuple that goes to the driver as it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from lcm.domain.content_digest import content_digest
from lcm.domain.messages import Message, MessagePart, NewMessage
from lcm.errors import InvalidInput, OutOfRange
from lcm.ids import digest
from lcm.storage.core.dialect import BackendDialect
from lcm.text import require_safe, require_safe_integer

MESSAGE_COLUMNS = (
    "message_id",
    "project_id",
    "conversation_id",
    "seq",
    "role",
    "content",
    "token_count",
    "occurred_at",
    "created_at",
    "ingest_key",
    "identity_kind",
    "identity_occurrence",
    "content_sha256",
    "api_message_id",
    "source_id",
    "source_ordinal",
    "context_exclusion",
)
PART_COLUMNS = (
    "project_id",
    "message_id",
    "ordinal",
    "part_type",
    "content_start",
    "content_end",
    "text",
    "tool_call_id",
    "tool_name",
    "is_error",
    "file_id",
    "metadata_json",
)

_PART_TEXTS = ("text", "tool_call_id", "tool_name", "file_id", "metadata")


def validate_message(new: NewMessage) -> None:
    """Raises `UnsafeText`, `OutOfRange` or `InvalidInput` naming the field."""
    require_safe("content", new.content)
    if new.api_message_id is not None:
        require_safe("api_message_id", new.api_message_id)
    require_safe_integer("token_count", new.token_count)
    require_safe_integer("identity_occurrence", new.identity_occurrence)
    if new.seq is not None:
        require_safe_integer("seq", new.seq)
    if new.source_ordinal is not None:
        require_safe_integer("source_ordinal", new.source_ordinal)
    if getattr(new.occurred_at, "tzinfo", None) is None:
        raise InvalidInput("The field occurred_at needs a time with its zone.")
    for part in new.parts:
        validate_part(part, len(new.content))


def validate_part(part: MessagePart, content_length: int) -> None:
    """Raises `UnsafeText`, `OutOfRange` or `InvalidInput` naming the field."""
    require_safe_integer("part.ordinal", part.ordinal)
    for name in _PART_TEXTS:
        value = getattr(part, name)
        if value is not None:
            require_safe(f"part.{name}", value)
    start, end = part.content_start, part.content_end
    has_span = start is not None or end is not None
    if has_span == (part.text is not None):
        raise InvalidInput("A message part needs either a span of the content or a text of its own.")
    if has_span and (start is None or end is None or not 0 <= start <= end <= content_length):
        raise OutOfRange("part.content_start, part.content_end", "a span inside the content")


def to_stored(new: NewMessage, *, message_id: int, conversation_id: int, seq: int, created_at: datetime) -> Message:
    """The message as it will be stored, its digest and a missing key made here."""
    return Message(
        message_id=message_id,
        conversation_id=conversation_id,
        seq=seq,
        role=new.role,
        content=new.content,
        token_count=new.token_count,
        occurred_at=new.occurred_at,
        created_at=created_at,
        ingest_key=new.ingest_key or digest("lcm1", "random", uuid.uuid4().bytes),
        identity_kind=new.identity_kind,
        identity_occurrence=new.identity_occurrence,
        api_message_id=new.api_message_id,
        source_ordinal=new.source_ordinal,
        exclusion=new.exclusion,
        content_sha256=content_digest(new.role.value, new.content, new.parts),
    )


def message_rows(
    dialect: BackendDialect, project_id: uuid.UUID, stored: Iterable[tuple[Message, int | None]]
) -> list[tuple[Any, ...]]:
    """Tuples of `MESSAGE_COLUMNS`, of messages with the source that brought each first."""
    project, time_value = dialect.key_value(project_id), dialect.time_value
    return [
        (
            message.message_id,
            project,
            message.conversation_id,
            message.seq,
            message.role.value,
            message.content,
            message.token_count,
            time_value(message.occurred_at),
            time_value(message.created_at),
            message.ingest_key,
            message.identity_kind.value,
            message.identity_occurrence,
            message.content_sha256,
            message.api_message_id,
            source_id,
            message.source_ordinal,
            message.exclusion.value if message.exclusion else None,
        )
        for message, source_id in stored
    ]


def part_rows(
    dialect: BackendDialect, project_id: uuid.UUID, parts: Iterable[tuple[int, Sequence[MessagePart]]]
) -> list[tuple[Any, ...]]:
    """Tuples of `PART_COLUMNS`, of parts under their message's id."""
    project = dialect.key_value(project_id)
    return [
        (
            project,
            message_id,
            part.ordinal,
            part.part_type.value,
            part.content_start,
            part.content_end,
            part.text,
            part.tool_call_id,
            part.tool_name,
            part.is_error,
            part.file_id,
            part.metadata,
        )
        for message_id, each in parts
        for part in each
    ]
