"""Which of two records is the copy: a prompt queued while the agent worked can come as attachment and as user line."""

from __future__ import annotations

from collections.abc import Iterable

from lcm.transcripts.parse.claude_values import text_digest, trim_oldest

_LIMIT = 32


class QueuedPrompts:
    """Digests of the newest delivered prompts, each with the kind of record it came as; bounded.

    A text waits for its other copy until it is queued anew or, when it came as an attachment, until another prompt is
    typed: the same words said again later are no copy.
    """

    def __init__(self, delivered: Iterable[tuple[str, str]] = ()) -> None:
        self._delivered = dict(delivered)

    def state(self) -> list[list[str]]:
        """Pairs of digest and record kind, oldest first, at most 32."""
        return [list(pair) for pair in self._delivered.items()]

    def enqueue(self, session_id: str, text: str) -> None:
        """A text was typed into the queue: what is delivered next is its first copy."""
        self._delivered.pop(text_digest(session_id, text), None)

    def deliver(self, session_id: str, text: str, kind: str) -> bool:
        """Whether this prompt, a record of `kind`, is the second copy of one delivered as another kind."""
        if not text.strip():
            return False
        digest = text_digest(session_id, text)
        if self._delivered.get(digest, kind) != kind:
            del self._delivered[digest]
            return True
        if kind == "user":
            self._delivered = {known: how for known, how in self._delivered.items() if how == "user"}
        self._delivered[digest] = kind
        trim_oldest(self._delivered, _LIMIT)
        return False
