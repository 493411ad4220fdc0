"""Values that Claude Code files carry, checked: names, line ids, and digests that stand for texts in the state."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, TypeVar

_UUID_CHARS = 36
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_Key = TypeVar("_Key")


def text_of(value: Any) -> str | None:
    """A name or id: a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def native_uuid(value: Any) -> str | None:
    """A well-formed UUID of any version, canonical lowercase; else None."""
    if not isinstance(value, str) or len(value) != _UUID_CHARS:
        return None
    canonical = value.lower()
    return canonical if _UUID.fullmatch(canonical) else None


def line_id(value: Any) -> str | None:
    """The id of a line in the chain: a UUID in one spelling, or whatever other name the client gave."""
    return native_uuid(value) or text_of(value)


@dataclass(frozen=True, slots=True)
class TextDigests:
    """Stand for texts in a stored state; keyed, so that nobody can tell a short secret text from its digest."""

    key: bytes = b""

    def of(self, session_id: str, text: str) -> str:
        """32 hex characters for a text of one session, blanks around it aside."""
        data = f"{session_id}\0{text.strip()}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self.key, digest_size=16).hexdigest()


def trim_oldest(entries: dict[_Key, Any], limit: int) -> None:
    """Drops the entries added first until `limit` are left."""
    while len(entries) > limit:
        del entries[next(iter(entries))]
