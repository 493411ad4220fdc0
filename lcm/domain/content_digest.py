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
            _text_or_mark(part.content_start),
            _text_or_mark(part.content_end),
            _text_or_mark(part.text),
            _text_or_mark(part.tool_call_id),
            _text_or_mark(part.tool_name),
            _text_or_mark(part.is_error),
            _text_or_mark(part.file_id),
            _text_or_mark(part.metadata),
        ]
    return digest(*fields)


def _text_or_mark(value: object) -> str:
    return "-" if value is None else f"+{value}"
