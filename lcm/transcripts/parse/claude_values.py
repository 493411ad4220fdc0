"""Values that Claude Code files carry, checked: names, line ids, and digests that stand for texts in the state."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any, TypeVar

_Key = TypeVar("_Key")


def text_of(value: Any) -> str | None:
    """A name or id: a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def native_uuid(value: Any) -> str | None:
    """A well-formed UUID of any version, canonical lowercase; else None."""
    if not isinstance(value, str) or len(value) != 36:
        return None
    try:
        canonical = str(uuid.UUID(value))
    except ValueError:
        return None
    return canonical if canonical == value.lower() else None


def line_id(value: Any) -> str | None:
    """The id of a line in the chain: a UUID in one spelling, or whatever other name the client gave."""
    return native_uuid(value) or text_of(value)


def text_digest(session_id: str, text: str) -> str:
    """32 hex characters that stand for a text of one session, blanks around it aside."""
    data = f"{session_id}\0{text.strip()}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]


def trim_oldest(entries: dict[_Key, Any], limit: int) -> None:
    """Drops the entries added first until `limit` are left."""
    for key in list(entries)[: max(0, len(entries) - limit)]:
        del entries[key]
