"""The few shapes of constraint that all tables share."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, MetaData

#: 2^53 - 1: above it a JSON client loses precision.
MAX_SAFE_INTEGER = 9_007_199_254_740_991


def safe_integer(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} BETWEEN 0 AND {MAX_SAFE_INTEGER}", name=column)


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    allowed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({allowed})", name=column)


def digest_length(column: str, *, nullable: bool = False) -> CheckConstraint:
    absent = f"{column} IS NULL OR " if nullable else ""
    return CheckConstraint(f"{absent}length({column}) = 32", name=f"{column}_length")


def owned_by(parent: str, column: str, *, ondelete: str = "CASCADE", local: str | None = None) -> ForeignKeyConstraint:
    """A foreign key that also pins the project: (column, project_id) of `parent`."""
    return ForeignKeyConstraint(
        [local or column, "project_id"],
        [f"{parent}.{column}", f"{parent}.project_id"],
        ondelete=ondelete,
    )


def of_project() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["project_id"], ["projects.project_id"], ondelete="RESTRICT")


def scoped(metadata: MetaData, *columns: str) -> tuple[str, ...]:
    """Columns of an index that starts with the project where many projects share a table (PostgreSQL)."""
    return ("project_id", *columns) if metadata.schema else columns
