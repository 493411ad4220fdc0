"""The runner: all of the pending migrations or nothing, once, whoever else is at it."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcm.errors import (
    ChecksumDrift,
    FingerprintMismatch,
    MigrationError,
    NestedTransaction,
    StorageError,
    StorageUnavailable,
)
from lcm.migrations.assets import Assets
from lcm.migrations.ledger import read_state
from lcm.migrations.runner import MigrationOutcome, is_at_head, migrate_sqlite, pending_sql, plan
from lcm.migrations.verify import verify_schema
from tests.migrations.migration_factories import (
    accept_changed_files,
    add_migration,
    insert_conversation,
    insert_project,
)

_MIGRATE = """
import sqlite3, sys
from lcm.migrations.runner import migrate_sqlite
connection = sqlite3.connect(sys.argv[1], timeout=60)
"""
_REBUILD = """
CREATE TABLE projects_new (
    project_id BLOB NOT NULL PRIMARY KEY, display_name TEXT, identity_salt BLOB NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
INSERT INTO projects_new SELECT project_id, display_name, identity_salt, created_at, updated_at FROM projects;
DROP TABLE projects;
ALTER TABLE projects_new RENAME TO projects;
"""


class TestMigrateSqlite:
    def test_brings_an_empty_file_to_head(self, empty: sqlite3.Connection) -> None:
        """A new file has every migration, the ledger row and Alembic's version."""
        assert migrate_sqlite(empty) == MigrationOutcome(("0001", "0002"), "0002")

        assert is_at_head(empty)
        assert verify_schema(empty) == ()
        assert read_state(empty).alembic_versions == ("0002",)

    def test_a_second_run_applies_nothing(self, migrated: sqlite3.Connection) -> None:
        """At head there is nothing to do and nothing is written."""
        before = migrated.total_changes

        assert migrate_sqlite(migrated) == MigrationOutcome((), "0002")
        assert migrated.total_changes == before

    def test_records_the_time_in_microseconds(self, empty: sqlite3.Connection) -> None:
        """`applied_at` is the clock's time, exact to the microsecond."""
        migrate_sqlite(empty, clock=lambda: datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC))

        assert empty.execute("SELECT applied_at FROM schema_migrations").fetchall() == [(1767323045678901,)] * 2

    def test_does_not_mind_the_settings_of_the_connection(self, empty: sqlite3.Connection) -> None:
        """A row factory and driver-level autocommit change nothing."""
        empty.row_factory = sqlite3.Row
        empty.isolation_level = None

        assert migrate_sqlite(empty).applied == ("0001", "0002")
        assert is_at_head(empty)

    def test_applies_only_what_is_pending(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """A database of an older lcm gets the newer migration, and equals a fresh one."""
        add_migration(assets)

        assert [migration.id for migration in plan(migrated, assets=assets)] == ["0003"]
        assert migrate_sqlite(migrated, assets=assets).applied == ("0003",)
        assert verify_schema(migrated, assets=assets) == ()

    def test_several_migrations_run_in_one_go(self, empty: sqlite3.Connection, assets: Assets) -> None:
        """A new file takes all of them in order."""
        add_migration(assets)
        add_migration(assets, "CREATE INDEX ix_machines_colour ON machines (colour);")

        assert migrate_sqlite(empty, assets=assets) == MigrationOutcome(("0001", "0002", "0003", "0004"), "0004")

    def test_refuses_to_run_inside_a_transaction(self, empty: sqlite3.Connection) -> None:
        """The caller's own uncommitted work is not committed along."""
        empty.execute("BEGIN")

        with pytest.raises(NestedTransaction):
            migrate_sqlite(empty)
        assert empty.in_transaction


class TestForeignKeys:
    def test_a_rebuilt_parent_keeps_its_children(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """Dropping a table during its rebuild neither cascades nor fails, and the setting is back afterwards."""
        insert_project(migrated)
        insert_conversation(migrated)
        migrated.execute("PRAGMA foreign_keys = ON")
        add_migration(assets, _REBUILD)

        assert migrate_sqlite(migrated, assets=assets).applied == ("0003",)
        assert migrated.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
        assert migrated.execute("PRAGMA foreign_keys").fetchone() == (1,)

    def test_rows_left_without_their_parent_undo_the_migration(
        self, migrated: sqlite3.Connection, assets: Assets
    ) -> None:
        """References are checked before the commit."""
        insert_project(migrated)
        insert_conversation(migrated)
        migrated.execute("PRAGMA foreign_keys = ON")
        add_migration(assets, "DELETE FROM projects;")

        with pytest.raises(MigrationError, match="refer to missing ones; nothing was changed"):
            migrate_sqlite(migrated, assets=assets)
        assert migrated.execute("SELECT count(*) FROM projects").fetchone() == (1,)
        assert migrated.execute("PRAGMA foreign_keys").fetchone() == (1,)


class TestAllOrNothing:
    def test_a_failing_statement_changes_nothing(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """The error names migration and statement, never the SQL; the statements before it are undone."""
        add_migration(assets)
        script = "CREATE TABLE early (a);\nCREATE TABLE early (secret_name);"
        (assets.sql / "sqlite/0003.sql").write_text(script)
        accept_changed_files(assets)

        with pytest.raises(MigrationError) as caught:
            migrate_sqlite(migrated, assets=assets)

        assert str(caught.value) == "Migration 0003 failed at statement 2; nothing was changed."
        assert caught.value.__cause__ is None
        assert plan(migrated, assets=assets)[0].id == "0003"
        assert verify_schema(migrated) == ()

    @pytest.mark.parametrize(
        "statement", ["CREATE TABLE messages", "CREATE VIRTUAL TABLE summaries_fts", "INSERT INTO alembic", "COMMIT"]
    )
    def test_a_killed_run_leaves_nothing(self, database: Path, statement: str) -> None:
        """A process killed before any of its statements leaves an empty file, which the next run migrates."""
        killer = f"""
import os, signal
connection.set_trace_callback(lambda sql: {statement!r} in sql and os.kill(os.getpid(), signal.SIGKILL))
migrate_sqlite(connection)
"""
        killed = subprocess.run([sys.executable, "-c", _MIGRATE + killer, database], check=False)

        assert killed.returncode == -signal.SIGKILL
        with closing(sqlite3.connect(database)) as connection:
            assert read_state(connection).is_empty
            assert migrate_sqlite(connection).applied == ("0001", "0002")
            assert verify_schema(connection) == ()

    def test_an_interrupt_is_rolled_back(self, empty: sqlite3.Connection) -> None:
        """An exception that is no error of the database, here from the clock, leaves nothing either."""

        def interrupt() -> datetime:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            migrate_sqlite(empty, clock=interrupt)
        assert not empty.in_transaction
        assert read_state(empty).is_empty


class TestConcurrency:
    def test_two_processes_apply_each_migration_once(self, database: Path) -> None:
        """Both succeed, and one of them did the work."""
        command = [sys.executable, "-c", _MIGRATE + "print(migrate_sqlite(connection).applied)", str(database)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        output = sorted(process.communicate()[0].strip() for process in processes)

        assert [process.returncode for process in processes] == [0, 0]
        assert output == ["('0001', '0002')", "()"]

    def test_a_run_that_loses_the_race_for_the_lock_finds_nothing_to_do(self, database: Path) -> None:
        """What another process did between planning and locking is seen under the lock."""
        with closing(sqlite3.connect(database)) as loser, closing(sqlite3.connect(database)) as winner:
            loser.set_trace_callback(lambda sql: _migrate_when(sql == "BEGIN IMMEDIATE", winner))

            assert migrate_sqlite(loser).applied == ()
            loser.set_trace_callback(None)
            assert verify_schema(loser) == ()

    def test_a_busy_database_is_reported_as_such(self, empty: sqlite3.Connection, database: Path) -> None:
        """When the busy timeout is over the person may try again."""
        with closing(sqlite3.connect(database, timeout=0)) as other:
            empty.execute("BEGIN IMMEDIATE")

            with pytest.raises(StorageUnavailable, match="Another process is using the database"):
                migrate_sqlite(other)


class TestChangedFiles:
    def test_changed_sql_is_refused_before_anything_runs(self, empty: sqlite3.Connection, assets: Assets) -> None:
        """A migration whose bytes differ from the manifest stops the run, applied or not."""
        with (assets.sql / "sqlite/0001.sql").open("a") as file:
            file.write("-- harmless\n")

        with pytest.raises(ChecksumDrift, match="The SQL of migration 0001 is not the released one"):
            migrate_sqlite(empty, assets=assets)
        assert read_state(empty).is_empty

    def test_a_missing_file_is_refused(self, empty: sqlite3.Connection, assets: Assets) -> None:
        """A file that is not there is as good as changed."""
        (assets.sql / "sqlite/0001.sql").unlink()

        with pytest.raises(ChecksumDrift):
            migrate_sqlite(empty, assets=assets)

    def test_drift_is_refused_before_pending_sql(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """A database that is not what its revision says is not migrated further."""
        add_migration(assets)
        migrated.execute("DROP INDEX ix_messages_occurred")

        with pytest.raises(FingerprintMismatch, match="differs from revision 0002 in 1 places"):
            migrate_sqlite(migrated, assets=assets)
        assert plan(migrated, assets=assets)[0].id == "0003"

    def test_a_result_that_is_not_the_fingerprint_is_undone(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """The schema is compared once more before the commit."""
        add_migration(assets)
        pinned = assets.fingerprint("sqlite", "0003")
        pinned.write_text(pinned.read_text().replace("machines.colour", "machines.flavour"))

        with pytest.raises(FingerprintMismatch, match="differs from revision 0003 in 2 places"):
            migrate_sqlite(migrated, assets=assets)
        assert verify_schema(migrated) == ()


class TestForeignFiles:
    def test_a_database_of_somebody_else_is_refused(self, empty: sqlite3.Connection) -> None:
        """Tables without a ledger of lcm are left alone, even if another tool's ledger has the same name."""
        empty.execute("CREATE TABLE schema_migrations (version TEXT)")

        assert not is_at_head(empty)
        with pytest.raises(MigrationError, match="has tables but no ledger of lcm"):
            migrate_sqlite(empty)

    def test_a_file_that_is_no_database_is_refused_without_naming_it(self, database: Path) -> None:
        """The error says what it is and holds no path."""
        database.write_bytes(b"# notes\n" * 200)

        with closing(sqlite3.connect(database)) as connection:
            for read in (migrate_sqlite, is_at_head, plan, verify_schema, read_state):
                with pytest.raises(StorageError, match="The file is not a database") as caught:
                    read(connection)
                assert str(database) not in str(caught.value)

    def test_a_damaged_file_is_refused(self, migrated: sqlite3.Connection, database: Path) -> None:
        """A broken page of the catalogue is an error of storage, not an empty database."""
        migrated.close()
        data = bytearray(database.read_bytes())
        data[100:2000] = b"\xff" * 1900
        database.write_bytes(data)

        with closing(sqlite3.connect(database)) as connection:
            for read in (is_at_head, migrate_sqlite, verify_schema):
                with pytest.raises(StorageError, match="The database file is damaged"):
                    read(connection)

    def test_a_closed_connection_is_an_error_of_storage(self, empty: sqlite3.Connection) -> None:
        """Errors of the driver itself are translated too."""
        empty.close()

        with pytest.raises(StorageError):
            is_at_head(empty)


class TestPendingSql:
    def test_is_a_script_that_migrates(self, empty: sqlite3.Connection) -> None:
        """Run by hand it gives the same database as the runner."""
        empty.executescript(pending_sql(empty))

        assert is_at_head(empty)
        assert verify_schema(empty) == ()

    def test_is_empty_at_head(self, migrated: sqlite3.Connection) -> None:
        """Nothing pending, nothing to run."""
        assert pending_sql(migrated) == ""


class TestIsAtHead:
    def test_is_false_for_new_older_and_newer_databases(self, empty: sqlite3.Connection, assets: Assets) -> None:
        """Only a ledger that is exactly the manifest is at head."""
        assert not is_at_head(empty)
        migrate_sqlite(empty)
        add_migration(assets)
        assert not is_at_head(empty, assets=assets)
        migrate_sqlite(empty, assets=assets)
        assert not is_at_head(empty)
        assert is_at_head(empty, assets=assets)


class TestImports:
    def test_neither_sqlalchemy_nor_alembic_is_loaded(self) -> None:
        """The runner and the verification are cheap to import."""
        script = (
            "import sys, lcm.migrations.runner, lcm.migrations.verify; print({'sqlalchemy','alembic'} & {*sys.modules})"
        )
        output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

        assert output.strip() == "set()"


def _migrate_when(condition: bool, connection: sqlite3.Connection) -> None:
    if condition:
        migrate_sqlite(connection)
