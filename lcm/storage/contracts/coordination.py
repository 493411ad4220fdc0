"""Completed sessions; leases and fences come with distributed coordination."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SessionIngest:
    """A session recorded as completely ingested, with how many messages it had then."""

    session_id: str
    message_count: int
    completed_at: datetime


class CoordinationRepository(Protocol):
    async def record_session_ingest(self, session_id: str, message_count: int) -> SessionIngest:
        """Record or renew; the newest count and time win."""
        ...

    async def find_session_ingest(self, session_id: str) -> SessionIngest | None: ...
