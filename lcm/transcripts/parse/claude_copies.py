"""Prompts typed while the agent worked: which of two records is the copy, and which text came as no record at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lcm.domain.records import JsonObject
from lcm.transcripts.parse.claude_values import TextDigests, trim_oldest

_LIMIT = 32


@dataclass(slots=True)
class QueuedText:
    """A text in the queue. `text` is None when it was queued before the state a parser was made from.

    The state must not hold the text: it is stored as it stands, and what a person typed may be a secret.
    """

    session_id: str
    digest: str
    text: str | None = None
    at: datetime | None = None
    is_delivered: bool = False


class QueuedPrompts:
    """The queue of every session, and digests of the newest delivered prompts with their kind of record; bounded.

    A text waits for its other copy until it is queued anew or, when it came otherwise than as a user line, until
    another prompt is typed: the same words said again later are no copy.
    """

    def __init__(self, state: JsonObject | None, digests: TextDigests) -> None:
        saved = state or {}
        self._digests = digests
        self._delivered: dict[str, str] = dict(saved.get("delivered", ()))
        self._queue = [
            QueuedText(session_id, digest, is_delivered=is_delivered)
            for session_id, digest, is_delivered in saved.get("queue", ())
        ]

    def state(self) -> JsonObject:
        """Digests only, oldest first, at most 32 of each kind."""
        return {
            "delivered": [list(pair) for pair in self._delivered.items()],
            "queue": [[each.session_id, each.digest, each.is_delivered] for each in self._queue],
        }

    @property
    def is_waiting(self) -> bool:
        """Whether any text is in a queue."""
        return bool(self._queue)

    def enqueue(self, session_id: str, text: str, at: datetime | None) -> None:
        """A text was typed into the queue: what is delivered next is its first copy."""
        digest = self._digests.of(session_id, text)
        self._delivered.pop(digest, None)
        self._queue = [*self._queue, QueuedText(session_id, digest, text, at)][-_LIMIT:]

    def take(self, session_id: str, text: str | None) -> QueuedText | None:
        """Remove an entry: the one with this text, else one that was delivered, else the oldest of the session."""
        entries = [each for each in self._queue if each.session_id == session_id]
        if text is not None:
            digest = self._digests.of(session_id, text)
            entries = [each for each in entries if each.digest == digest]
        entry = next((each for each in entries if each.is_delivered), next(iter(entries), None))
        self._queue = [each for each in self._queue if each is not entry]
        return entry

    def empty(self, session_id: str) -> None:
        """All texts of the session went back to where they are typed."""
        self._queue = [each for each in self._queue if each.session_id != session_id]

    def note_delivered(self, session_id: str, texts: Iterable[str]) -> None:
        """A record with these texts came: what waits in the queue under one of them has arrived."""
        digests = {self._digests.of(session_id, text) for text in texts} if self._queue else ()
        for entry in self._queue:
            entry.is_delivered = entry.is_delivered or entry.digest in digests

    def deliver(self, session_id: str, text: str, kind: str) -> bool:
        """Whether this prompt, a record of `kind`, is the second copy of one delivered as another kind."""
        if not text.strip():
            return False
        digest = self._digests.of(session_id, text)
        if self._delivered.get(digest, kind) != kind:
            del self._delivered[digest]
            return True
        if kind == "user":
            self._delivered = {known: how for known, how in self._delivered.items() if how == "user"}
        self._delivered[digest] = kind
        trim_oldest(self._delivered, _LIMIT)
        return False
