"""One metadata, declared for a dialect's schema: `declare("lcm")` for PostgreSQL, `declare(None)` for SQLite.

Foreign keys are written `'table.column'`; names of indexes and constraints are explicit or follow the convention, so
that errors can be mapped by them and fingerprints compare them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sqlalchemy import MetaData, Table

from lcm.tables import (
    compaction,
    context,
    conversations,
    ingest,
    large_files,
    ledger,
    messages,
    model_calls,
    projects,
    summaries,
)
from lcm.tables.compaction import CompactionStateColumns, ProviderBreakerColumns
from lcm.tables.context import ContextAuditColumns, ContextItemColumns
from lcm.tables.conversations import ConversationColumns
from lcm.tables.ingest import (
    MessageSourceColumns,
    RedactionCounterColumns,
    SessionIngestColumns,
    SourceColumns,
    SourceOccurrenceColumns,
    TombstoneColumns,
)
from lcm.tables.large_files import LargeFileColumns
from lcm.tables.ledger import AlembicVersionColumns, MigrationColumns, SearchStateColumns
from lcm.tables.messages import MessageColumns, MessagePartColumns
from lcm.tables.model_calls import ModelCallColumns
from lcm.tables.projects import MachineColumns, ProjectAliasColumns, ProjectColumns
from lcm.tables.summaries import (
    SummaryColumns,
    SummaryLargeFileColumns,
    SummaryMessageColumns,
    SummaryParentColumns,
)

NAMING_CONVENTION = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
}


@dataclass(frozen=True, slots=True)
class Tables:
    """Every table of one dialect; statement functions take it as their first argument."""

    metadata: MetaData
    schema_migrations: Table[MigrationColumns]
    alembic_version: Table[AlembicVersionColumns]
    search_state: Table[SearchStateColumns]
    projects: Table[ProjectColumns]
    machines: Table[MachineColumns]
    project_aliases: Table[ProjectAliasColumns]
    conversations: Table[ConversationColumns]
    messages: Table[MessageColumns]
    message_parts: Table[MessagePartColumns]
    summaries: Table[SummaryColumns]
    summary_messages: Table[SummaryMessageColumns]
    summary_parents: Table[SummaryParentColumns]
    summary_large_files: Table[SummaryLargeFileColumns]
    context_items: Table[ContextItemColumns]
    large_files: Table[LargeFileColumns]
    sources: Table[SourceColumns]
    message_sources: Table[MessageSourceColumns]
    source_occurrences: Table[SourceOccurrenceColumns]
    ingest_tombstones: Table[TombstoneColumns]
    redaction_counters: Table[RedactionCounterColumns]
    session_ingest_log: Table[SessionIngestColumns]
    model_calls: Table[ModelCallColumns]
    context_audits: Table[ContextAuditColumns]
    compaction_states: Table[CompactionStateColumns]
    provider_breakers: Table[ProviderBreakerColumns]


@cache
def declare(schema: str | None) -> Tables:
    """The tables of one dialect. The schema name decides the dialect: None is SQLite."""
    metadata = MetaData(schema=schema, naming_convention=NAMING_CONVENTION)
    return Tables(
        metadata=metadata,
        schema_migrations=ledger.schema_migrations(metadata),
        alembic_version=ledger.alembic_version(metadata),
        projects=projects.projects(metadata),
        machines=projects.machines(metadata),
        project_aliases=projects.project_aliases(metadata),
        search_state=ledger.search_state(metadata),
        sources=ingest.sources(metadata),
        conversations=conversations.conversations(metadata),
        messages=messages.messages(metadata),
        message_parts=messages.message_parts(metadata),
        message_sources=ingest.message_sources(metadata),
        source_occurrences=ingest.source_occurrences(metadata),
        ingest_tombstones=ingest.ingest_tombstones(metadata),
        summaries=summaries.summaries(metadata),
        summary_messages=summaries.summary_messages(metadata),
        summary_parents=summaries.summary_parents(metadata),
        summary_large_files=summaries.summary_large_files(metadata),
        context_items=context.context_items(metadata),
        large_files=large_files.large_files(metadata),
        redaction_counters=ingest.redaction_counters(metadata),
        session_ingest_log=ingest.session_ingest_log(metadata),
        model_calls=model_calls.model_calls(metadata),
        context_audits=context.context_audits(metadata),
        compaction_states=compaction.compaction_states(metadata),
        provider_breakers=compaction.provider_breakers(metadata),
    )
