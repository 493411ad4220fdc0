"""Applied migrations, Alembic's version and the state of derived search data."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Integer, MetaData, Named, PrimaryKeyConstraint, Table, TypedColumns

from lcm.tables import constraints
from lcm.tables.types import Key, String, UtcTime


class MigrationColumns(TypedColumns):
    id: Named[str] = Column(String(), primary_key=True)
    checksum_sha256: Named[str] = Column(String())
    applied_at: Named[datetime] = Column(UtcTime())


class AlembicVersionColumns(TypedColumns):
    version_num: Named[str] = Column(String(), primary_key=True)


class SearchStateColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    name: Named[str] = Column(String())
    version: Named[int] = Column(Integer())
    updated_at: Named[datetime] = Column(UtcTime())


def schema_migrations(metadata: MetaData) -> Table[MigrationColumns]:
    """The ledger: the authority on what was applied."""
    return Table(
        "schema_migrations",
        metadata,
        MigrationColumns,
        CheckConstraint("length(checksum_sha256) = 64", name="checksum_sha256_length"),
    )


def alembic_version(metadata: MetaData) -> Table[AlembicVersionColumns]:
    return Table("alembic_version", metadata, AlembicVersionColumns)


def search_state(metadata: MetaData) -> Table[SearchStateColumns]:
    """Which version of the word derivation an index was filled with."""
    return Table(
        "search_state",
        metadata,
        SearchStateColumns,
        PrimaryKeyConstraint("project_id", "name"),
        constraints.of_project(),
    )
