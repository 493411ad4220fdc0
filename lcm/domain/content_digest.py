"""The digest of what a message says: computed at insert, compared by the writer, recomputed by the proof."""

from __future__ import annotations

from collections.abc import Sequence

from lcm.domain.messages import MessagePart
from lcm.ids import digest


def content_digest(role: str, content: str, parts: Sequence[MessagePart]) -> bytes:
    """SHA-256 over role, content and every field of every part: what `lcm verify` recomputes."""
    fields: list[str] = [role, content]
    for part in parts:
        fields += [
            part.part_type.value,
            *("-" if value is None else f"+{value}" for value in _values(part)),
        ]
    return digest(*fields)


def _values(part: MessagePart) -> tuple[object, ...]:
    return (
        part.content_start,
        part.content_end,
        part.text,
        part.tool_call_id,
        part.tool_name,
        part.is_error,
        part.file_id,
        part.metadata,
    )
