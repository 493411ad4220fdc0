"""Circuit breakers of model providers over SQLAlchemy Core."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Update, select, update

from lcm.domain.breakers import Breaker
from lcm.storage.core import rows
from lcm.storage.core.dialect import Query
from lcm.storage.core.single_rows import find_breaker
from lcm.storage.core.transaction import Executor

DOMAIN = "breakers"


class CoreBreakerRepository:
    """See `lcm.storage.contracts.breakers.BreakerRepository`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._breakers = executor.dialect.tables.provider_breakers

    async def find(self, provider: str, model: str) -> Breaker | None:
        async with self._executor.operation(DOMAIN) as connection:
            project_id = self._executor.project_id
            return await find_breaker(self._executor.dialect, connection, project_id, provider, model)

    async def list_breakers(self) -> list[Breaker]:
        b = self._breakers.c
        query = self._select().where(b.project_id == self._executor.project_id).order_by(b.provider, b.model)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_breaker(row) for row in await connection.execute(query)]

    async def save(self, breaker: Breaker, *, expected: Breaker | None) -> bool:
        values = rows.breaker_values(breaker, project_id=self._executor.project_id)
        dialect = self._executor.dialect
        statement = dialect.insert_or_skip(self._breakers) if expected is None else self._replacement(expected)
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            changed = await connection.execute(statement.values(values))
            return changed.rowcount == 1

    def _replacement(self, expected: Breaker) -> Update:
        """Every column counts: two changes may fall into one moment."""
        b = self._breakers.c
        return update(self._breakers).where(
            *self._named(expected.provider, expected.model),
            b.state == expected.state.value,
            b.failures == expected.failures,
            b.error_code.is_not_distinct_from(expected.error_code),
            b.opened_at.is_not_distinct_from(expected.opened_at),
            b.probe_at.is_not_distinct_from(expected.probe_at),
            b.updated_at == expected.updated_at,
        )

    def _named(self, provider: str, model: str) -> tuple[ColumnElement[bool], ...]:
        b = self._breakers.c
        return b.project_id == self._executor.project_id, b.provider == provider, b.model == model

    def _select(self) -> Query:
        b = self._breakers.c
        return select(
            b.provider,
            b.model,
            b.state,
            b.failures,
            b.error_code,
            b.opened_at,
            b.probe_at,
            b.updated_at,
        )
