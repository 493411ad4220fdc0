"""Compares a SQLite database with the revision its ledger names: schema, ledger and Alembic's version. Only reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from lcm.errors import MigrationError
from lcm.migrations.assets import Assets, find_assets
from lcm.migrations.findings import Finding
from lcm.migrations.fingerprints.compare import compare_schemas
from lcm.migrations.fingerprints.document import SchemaObject, load_fingerprint
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.ledger import LedgerRow, SchemaState, check_not_newer, read_state
from lcm.migrations.manifest import Migration, load_manifest
from lcm.migrations.runner import read_snapshot
from lcm.migrations.sqlite_errors import translated_errors

_LEDGER_REMEDY = "Restore the database from a backup; the ledger is append-only and not edited by hand."
_VERSION_REMEDY = "Set alembic_version to what the ledger says."


def verify_schema(connection: sqlite3.Connection, *, assets: Assets | None = None) -> tuple[Finding, ...]:
    """Every difference from what the database should look like; empty when there is none.

    Order: schema objects by table, kind and name, then the ledger by id, then Alembic's version.

    Raises:
        MigrationError: the database is empty or not lcm's.
        SchemaTooNew: it was written by a newer lcm.
        StorageError: the file is not a database, or damaged.
        StorageUnavailable: it is busy or cannot be read.
    """
    assets = assets or find_assets()
    manifest = load_manifest("sqlite", assets)
    with translated_errors(), read_snapshot(connection):
        state = read_state(connection)
        found = inventory(connection)
    check_not_newer(state.ledger or (), manifest)
    revision = _revision(state, manifest)
    expected = load_fingerprint("sqlite", revision, assets)
    if state.ledger is None and not _looks_like_lcm(expected, found):
        raise MigrationError("The database is empty or not lcm's; there is nothing to verify.")
    return (
        *compare_schemas(expected, found),
        *_ledger_findings(state, manifest, revision),
        *_version_findings(state, revision),
    )


def _revision(state: SchemaState, manifest: Sequence[Migration]) -> str:
    """The newest migration in the ledger, which is the authority; without any, the newest there is."""
    applied = {row.id for row in state.ledger or ()}
    known = [migration.id for migration in manifest if migration.id in applied]
    return known[-1] if known else manifest[-1].id


def _looks_like_lcm(expected: Sequence[SchemaObject], found: Sequence[SchemaObject]) -> bool:
    """A single table may bear one of our names by chance, most of them do not."""
    tables = {o.name for o in expected if o.kind == "table"}
    return len(tables & {o.name for o in found if o.kind == "table"}) * 2 > len(tables)


def _ledger_findings(state: SchemaState, manifest: Sequence[Migration], revision: str) -> Iterator[Finding]:
    if state.ledger is None:
        return
    rows = {row.id: row for row in state.ledger}
    for migration in manifest:
        finding = _ledger_finding(migration, rows.pop(migration.id, None), revision)
        if finding:
            yield finding
    for row_id, row in sorted(rows.items()):
        yield Finding("extra_ledger_row", row_id, None, row.checksum_sha256, _LEDGER_REMEDY)


def _ledger_finding(migration: Migration, row: LedgerRow | None, revision: str) -> Finding | None:
    if row is None and migration.id > revision:
        return Finding("pending_migration", migration.id, migration.sha256, None, "Run `lcm migrate`.")
    if row is None:
        return Finding("missing_ledger_row", migration.id, migration.sha256, None, _LEDGER_REMEDY)
    if row.checksum_sha256 != migration.sha256:
        return Finding("changed_ledger_row", migration.id, migration.sha256, row.checksum_sha256, _LEDGER_REMEDY)
    return None


def _version_findings(state: SchemaState, revision: str) -> Iterator[Finding]:
    if state.alembic_versions is None or state.alembic_versions == (revision,):
        return
    found = ", ".join(state.alembic_versions) or None
    change = "changed" if found else "missing"
    yield Finding(f"{change}_alembic_version", "alembic_version", revision, found, _VERSION_REMEDY)
