"""What compaction remembers about conversations between runs. Losing it costs time, never content."""

from __future__ import annotations

from typing import Protocol

from lcm.domain.compaction_state import CompactionMode, CompactionState


class CompactionStateRepository(Protocol):
    async def find(self, conversation_id: int, mode: CompactionMode) -> CompactionState | None:
        """What the last run of this mode noted; None when there was none."""
        ...

    async def list_states(self, mode: CompactionMode) -> list[CompactionState]:
        """Of every conversation of the project, by conversation id."""
        ...

    async def note(self, state: CompactionState) -> None:
        """Remember a state in place of the one of the same conversation and mode.

        Raises:
            OutOfRange, UnsafeText, InvalidInput: a value that cannot be stored; IdentityConflict: no such conversation.
        """
        ...
