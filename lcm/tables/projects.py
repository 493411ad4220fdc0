"""Projects, machines, and which paths on which machine mean which project."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import (
    Column,
    ForeignKeyConstraint,
    LargeBinary,
    MetaData,
    Named,
    PrimaryKeyConstraint,
    Table,
    TypedColumns,
    UniqueConstraint,
)

from lcm.tables import constraints
from lcm.tables.types import Key, String, UtcTime


class ProjectColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key(), primary_key=True)
    display_name: Named[str] = Column(String())
    identity_salt: Named[bytes] = Column(LargeBinary())
    created_at: Named[datetime] = Column(UtcTime())
    updated_at: Named[datetime] = Column(UtcTime())


class MachineColumns(TypedColumns):
    machine_id: Named[uuid.UUID] = Column(Key(), primary_key=True)
    identity_key: Named[str] = Column(String())
    display_name: Named[str | None] = Column(String())
    registered_at: Named[datetime] = Column(UtcTime())
    last_seen_at: Named[datetime] = Column(UtcTime())


class ProjectAliasColumns(TypedColumns):
    project_id: Named[uuid.UUID] = Column(Key())
    machine_id: Named[uuid.UUID] = Column(Key())
    path: Named[str] = Column(String())
    normalized_path: Named[str] = Column(String())
    linked_at: Named[datetime] = Column(UtcTime())


def projects(metadata: MetaData) -> Table[ProjectColumns]:
    """`identity_salt` keys the digests of texts that have no id of their own; it stays with the project on transfer."""
    return Table("projects", metadata, ProjectColumns, constraints.digest_length("identity_salt"))


def machines(metadata: MetaData) -> Table[MachineColumns]:
    return Table("machines", metadata, MachineColumns, UniqueConstraint("identity_key"))


def project_aliases(metadata: MetaData) -> Table[ProjectAliasColumns]:
    """One normalized path on one machine belongs to one project only."""
    return Table(
        "project_aliases",
        metadata,
        ProjectAliasColumns,
        PrimaryKeyConstraint("machine_id", "normalized_path"),
        UniqueConstraint("machine_id", "path"),
        ForeignKeyConstraint(["project_id"], ["projects.project_id"], ondelete="RESTRICT"),
        ForeignKeyConstraint(["machine_id"], ["machines.machine_id"], ondelete="RESTRICT"),
    )
