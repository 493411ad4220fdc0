"""The ledger of model calls, internal to lcm."""

from __future__ import annotations

import uuid
from typing import Protocol

from lcm.domain.model_calls import CallOutcome, CallReservation, ModelCall


class ModelCallRepository(Protocol):
    async def reserve(self, reservation: CallReservation) -> uuid.UUID:
        """Write the row before the request; returns its key."""
        ...

    async def finish(self, call_key: uuid.UUID, outcome: CallOutcome) -> None:
        """Record the end of a reserved call, once.

        Raises:
            NotFound: no such call, or it ended before; InvalidInput: the outcome is no end.
        """
        ...

    async def list_calls(self, conversation_id: int | None = None) -> list[ModelCall]:
        """By (started_at, call_key)."""
        ...
