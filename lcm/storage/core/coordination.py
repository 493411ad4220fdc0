"""Completed sessions over SQLAlchemy Core."""

from __future__ import annotations

from sqlalchemy import select

from lcm.clock import Clock
from lcm.storage.contracts.coordination import SessionIngest
from lcm.storage.core import rows
from lcm.storage.core.transaction import Executor
from lcm.text import require_safe, require_safe_integer

DOMAIN = "coordination"


class CoreCoordinationRepository:
    """See `lcm.storage.contracts.coordination.CoordinationRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._log = executor.dialect.tables.session_ingest_log

    async def record_session_ingest(self, session_id: str, message_count: int) -> SessionIngest:
        require_safe("session_id", session_id)
        require_safe_integer("message_count", message_count)
        now = self._clock()
        statement = self._executor.dialect.upsert(
            self._log, ["project_id", "session_id"], {"message_count": message_count, "completed_at": now}
        ).values(
            project_id=self._executor.project_id, session_id=session_id, message_count=message_count, completed_at=now
        )
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await connection.execute(statement)
        return SessionIngest(session_id, message_count, now)

    async def find_session_ingest(self, session_id: str) -> SessionIngest | None:
        require_safe("session_id", session_id)
        c = self._log.c
        query = select(c.session_id, c.message_count, c.completed_at).where(
            c.project_id == self._executor.project_id, c.session_id == session_id
        )
        async with self._executor.operation(DOMAIN) as connection:
            row = (await connection.execute(query)).first()
        return SessionIngest(row.session_id, rows.safe(row.message_count), row.completed_at) if row else None
