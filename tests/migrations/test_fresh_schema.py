"""The frozen SQL equals the metadata, and what the metadata cannot say behaves as intended."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, make_url
from sqlalchemy.schema import CreateIndex, CreateTable

from lcm.migrations.assets import find_assets
from lcm.migrations.fingerprints.compare import compare_schemas
from lcm.migrations.fingerprints.document import load_fingerprint, render_fingerprint
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.manifest import load_manifest, read_sql
from lcm.migrations.splitting import split_statements
from lcm.tables.metadata import declare
from tests.migrations.migration_factories import insert_conversation, insert_project

_REGENERATE = "run `python ops/freeze_migration.py` and review what it wrote"


class TestFrozenSql:
    def test_is_the_metadata_and_full_text_indexes_and_triggers(
        self, migrated: sqlite3.Connection, tmp_path: Path
    ) -> None:
        """Tables made by the metadata and by the frozen SQL have one inventory."""
        other = tmp_path / "metadata.sqlite"
        declare(None).metadata.create_all(create_engine(f"sqlite:///{other}", poolclass=NullPool))
        with closing(sqlite3.connect(other)) as connection:
            expected = inventory(connection)

        frozen = [o for o in inventory(migrated) if o.kind not in ("fts", "trigger")]
        assert frozen == list(expected), _REGENERATE

    def test_has_the_pinned_fingerprint(self, migrated: sqlite3.Connection) -> None:
        """The newest fingerprint file is the text of a new database's inventory."""
        head = load_manifest("sqlite")[-1].id
        pinned = find_assets().fingerprint("sqlite", head).read_text(encoding="utf-8")

        assert render_fingerprint("sqlite", head, inventory(migrated)) == pinned, _REGENERATE

    def test_leaves_transactions_and_settings_to_the_runner(self) -> None:
        """No statement begins or ends a transaction or sets a PRAGMA."""
        bodies = [read_sql(migration) for migration in load_manifest("sqlite")]
        statements = [re.sub(r"--[^\n]*\n|\s", "", s) for body in bodies for s in split_statements(body)]

        forbidden = ("begin", "commit", "end", "rollback", "savepoint", "release", "pragma", "attach", "vacuum")
        assert [s for s in statements if s.lower().startswith(forbidden)] == []

    def test_a_parsed_fingerprint_equals_the_inventory_it_was_made_of(self, migrated: sqlite3.Connection) -> None:
        """Nothing is lost on the way to the file and back."""
        expected = load_fingerprint("sqlite", "0002", find_assets())

        assert expected == inventory(migrated)
        assert compare_schemas(expected, inventory(migrated)) == ()


class TestDdl:
    @pytest.mark.parametrize(("schema", "url"), [(None, "sqlite://"), ("lcm", "postgresql+psycopg://")])
    def test_every_table_and_index_compiles(self, schema: str | None, url: str) -> None:
        """The metadata can be rendered for both dialects."""
        dialect = make_url(url).get_dialect()()
        metadata = declare(schema).metadata
        tables = [str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables]
        indexes = [
            str(CreateIndex(i).compile(dialect=dialect)) for table in metadata.sorted_tables for i in table.indexes
        ]

        assert all("CREATE TABLE" in statement for statement in tables)
        assert all(re.match("CREATE (UNIQUE )?INDEX", statement) for statement in indexes)


class TestFullText:
    @pytest.mark.parametrize("table", ["messages_fts", "summaries_fts"])
    def test_finds_stems_without_accents_and_no_deleted_row(self, migrated: sqlite3.Connection, table: str) -> None:
        """`cafe` finds `Cafés`; the 'delete' command with the old values takes the row out."""
        migrated.execute(f"INSERT INTO {table}(rowid, words, cjk) VALUES (7, 'Cafés running', '東京 京都')")

        assert migrated.execute(f"SELECT rowid FROM {table}('words:cafe words:run cjk:東京')").fetchall() == [(7,)]
        migrated.execute(
            f"INSERT INTO {table}({table}, rowid, words, cjk) VALUES ('delete', 7, 'Cafés running', '東京 京都')"
        )
        assert migrated.execute(f"SELECT rowid FROM {table}('words:cafe')").fetchall() == []


