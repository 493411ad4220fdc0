"""What compaction remembers between runs: how it left a conversation, and which providers are let rest."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import Column, MetaData, Named, PrimaryKeyConstraint, Table, TypedColumns

from lcm.domain.breakers import BreakerState
from lcm.tables import constraints
from lcm.tables.types import Digest, Id, Key, String, UtcTime


class CompactionStateColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    conversation_id: Named[int] = Column(Id)
    mode: Named[str] = Column(String())
    context_revision: Named[int] = Column(Id)
    policy_sha256: Named[bytes] = Column(Digest())
    stop_reason: Named[str] = Column(String())
    last_summary_key: Named[uuid.UUID | None] = Column(Key())
    noted_at: Named[datetime] = Column(UtcTime())


class ProviderBreakerColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    provider: Named[str] = Column(String())
    model: Named[str] = Column(String())
    state: Named[str] = Column(String())
    failures: Named[int] = Column(Id)
    error_code: Named[str | None] = Column(String())
    opened_at: Named[datetime | None] = Column(UtcTime())
    probe_at: Named[datetime | None] = Column(UtcTime())
    updated_at: Named[datetime] = Column(UtcTime())


def compaction_states(metadata: MetaData) -> Table[CompactionStateColumns]:
    """How the last run of a mode ended; the same revision under the same policy would end the same way again."""
    return Table(
        "compaction_states",
        metadata,
        CompactionStateColumns,
        PrimaryKeyConstraint("conversation_id", "mode"),
        constraints.owned_by("conversations", "conversation_id"),
        constraints.safe_integer("context_revision"),
        constraints.digest_length("policy_sha256"),
    )


def provider_breakers(metadata: MetaData) -> Table[ProviderBreakerColumns]:
    """`probe_at` is when the next call may try whether the provider answers again."""
    return Table(
        "provider_breakers",
        metadata,
        ProviderBreakerColumns,
        PrimaryKeyConstraint("project_id", "provider", "model"),
        constraints.of_project(),
        constraints.one_of("state", BreakerState),
        constraints.safe_integer("failures"),
    )
