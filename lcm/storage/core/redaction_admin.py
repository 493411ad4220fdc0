"""Redaction counters over SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select

from lcm.clock import Clock
from lcm.errors import InvalidInput, OutOfRange
from lcm.storage.core import rows
from lcm.storage.core.transaction import Executor
from lcm.tables.constraints import MAX_SAFE_INTEGER
from lcm.text import require_safe_integer

DOMAIN = "redaction-admin"
CATEGORIES = ("built_in", "global", "project")


class CoreRedactionAdminRepository:
    """See `lcm.storage.contracts.redaction_admin.RedactionAdminRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._counters = executor.dialect.tables.redaction_counters

    async def add_counts(self, counts: Mapping[str, int]) -> None:
        for category, count in counts.items():
            if category not in CATEGORIES:
                raise InvalidInput("A redaction is counted as built_in, global or project.")
            require_safe_integer(f"redactions.{category}", count)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            c = self._counters.c
            for category, count in sorted(counts.items()):
                query = select(c.count).where(c.project_id == self._executor.project_id, c.category == category)
                total = count + ((await connection.execute(query)).scalar() or 0)
                if total > MAX_SAFE_INTEGER:
                    raise OutOfRange(f"redactions.{category}")
                statement = self._executor.dialect.upsert(
                    self._counters, ["project_id", "category"], {"count": total, "updated_at": self._clock()}
                )
                await connection.execute(
                    statement.values(
                        project_id=self._executor.project_id, category=category, count=total, updated_at=self._clock()
                    )
                )

    async def get_counts(self) -> dict[str, int]:
        c = self._counters.c
        query = (
            select(c.category, c.count)
            .where(c.project_id == self._executor.project_id, c.count > 0)
            .order_by(c.category)
        )
        async with self._executor.operation(DOMAIN) as connection:
            return {row.category: rows.safe(row[1]) for row in await connection.execute(query)}
