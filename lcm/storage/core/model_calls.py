"""The ledger of model calls over SQLAlchemy Core."""

from __future__ import annotations

import uuid

from sqlalchemy import select

from lcm.clock import Clock
from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus, ModelCall
from lcm.errors import InvalidInput, NotFound
from lcm.ids import uuid7
from lcm.storage.core import pass_statements as statements
from lcm.storage.core import rows
from lcm.storage.core.prepared import run
from lcm.storage.core.transaction import Executor

DOMAIN = "model-calls"


class CoreModelCallRepository:
    """See `lcm.storage.contracts.model_calls.ModelCallRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._calls = executor.dialect.tables.model_calls

    async def reserve(self, reservation: CallReservation) -> uuid.UUID:
        rows.require_safe_texts(reservation, "purpose", "model", "level")
        rows.require_safe_integers(reservation, "reserved_tokens", "depth")
        key, dialect = uuid7(), self._executor.dialect
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await run(
                dialect,
                connection,
                statements.insert_call(dialect.tables),
                {
                    "call_key": dialect.key_value(key),
                    "project_id": dialect.key_value(self._executor.project_id),
                    "conversation_id": reservation.conversation_id,
                    "purpose": reservation.purpose,
                    "model": reservation.model,
                    "level": reservation.level,
                    "depth": reservation.depth,
                    "status": CallStatus.RESERVED.value,
                    "reserved_tokens": reservation.reserved_tokens,
                    "started_at": dialect.time_value(self._clock()),
                },
            )
        return key

    async def finish(self, call_key: uuid.UUID, outcome: CallOutcome) -> None:
        rows.require_safe_texts(outcome, "error_code")
        rows.require_safe_integers(outcome, "input_tokens", "output_tokens", "cost_micros")
        if outcome.status is CallStatus.RESERVED:
            raise InvalidInput("A finished call was answered, rejected or failed.")
        dialect = self._executor.dialect
        values = {
            "owner": dialect.key_value(self._executor.project_id),
            "call": dialect.key_value(call_key),
            "new_status": outcome.status.value,
            "new_input_tokens": outcome.input_tokens,
            "new_output_tokens": outcome.output_tokens,
            "new_cost_micros": outcome.cost_micros,
            "new_error_code": outcome.error_code,
            "new_finished_at": dialect.time_value(self._clock()),
        }
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            changed = await run(dialect, connection, statements.finish_call(dialect.tables), values)
            if changed.rowcount != 1:
                raise NotFound("No open model call has this key.")

    async def list_calls(self, conversation_id: int | None = None) -> list[ModelCall]:
        c = self._calls.c
        query = (
            select(
                c.call_key,
                c.conversation_id,
                c.purpose,
                c.model,
                c.level,
                c.depth,
                c.status,
                c.reserved_tokens,
                c.input_tokens,
                c.output_tokens,
                c.cost_micros,
                c.error_code,
                c.started_at,
                c.finished_at,
            )
            .where(c.project_id == self._executor.project_id)
            .order_by(c.started_at, c.call_key)
        )
        if conversation_id is not None:
            query = query.where(c.conversation_id == conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            return [rows.to_model_call(row) for row in await connection.execute(query)]