class TestTriggers:
    @pytest.mark.parametrize(("upper", "merged"), [("b", "b2"), ("a", "b"), ("b", "c")])
    def test_a_summary_merges_less_deep_ones_only(self, migrated: sqlite3.Connection, upper: str, merged: str) -> None:
        """Edges to an equally deep or deeper summary are refused, so no cycle can be stored."""
        _insert_summaries(migrated, {"a": 0, "b": 1, "b2": 1, "c": 2})

        with pytest.raises(sqlite3.IntegrityError, match="lcm: a summary merges less deep ones"):
            _link(migrated, upper, merged)

    def test_a_deeper_summary_may_merge_any_shallower_one(self, migrated: sqlite3.Connection) -> None:
        """Depth 2 over depth 1 and depth 0 is stored."""
        _insert_summaries(migrated, {"a": 0, "b": 1, "c": 2})

        _link(migrated, "c", "b")
        _link(migrated, "c", "a")

    @pytest.mark.parametrize(
        "column", ["message_id", "project_id", "conversation_id", "seq", "role", "ingest_key", "identity_kind"]
    )
    def test_the_identity_of_a_message_does_not_change(self, migrated: sqlite3.Connection, column: str) -> None:
        """Each column of the identity refuses an update."""
        _insert_message(migrated)

        with pytest.raises(sqlite3.IntegrityError, match="lcm: the identity of a message does not change"):
            migrated.execute(f"UPDATE messages SET {column} = {column}")

    def test_the_text_of_a_message_may_be_redacted(self, migrated: sqlite3.Connection) -> None:
        """Columns outside the identity can be rewritten."""
        _insert_message(migrated)

        assert migrated.execute("UPDATE messages SET content = '[redacted]'").rowcount == 1

    @pytest.mark.parametrize("statement", ["UPDATE schema_migrations SET id = '9'", "DELETE FROM schema_migrations"])
    def test_the_ledger_is_append_only(self, migrated: sqlite3.Connection, statement: str) -> None:
        """Rows of the ledger are neither changed nor removed."""
        with pytest.raises(sqlite3.IntegrityError, match="lcm: the ledger is append-only"):
            migrated.execute(statement)


def _insert_message(connection: sqlite3.Connection) -> None:
    insert_project(connection)
    insert_conversation(connection)
    connection.execute(
        "INSERT INTO messages (project_id, conversation_id, seq, role, content, token_count, occurred_at, created_at,"
        " ingest_key, identity_kind, identity_occurrence, content_sha256)"
        " VALUES (?, 1, 0, 'user', 'hello', 1, 0, 0, ?, 'uuid', 0, ?)",
        (b"p" * 16, b"k" * 32, b"d" * 32),
    )


def _insert_summaries(connection: sqlite3.Connection, depths: dict[str, int]) -> None:
    insert_project(connection)
    insert_conversation(connection)
    rows = [(b"p" * 16, _key(n), f"sum_{n}", "condensed" if d else "leaf", d) for n, d in depths.items()]
    connection.executemany(
        "INSERT INTO summaries (project_id, summary_key, summary_id, conversation_id, kind, depth, content,"
        " token_count, descendant_count, descendant_token_count, source_message_token_count, origin, level, created_at)"
        " VALUES (?, ?, ?, 1, ?, ?, 'text', 1, 0, 0, 0, 'model', 'normal', 0)",
        rows,
    )


def _link(connection: sqlite3.Connection, upper: str, merged: str) -> None:
    (ordinal,) = connection.execute("SELECT count(*) FROM summary_parents").fetchone()
    connection.execute(
        "INSERT INTO summary_parents VALUES (?, 1, ?, ?, ?, 1)", (b"p" * 16, _key(upper), _key(merged), ordinal)
    )


def _key(name: str) -> bytes:
    return name.encode().ljust(16, b"-")
