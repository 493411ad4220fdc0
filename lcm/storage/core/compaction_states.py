"""What compaction remembers, over SQLAlchemy Core."""

from __future__ import annotations

from sqlalchemy import select

from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.storage.core import rows
from lcm.storage.core.dialect import Query
from lcm.storage.core.transaction import Executor
from lcm.tables.metadata import Tables

DOMAIN = "compaction-states"


class CoreCompactionStateRepository:
    """See `lcm.storage.contracts.compaction_states.CompactionStateRepository`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._states = executor.dialect.tables.compaction_states

    async def find(self, conversation_id: int, mode: CompactionMode) -> CompactionState | None:
        query = self._of_mode(mode).where(self._states.c.conversation_id == conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            row = (await connection.execute(query)).first()
            return None if row is None else rows.to_compaction_state(row)

    async def list_states(self, mode: CompactionMode) -> list[CompactionState]:
        query = self._of_mode(mode).order_by(self._states.c.conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_compaction_state(row) for row in await connection.execute(query)]

    async def note(self, state: CompactionState) -> None:
        values = rows.compaction_state_values(state, project_id=self._executor.project_id)
        statement = self._executor.dialect.upsert(self._states, ["conversation_id", "mode"], {})
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await connection.execute(statement, values)

    def _of_mode(self, mode: CompactionMode) -> Query:
        return states_of_mode(self._executor.dialect.tables, self._executor.project_id, mode)


def states_of_mode(t: Tables, project_id: object, mode: CompactionMode) -> Query:
    s = t.compaction_states.c
    return select(
        s.conversation_id,
        s.mode,
        s.context_revision,
        s.policy_sha256,
        s.stop_reason,
        s.last_summary_key,
        s.noted_at,
    ).where(s.project_id == project_id, s.mode == mode.value)
