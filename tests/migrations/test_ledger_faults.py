"""Every way in which the ledger and the manifest can disagree stops a migration."""

from __future__ import annotations

import sqlite3

import pytest

from lcm.errors import ChecksumDrift, FingerprintMismatch, OutOfOrder, SchemaTooNew
from lcm.migrations.assets import Assets
from lcm.migrations.runner import migrate_sqlite, plan
from lcm.migrations.verify import verify_schema
from tests.migrations.migration_factories import add_migration, edit_ledger

_ROW = "INSERT INTO schema_migrations VALUES ('{}', '{}', 0)"


class TestLedgerFaults:
    def test_a_newer_schema_is_refused_plainly(self, migrated: sqlite3.Connection) -> None:
        """A database that a newer lcm wrote is neither migrated nor judged."""
        migrated.execute(_ROW.format("0003", "a" * 64))
        migrated.commit()

        for read in (migrate_sqlite, plan, verify_schema):
            with pytest.raises(SchemaTooNew, match="written by a newer lcm; upgrade lcm"):
                read(migrated)

    def test_a_gap_is_refused(self, empty: sqlite3.Connection, assets: Assets) -> None:
        """A migration that is missing between two applied ones."""
        add_migration(assets)
        add_migration(assets, "CREATE INDEX ix_machines_colour ON machines (colour);")
        migrate_sqlite(empty, assets=assets)
        edit_ledger(empty, "DELETE FROM schema_migrations WHERE id = '0003'")

        with pytest.raises(OutOfOrder, match="The ledger has a gap or another order"):
            migrate_sqlite(empty, assets=assets)

    def test_another_order_is_refused(self, empty: sqlite3.Connection, assets: Assets) -> None:
        """Rows in an order in which they cannot have been applied."""
        add_migration(assets)
        migrate_sqlite(empty, assets=assets)
        edit_ledger(empty, "UPDATE schema_migrations SET rowid = 9 WHERE id = '0001'")

        with pytest.raises(OutOfOrder):
            migrate_sqlite(empty, assets=assets)

    def test_an_unknown_older_migration_is_refused(self, migrated: sqlite3.Connection) -> None:
        """An id that sorts before the newest but is not in the manifest."""
        migrated.execute(_ROW.format("0000", "a" * 64))
        migrated.commit()

        with pytest.raises(OutOfOrder):
            migrate_sqlite(migrated)

    def test_another_checksum_is_refused(self, migrated: sqlite3.Connection) -> None:
        """What was applied is not what this lcm calls by that id."""
        edit_ledger(migrated, f"UPDATE schema_migrations SET checksum_sha256 = '{'0' * 64}'")

        with pytest.raises(ChecksumDrift, match="Migration 0001 was applied with other SQL"):
            migrate_sqlite(migrated)

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE alembic_version SET version_num = '0009'",
            "DELETE FROM alembic_version",
            "INSERT INTO alembic_version VALUES ('0009')",
            "DROP TABLE alembic_version",
        ],
    )
    def test_another_alembic_version_is_refused(self, migrated: sqlite3.Connection, change: str) -> None:
        """Alembic's table has exactly the head of the ledger."""
        migrated.execute(change)
        migrated.commit()

        with pytest.raises(FingerprintMismatch, match="alembic_version disagrees with the ledger"):
            migrate_sqlite(migrated)

    def test_an_empty_ledger_beside_tables_is_refused(self, migrated: sqlite3.Connection) -> None:
        """Tables are not created a second time because their rows in the ledger are gone."""
        migrated.execute("DELETE FROM alembic_version")
        edit_ledger(migrated, "DELETE FROM schema_migrations")

        with pytest.raises(FingerprintMismatch, match="The ledger is empty but tables exist"):
            migrate_sqlite(migrated)
