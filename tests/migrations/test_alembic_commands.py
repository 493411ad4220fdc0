"""Alembic against a SQLite file: it calls the same runner, reads, and refuses the rest."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import CommandLine, Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from lcm.errors import MigrationError
from lcm.migrations import shims
from lcm.migrations.assets import find_assets
from lcm.migrations.ledger import read_state
from lcm.migrations.manifest import load_manifest
from lcm.migrations.verify import verify_schema

_INI = find_assets().alembic.parent / "alembic.ini"


@pytest.fixture
def config(database: Path) -> Config:
    config = Config(_INI, stdout=io.StringIO())
    config.set_main_option("sqlalchemy.url", f"sqlite:///{database}".replace("%", "%%"))
    return config


def printed(config: Config) -> str:
    assert isinstance(config.stdout, io.StringIO)
    return config.stdout.getvalue().strip()


class TestUpgrade:
    @pytest.mark.parametrize("revision", ["head", "heads", "0002"])
    def test_is_lcms_own_migration(self, config: Config, database: Path, revision: str) -> None:
        """Ledger and version table both know the revision, and a second run does nothing."""
        command.upgrade(config, revision)
        command.upgrade(config, revision)

        with closing(sqlite3.connect(database)) as connection:
            assert read_state(connection).head == "0002"
            assert verify_schema(connection) == ()

    def test_takes_the_file_from_the_command_line(self, database: Path) -> None:
        """`-x db=PATH` names the database."""
        CommandLine().main(["-c", str(_INI), "-x", f"db={database}", "upgrade", "head"])

        with closing(sqlite3.connect(database)) as connection:
            assert verify_schema(connection) == ()

    def test_reports_an_error_of_the_runner_as_its_own(self, config: Config, empty: sqlite3.Connection) -> None:
        """A foreign database is one sentence, not a traceback."""
        empty.execute("CREATE TABLE notes (a)")

        with pytest.raises(CommandError, match="has tables but no ledger of lcm"):
            command.upgrade(config, "head")

    def test_goes_to_head_only(self, config: Config) -> None:
        """A relative revision is refused."""
        with pytest.raises(CommandError, match="use `alembic upgrade head`"):
            command.upgrade(config, "+1")

    def test_needs_a_database(self) -> None:
        """Without one the person is told how to name it."""
        with pytest.raises(CommandError, match="No database given"):
            command.upgrade(Config(_INI), "head")

    def test_does_not_print_sql(self, config: Config) -> None:
        """Alembic's offline mode is refused."""
        with pytest.raises(CommandError, match="use `lcm migrate --sql`"):
            command.upgrade(config, "head", sql=True)


class TestRefusals:
    def test_downgrade_and_stamp_change_nothing(self, config: Config, migrated: sqlite3.Connection) -> None:
        """Each refuses with one sentence."""
        with pytest.raises(CommandError, match="does not downgrade or stamp"):
            command.downgrade(config, "base")
        with pytest.raises(CommandError, match="does not downgrade or stamp"):
            command.stamp(config, "base")
        with pytest.raises(CommandError, match="does not downgrade or stamp"):
            command.stamp(config, "head", purge=True)
        with pytest.raises(CommandError, match="does not downgrade or stamp"):
            command.ensure_version(config)

        assert verify_schema(migrated) == ()

    def test_a_revision_file_runs_nothing_itself(self) -> None:
        """Called without lcm's environment it refuses."""
        with pytest.raises(MigrationError, match="lcm migrate"):
            shims.upgrade()
        with pytest.raises(MigrationError, match="does not downgrade"):
            shims.downgrade()


class TestReading:
    def test_check_finds_no_difference_after_migration(self, config: Config, migrated: sqlite3.Connection) -> None:
        """The metadata and a migrated database agree, full-text tables and foreign tables aside."""
        migrated.execute("CREATE TABLE notes (a)")
        command.check(config)

        assert printed(config) == "No new upgrade operations detected."

    def test_check_finds_an_added_column(self, config: Config, migrated: sqlite3.Connection) -> None:
        """A difference is not filtered away."""
        migrated.execute("ALTER TABLE machines ADD COLUMN colour TEXT")

        with pytest.raises(CommandError, match="colour"):
            command.check(config)

    def test_check_leaves_an_empty_database_empty(self, config: Config, empty: sqlite3.Connection) -> None:
        """Reading commands do not create Alembic's table."""
        with pytest.raises(CommandError, match="not up to date"):
            command.check(config)

        assert read_state(empty).is_empty

    def test_current_shows_the_revision(self, config: Config, migrated: sqlite3.Connection) -> None:
        """The runner's row is what Alembic reads."""
        command.current(config)

        assert printed(config) == "0002 (head)"

    def test_heads_and_history_need_no_database(self) -> None:
        """They read the revision files only."""
        config = Config(_INI, stdout=io.StringIO())
        command.heads(config)
        command.history(config)

        assert printed(config).splitlines()[0] == "0002 (head)"
        assert "0001 -> 0002 (head), Compaction state" in printed(config)


class TestRevisionChain:
    def test_is_the_order_of_the_manifest(self) -> None:
        """The revision files chain the ids of each dialect's manifest in its order."""
        script = ScriptDirectory.from_config(Config(_INI))
        chain = [revision.revision for revision in script.walk_revisions()][::-1]

        assert [migration.id for migration in load_manifest("sqlite")] == chain
        assert [migration.id for migration in load_manifest("postgresql")] == chain[: len(load_manifest("postgresql"))]
