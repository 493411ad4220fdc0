"""Databases that an older lcm wrote are brought to head with every row they had."""

from __future__ import annotations

import sqlite3

import pytest

from lcm.errors import SchemaTooNew
from lcm.migrations.assets import Assets
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.runner import migrate_sqlite
from lcm.migrations.verify import verify_schema
from tests.migrations.migration_factories import insert_conversation, insert_project, keep_migrations


class TestUpgrade:
    @pytest.mark.parametrize(("count", "applied"), [(1, ("0002",))])
    def test_equals_a_fresh_database_and_keeps_its_rows(
        self, empty: sqlite3.Connection, assets: Assets, count: int, applied: tuple[str, ...]
    ) -> None:
        """From every older revision on: the same schema as a new file, and the rows are still there."""
        fresh = sqlite3.connect(":memory:")
        migrate_sqlite(fresh)
        keep_migrations(assets, count)
        migrate_sqlite(empty, assets=assets)
        insert_project(empty)
        insert_conversation(empty)

        assert migrate_sqlite(empty).applied == applied
        assert inventory(empty) == inventory(fresh)
        assert verify_schema(empty) == ()
        assert empty.execute("SELECT session_id FROM conversations").fetchall() == [("session",)]
        fresh.close()

    def test_an_older_lcm_refuses_it_afterwards(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """The older program does not touch what it does not know."""
        keep_migrations(assets, 1)

        assert migrate_sqlite(migrated).applied == ()
        with pytest.raises(SchemaTooNew, match="written by a newer lcm; upgrade lcm"):
            migrate_sqlite(migrated, assets=assets)
