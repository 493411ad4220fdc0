"""One operation at a time per session; operations of other sessions run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Turn:
    """A session's lock, with how many hold it or wait for it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class SessionLocks:
    """Fair locks by session id; one that nobody uses is gone."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    def __len__(self) -> int:
        """How many sessions have an operation running or waiting."""
        return len(self._turns)

    @asynccontextmanager
    async def hold(self, session_id: str) -> AsyncIterator[None]:
        """Wait for the session's turn, in order of arrival, and keep it during the block."""
        turn = self._turns.setdefault(session_id, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if turn.users == 0:
                del self._turns[session_id]
