"""What reading a source needs to go on, as one object with one JSON form, kept with the source's checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lcm.domain.records import JsonObject

#: Of the parsers' part of the form; it grows when an older one cannot be gone on from.
_PARSER_VERSION = 2


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state after the last stored line of a source.

    Attributes:
        parser: the parser's own state; None at the start, and when another version wrote it.
        roots: the project of each session seen, oldest first.
        placed: per conversation (by session name) the ingest key in hex of the record that the next one stands behind.
        last_at: the last known time, which a record without one takes.
    """

    parser: JsonObject | None = None
    roots: dict[str, str] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)
    last_at: datetime | None = None

    def to_text(self) -> str:
        """JSON text, which `read` reads."""
        state: JsonObject = {}
        if self.parser is not None:
            state |= {"version": _PARSER_VERSION, "parser": self.parser}
        if self.roots:
            state["roots"] = self.roots
        if self.placed or self.last_at:
            last_at = self.last_at.isoformat() if self.last_at else None
            state["writer"] = {"placed": self.placed, "last_at": last_at}
        return json.dumps(state, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> SourceState | None:
        """The state in a stored text; None when it cannot be gone on from: the source is read from its start then."""
        try:
            state = json.loads(text)
            is_older = "parser" in state and state.get("version") != _PARSER_VERSION
            return None if is_older else cls._of(state)
        except (ValueError, TypeError, AttributeError):
            return None

    @classmethod
    def _of(cls, state: dict[str, Any]) -> SourceState:
        writer = dict(state.get("writer", {}))
        last_at = writer.get("last_at")
        return cls(
            parser=dict(state["parser"]) if "parser" in state else None,
            roots=dict(state.get("roots", {})),
            placed=dict(writer.get("placed", {})),
            last_at=datetime.fromisoformat(last_at) if last_at else None,
        )
