"""What a database says about its own schema, and which migrations it lacks.

The ledger `schema_migrations` is the authority; Alembic's version has to agree with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from lcm.errors import ChecksumDrift, FingerprintMismatch, MigrationError, OutOfOrder, SchemaTooNew
from lcm.migrations.manifest import Migration
from lcm.migrations.sqlite_errors import translated_errors

_TABLES = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
_LEDGER_COLUMNS = "SELECT name FROM pragma_table_info('schema_migrations')"
# rowid order is the order of insertion: the table is append-only.
_LEDGER = "SELECT id, checksum_sha256 FROM schema_migrations ORDER BY rowid"
_ALEMBIC_COLUMNS = "SELECT name FROM pragma_table_info('alembic_version')"
_ALEMBIC = "SELECT version_num FROM alembic_version ORDER BY version_num"


@dataclass(frozen=True, slots=True)
class LedgerRow:
    id: str
    checksum_sha256: str


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The schema's own account of itself.

    Attributes:
        is_empty: there is no table and no view.
        ledger: applied migrations in the order they were applied; None without a ledger of lcm.
        alembic_versions: ascending; None without Alembic's table.
    """

    is_empty: bool
    ledger: tuple[LedgerRow, ...] | None
    alembic_versions: tuple[str, ...] | None

    @property
    def head(self) -> str | None:
        """The migration applied last."""
        return self.ledger[-1].id if self.ledger else None


def read_state(connection: sqlite3.Connection) -> SchemaState:
    """The state of a SQLite database, in the caller's transaction when one is open.

    Raises:
        StorageError: the file is not a database, or damaged.
        StorageUnavailable: it is busy or cannot be read.
    """
    with translated_errors():
        tables = _first_column(connection, _TABLES)
        return SchemaState(
            is_empty=not tables,
            ledger=_read_ledger(connection),
            alembic_versions=_read_alembic_versions(connection),
        )


def read_ledger_rows(connection: sqlite3.Connection) -> tuple[LedgerRow, ...]:
    return tuple(LedgerRow(str(row[0]), str(row[1])) for row in fetch(connection, _LEDGER))


def fetch(connection: sqlite3.Connection, statement: str) -> list[tuple[object, ...]]:
    """Plain tuples, whatever row factory the connection has."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(statement).fetchall()


def pending_migrations(state: SchemaState, manifest: Sequence[Migration]) -> tuple[Migration, ...]:
    """What is still to apply, in order.

    Raises:
        MigrationError: the database holds tables of somebody else and no ledger.
        SchemaTooNew: the ledger knows a migration that is newer than the manifest.
        OutOfOrder: the ledger has a gap, another order or an unknown migration.
        ChecksumDrift: an applied migration had other SQL.
        FingerprintMismatch: Alembic's version disagrees with the ledger.
    """
    if state.is_empty:
        return tuple(manifest)
    if state.ledger is None:
        raise MigrationError("The database has tables but no ledger of lcm; lcm does not touch it. Use a new file.")
    check_ledger(state.ledger, manifest)
    _check_alembic_version(state)
    if not state.ledger:
        raise FingerprintMismatch("The ledger is empty but tables exist; run `lcm verify-schema`. Nothing was changed.")
    return tuple(manifest[len(state.ledger) :])


def check_ledger(ledger: Sequence[LedgerRow], manifest: Sequence[Migration]) -> None:
    """The ledger is the beginning of the manifest; the errors are those of `pending_migrations`."""
    check_not_newer(ledger, manifest)
    if [row.id for row in ledger] != [migration.id for migration in manifest[: len(ledger)]]:
        raise OutOfOrder("The ledger has a gap or another order; run `lcm verify-schema`. Nothing was changed.")
    for row, migration in zip(ledger, manifest, strict=False):
        if row.checksum_sha256 != migration.sha256:
            raise ChecksumDrift(
                f"Migration {migration.id} was applied with other SQL than this lcm has; run `lcm verify-schema`."
                " Nothing was changed."
            )


def check_not_newer(ledger: Sequence[LedgerRow], manifest: Sequence[Migration]) -> None:
    newest = manifest[-1].id if manifest else ""
    if any(row.id > newest for row in ledger):
        raise SchemaTooNew


def _check_alembic_version(state: SchemaState) -> None:
    expected = () if state.head is None else (state.head,)
    if state.alembic_versions != expected:
        raise FingerprintMismatch(
            "The table alembic_version disagrees with the ledger; run `lcm verify-schema`. Nothing was changed."
        )


def _read_ledger(connection: sqlite3.Connection) -> tuple[LedgerRow, ...] | None:
    # Other tools call a table schema_migrations too; ours is known by its columns.
    if not {"id", "checksum_sha256", "applied_at"} <= set(_first_column(connection, _LEDGER_COLUMNS)):
        return None
    return read_ledger_rows(connection)


def _read_alembic_versions(connection: sqlite3.Connection) -> tuple[str, ...] | None:
    if "version_num" not in _first_column(connection, _ALEMBIC_COLUMNS):
        return None
    return tuple(_first_column(connection, _ALEMBIC))


def _first_column(connection: sqlite3.Connection, statement: str) -> list[str]:
    return [str(row[0]) for row in fetch(connection, statement)]
