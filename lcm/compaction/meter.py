"""The meter of a sweep: each model call goes to the project's ledger, and their number and price are added up."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import cast

from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus
from lcm.storage.contracts.model_calls import ModelCallRepository
from lcm.summarizer.contract import CallLedger


@dataclass(slots=True)
class CallMeter:
    """Counts calls when they are reserved, and what they used when they are finished.

    Attributes:
        tokens: read and written, as the provider reports; what it does not report counts as reserved.
        cost_micros: None as soon as the price of an answer is unknown.
    """

    model_calls: ModelCallRepository
    calls: int = 0
    tokens: int = 0
    cost_micros: int | None = 0
    _reserved: dict[object, int] = field(default_factory=dict)

    @property
    def ledger(self) -> CallLedger:
        """The ledger to call through; its operations are each one short transaction."""
        return CallLedger(reserve=self._reserve, finish=self._finish)

    async def _reserve(self, reservation: CallReservation) -> object:
        key = await self.model_calls.reserve(reservation)
        self.calls += 1
        self._reserved[key] = reservation.reserved_tokens
        return key

    async def _finish(self, call_key: object, outcome: CallOutcome) -> None:
        await self.model_calls.finish(cast("uuid.UUID", call_key), outcome)
        self.tokens += _used_tokens(outcome, self._reserved.pop(call_key, 0))
        if outcome.cost_micros is not None and self.cost_micros is not None:
            self.cost_micros += outcome.cost_micros
        elif outcome.status is not CallStatus.FAILED:
            self.cost_micros = None


def _used_tokens(outcome: CallOutcome, reserved: int) -> int:
    if outcome.status is CallStatus.FAILED:
        return 0
    if outcome.input_tokens is None or outcome.output_tokens is None:
        return reserved
    return outcome.input_tokens + outcome.output_tokens
