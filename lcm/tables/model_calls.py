"""The ledger of model calls: reserved before the request, finished after it."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import Column, Index, Integer, MetaData, Named, Table, TypedColumns

from lcm.domain.model_calls import CallStatus
from lcm.tables import constraints
from lcm.tables.types import Id, Key, String, UtcTime


class ModelCallColumns(TypedColumns):
    call_key: Named[uuid.UUID] = Column(Key(), primary_key=True)
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    purpose: Named[str] = Column(String())
    model: Named[str] = Column(String())
    level: Named[str] = Column(String())
    depth: Named[int] = Column(Integer())
    status: Named[str] = Column(String())
    reserved_tokens: Named[int] = Column(Id)
    input_tokens: Named[int | None] = Column(Id)
    output_tokens: Named[int | None] = Column(Id)
    cost_micros: Named[int | None] = Column(Id)
    error_code: Named[str | None] = Column(String())
    started_at: Named[datetime] = Column(UtcTime())
    finished_at: Named[datetime | None] = Column(UtcTime())


def model_calls(metadata: MetaData) -> Table[ModelCallColumns]:
    """`cost_micros` is in millionths of the provider's currency unit; NULL when unknown."""
    return Table(
        "model_calls",
        metadata,
        ModelCallColumns,
        constraints.owned_by("conversations", "conversation_id"),
        constraints.one_of("status", CallStatus),
        constraints.safe_integer("reserved_tokens"),
        constraints.safe_integer("input_tokens"),
        constraints.safe_integer("output_tokens"),
        constraints.safe_integer("cost_micros"),
        Index("ix_model_calls_started", *constraints.scoped(metadata, "started_at", "call_key")),
    )
