"""Brings a SQLite database to the newest schema. Plain `sqlite3`: neither Alembic nor SQLAlchemy is imported."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lcm.clock import Clock, utc_now
from lcm.errors import FingerprintMismatch, MigrationError, NestedTransaction
from lcm.migrations.assets import Assets, find_assets
from lcm.migrations.fingerprints.compare import compare_schemas
from lcm.migrations.fingerprints.document import load_fingerprint
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.ledger import LedgerRow, fetch, pending_migrations, read_ledger_rows, read_state
from lcm.migrations.manifest import Migration, load_manifest, read_sql
from lcm.migrations.splitting import split_statements
from lcm.migrations.sqlite_errors import is_about_the_file, primary_code, translated_errors

_DIALECT = "sqlite"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RECORD = "INSERT INTO schema_migrations (id, checksum_sha256, applied_at) VALUES (?, ?, ?)"
_SET_VERSION = ("DELETE FROM alembic_version", "INSERT INTO alembic_version (version_num) VALUES (?)")


@dataclass(frozen=True, slots=True)
class MigrationOutcome:
    """What a run did.

    Attributes:
        applied: ids of the migrations it applied, in order; empty when there was nothing to do.
        head: the id the database is at now.
    """

    applied: tuple[str, ...]
    head: str


def migrate_sqlite(
    connection: sqlite3.Connection, *, clock: Clock = utc_now, assets: Assets | None = None
) -> MigrationOutcome:
    """Applies what is pending, ledger rows included, in one transaction: all of it or nothing.

    The whole history is checked before the first statement, the schema before it and again before the commit. A second
    process waits as long as the connection's busy timeout and then finds nothing to do.

    Raises:
        ChecksumDrift, OutOfOrder, SchemaTooNew, FingerprintMismatch: what lcm has and what was applied disagree.
        MigrationError: the database is not lcm's, or a statement failed.
        NestedTransaction: the connection is inside a transaction.
        StorageError: the file is not a database, or damaged.
        StorageUnavailable: it is busy or cannot be written.
    """
    assets = assets or find_assets()
    manifest = load_manifest(_DIALECT, assets)
    scripts = {migration.id: read_sql(migration, assets) for migration in manifest}
    if connection.in_transaction:
        raise NestedTransaction
    head = manifest[-1].id
    if not plan(connection, assets=assets):
        return MigrationOutcome((), head)
    with translated_errors(), _foreign_keys_off(connection), _write_transaction(connection):
        applied = _apply_pending(connection, manifest, scripts, clock, assets)
    return MigrationOutcome(applied, head)


def plan(connection: sqlite3.Connection, *, assets: Assets | None = None) -> tuple[Migration, ...]:
    """Pending migrations in the order they will apply; reads only.

    Raises:
        the errors of `migrate_sqlite` about the history and the file.
    """
    manifest = load_manifest(_DIALECT, assets)
    with translated_errors(), read_snapshot(connection):
        state = read_state(connection)
    return pending_migrations(state, manifest)


def is_at_head(connection: sqlite3.Connection, *, assets: Assets | None = None) -> bool:
    """True when the ledger is exactly the manifest; reads only the ledger, so it is cheap enough for every open.

    Raises:
        StorageError: the file is not a database, or damaged.
        StorageUnavailable: it is busy or cannot be read.
    """
    manifest = load_manifest(_DIALECT, assets)
    with translated_errors():
        try:
            rows = read_ledger_rows(connection)
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_ERROR:
                raise
            return False  # no such table, or not the columns of our ledger
    return rows == tuple(LedgerRow(migration.id, migration.sha256) for migration in manifest)


def pending_sql(connection: sqlite3.Connection, *, assets: Assets | None = None) -> str:
    """What `migrate_sqlite` would run, as one script for review; empty when nothing is pending.

    Raises:
        the errors of `plan`; ChecksumDrift.
    """
    pending = plan(connection, assets=assets)
    if not pending:
        return ""
    bodies = [f"{read_sql(migration, assets).rstrip()}\n\n{_record_text(migration)}" for migration in pending]
    return "\n\n".join(["PRAGMA foreign_keys = OFF;\nBEGIN IMMEDIATE;", *bodies, "COMMIT;\n"])


@contextmanager
def read_snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Several reads see one state: the caller's transaction, else one of their own."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


def _apply_pending(
    connection: sqlite3.Connection,
    manifest: Sequence[Migration],
    scripts: Mapping[str, str],
    clock: Clock,
    assets: Assets,
) -> tuple[str, ...]:
    # Read again under the write lock: another process may have migrated meanwhile.
    pending = pending_migrations(read_state(connection), manifest)
    if not pending:
        return ()
    applied = manifest[: len(manifest) - len(pending)]
    if applied:
        _require_schema(connection, applied[-1], assets)
    for migration in pending:
        _run_script(connection, migration, scripts[migration.id])
        _record(connection, migration, clock)
    _require_references(connection)
    _require_schema(connection, pending[-1], assets)
    return tuple(migration.id for migration in pending)


def _run_script(connection: sqlite3.Connection, migration: Migration, script: str) -> None:
    for number, statement in enumerate(split_statements(script), start=1):
        try:
            connection.execute(statement)
        except sqlite3.Error as error:
            if is_about_the_file(error):
                raise
            raise MigrationError(
                f"Migration {migration.id} failed at statement {number}; nothing was changed."
            ) from None


def _record(connection: sqlite3.Connection, migration: Migration, clock: Clock) -> None:
    applied_at_us = (clock() - _EPOCH) // timedelta(microseconds=1)
    connection.execute(_RECORD, (migration.id, migration.sha256, applied_at_us))
    clear, insert = _SET_VERSION
    connection.execute(clear)
    connection.execute(insert, (migration.id,))


def _record_text(migration: Migration) -> str:
    return (
        "INSERT INTO schema_migrations (id, checksum_sha256, applied_at)\n"  # noqa: S608 - digits and hexadecimal only
        f"VALUES ('{migration.id}', '{migration.sha256}', strftime('%s', 'now') * 1000000);\n"
        "DELETE FROM alembic_version;\n"
        f"INSERT INTO alembic_version (version_num) VALUES ('{migration.id}');"
    )


def _require_references(connection: sqlite3.Connection) -> None:
    if fetch(connection, "PRAGMA foreign_key_check"):
        raise MigrationError("The migrated rows refer to missing ones; nothing was changed.")


def _require_schema(connection: sqlite3.Connection, migration: Migration, assets: Assets) -> None:
    differences = compare_schemas(load_fingerprint(_DIALECT, migration.id, assets), inventory(connection))
    if differences:
        raise FingerprintMismatch(
            f"The schema differs from revision {migration.id} in {len(differences)} places;"
            " run `lcm verify-schema`. Nothing was changed."
        )


@contextmanager
def _foreign_keys_off(connection: sqlite3.Connection) -> Iterator[None]:
    """Rebuilding a table must not cascade. The setting is per connection and does nothing inside a transaction."""
    is_enabled = fetch(connection, "PRAGMA foreign_keys") == [(1,)]
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA foreign_keys = {'ON' if is_enabled else 'OFF'}")


@contextmanager
def _write_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may have rolled back by itself (disk full); rollback() is then without effect.
        connection.rollback()
        raise
