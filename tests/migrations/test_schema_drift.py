"""Every kind of tampering is one finding with its kind and object; what is not lcm's is none."""

from __future__ import annotations

import sqlite3

import pytest

from lcm.errors import MigrationError
from lcm.migrations.assets import Assets
from lcm.migrations.findings import Finding
from lcm.migrations.verify import verify_schema
from tests.migrations.migration_factories import add_migration, edit_ledger, redefine_table

_FTS = "content='', tokenize="
_PARENTS = "ON summary_parents (parent_summary_key, conversation_id)"
_LIVE = f"{_PARENTS} WHERE is_live IS 1"
_DESCENDING = "CREATE INDEX ix_messages_occurred ON messages (occurred_at DESC, message_id)"
_OTHER_STYLE = 'create index "ix_messages_occurred" /* again */ on [messages](occurred_at,\n  "message_id")'
_WEAK_TRIGGER = """
    CREATE TRIGGER messages_identity BEFORE UPDATE OF seq ON messages
    BEGIN SELECT RAISE(ABORT, 'lcm: the identity of a message does not change'); END
"""
_ORDINAL_CHECK = "CONSTRAINT ck_summary_large_files_ordinal CHECK (ordinal BETWEEN 0 AND 9007199254740991)"
_PROJECT_REFERENCE = """CONSTRAINT fk_session_ingest_log_project_id FOREIGN KEY(project_id)\
 REFERENCES projects (project_id) ON DELETE RESTRICT,"""


def kinds(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return [(finding.kind, finding.object) for finding in verify_schema(connection)]


class TestTampering:
    @pytest.mark.parametrize(
        ("script", "kind", "name"),
        [
            ("DROP INDEX ix_messages_occurred", "missing_index", "ix_messages_occurred"),
            ("CREATE INDEX mine ON messages (role)", "extra_index", "mine"),
            (
                f"DROP INDEX uq_summary_parents_live; CREATE INDEX uq_summary_parents_live {_LIVE}",
                "changed_index",
                "uq_summary_parents_live",
            ),
            (
                f"DROP INDEX uq_summary_parents_live; CREATE UNIQUE INDEX uq_summary_parents_live {_PARENTS}",
                "changed_index",
                "uq_summary_parents_live",
            ),
            (
                f"DROP INDEX ix_messages_occurred; {_DESCENDING}",
                "changed_index",
                "ix_messages_occurred",
            ),
            ("DROP TRIGGER messages_identity", "missing_trigger", "messages_identity"),
            (
                "CREATE TRIGGER mine AFTER INSERT ON messages BEGIN SELECT 1; END",
                "extra_trigger",
                "mine",
            ),
            (
                f"DROP TRIGGER messages_identity; {_WEAK_TRIGGER}",
                "changed_trigger",
                "messages_identity",
            ),
            ("ALTER TABLE messages ADD COLUMN mood TEXT", "extra_column", "messages.mood"),
            ("ALTER TABLE machines DROP COLUMN display_name", "missing_column", "machines.display_name"),
            ("DROP TABLE summary_large_files", "missing_table", "summary_large_files"),
            (
                "DROP TABLE summary_large_files; CREATE VIEW summary_large_files AS SELECT 1",
                "missing_table",
                "summary_large_files",
            ),
            ("DROP TABLE schema_migrations", "missing_table", "schema_migrations"),
            ("DROP TABLE alembic_version", "missing_table", "alembic_version"),
            ("DROP TABLE messages_fts", "missing_fts", "messages_fts"),
            (
                f"DROP TABLE summaries_fts; CREATE VIRTUAL TABLE summaries_fts USING fts5(words, cjk, {_FTS}'trigram')",
                "changed_fts",
                "summaries_fts",
            ),
            ("DROP TABLE messages_fts_docsize", "changed_fts", "messages_fts"),
            ("UPDATE alembic_version SET version_num = '0009'", "changed_alembic_version", "alembic_version"),
            ("DELETE FROM alembic_version", "missing_alembic_version", "alembic_version"),
        ],
    )
    def test_a_change_by_sql_is_one_finding(
        self, migrated: sqlite3.Connection, script: str, kind: str, name: str
    ) -> None:
        """Dropped, added and altered objects."""
        migrated.executescript(script)

        assert kinds(migrated) == [(kind, name)]

    @pytest.mark.parametrize(
        ("table", "old", "new", "expected"),
        [
            ("redaction_counters", "'built_in', ", "", ("changed_check", "ck_redaction_counters_category")),
            (
                "summary_large_files",
                f",\n    {_ORDINAL_CHECK}",
                "",
                ("missing_check", "ck_summary_large_files_ordinal"),
            ),
            (
                "session_ingest_log",
                _PROJECT_REFERENCE,
                "",
                ("missing_foreign_key", "fk_session_ingest_log_project_id"),
            ),
            (
                "search_state",
                "ON DELETE RESTRICT",
                "ON DELETE CASCADE",
                ("changed_foreign_key", "fk_search_state_project_id"),
            ),
            (
                "machines",
                "display_name TEXT",
                "display_name TEXT DEFAULT 'x'",
                ("changed_column", "machines.display_name"),
            ),
            (
                "machines",
                "identity_key TEXT NOT NULL",
                "identity_key TEXT",
                ("changed_column", "machines.identity_key"),
            ),
            ("machines", "display_name TEXT", "display_name BLOB", ("changed_column", "machines.display_name")),
            (
                "machines",
                "display_name TEXT",
                "display_name TEXT COLLATE NOCASE",
                ("changed_column", "machines.display_name"),
            ),
            (
                "machines",
                ",\n    CONSTRAINT uq_machines_identity_key UNIQUE (identity_key)",
                "",
                ("missing_unique", "uq_machines_identity_key"),
            ),
            (
                "project_aliases",
                "PRIMARY KEY (machine_id, normalized_path)",
                "PRIMARY KEY (machine_id)",
                ("changed_primary_key", "pk_project_aliases"),
            ),
            ("search_state", "RESTRICT\n)", "RESTRICT\n) WITHOUT ROWID", ("changed_table", "search_state")),
        ],
    )
    def test_a_redefined_table_is_one_finding(
        self, migrated: sqlite3.Connection, table: str, old: str, new: str, expected: tuple[str, str]
    ) -> None:
        """Checks, foreign keys, defaults, nullability, types, collations, keys and table options."""
        redefine_table(migrated, table, old, new)

        assert kinds(migrated) == [expected]

    def test_a_renamed_column_is_missing_and_extra(self, migrated: sqlite3.Connection) -> None:
        """The old name is missing, the new one unknown."""
        migrated.execute("ALTER TABLE conversations RENAME COLUMN title TO heading")

        assert kinds(migrated) == [("extra_column", "conversations.heading"), ("missing_column", "conversations.title")]

    def test_a_constraint_beside_an_added_column_is_found_too(self, migrated: sqlite3.Connection) -> None:
        """A reference written with the column has no name; it is named by its column."""
        migrated.execute("ALTER TABLE machines ADD COLUMN project BLOB REFERENCES projects")

        assert kinds(migrated) == [("extra_column", "machines.project"), ("extra_foreign_key", "machines(project)")]

    @pytest.mark.parametrize(
        ("statement", "kind", "name"),
        [
            (
                f"UPDATE schema_migrations SET checksum_sha256 = '{'0' * 64}' WHERE id = '0002'",
                "changed_ledger_row",
                "0002",
            ),
            ("DELETE FROM schema_migrations WHERE id = '0001'", "missing_ledger_row", "0001"),
            (f"INSERT INTO schema_migrations VALUES ('0000', '{'0' * 64}', 0)", "extra_ledger_row", "0000"),
        ],
    )
    def test_an_edited_ledger_is_found(
        self, migrated: sqlite3.Connection, statement: str, kind: str, name: str
    ) -> None:
        """Even when its guards were put back."""
        edit_ledger(migrated, statement)

        assert kinds(migrated) == [(kind, name)]

    def test_several_changes_are_several_findings(self, migrated: sqlite3.Connection) -> None:
        """Findings are ordered by table, kind and name; the ledger comes last."""
        migrated.executescript("DROP TABLE messages_fts; DROP INDEX ix_messages_occurred; DELETE FROM alembic_version")

        assert [finding.kind for finding in verify_schema(migrated)] == [
            "missing_index",
            "missing_fts",
            "missing_alembic_version",
        ]


class TestFinding:
    def test_names_only_what_differs(self, migrated: sqlite3.Connection) -> None:
        """Expected and found hold the facts that differ, and the remedy says what to do."""
        redefine_table(migrated, "machines", "identity_key TEXT NOT NULL", "identity_key TEXT")

        assert verify_schema(migrated) == (
            Finding(
                kind="changed_column",
                object="machines.identity_key",
                expected="not_null: yes; sql: text not null",
                found="not_null: no; sql: text",
                remedy="Restore the database from a backup.",
            ),
        )


class TestBoundary:
    @pytest.mark.parametrize(
        "script",
        [
            "CREATE TABLE notes (a); CREATE INDEX ix_notes ON notes (a); CREATE VIEW seen AS SELECT a FROM notes",
            "CREATE VIRTUAL TABLE notes USING fts5(text)",
            "ANALYZE",
            f"DROP INDEX ix_messages_occurred; {_OTHER_STYLE}",
        ],
    )
    def test_what_is_not_attached_to_a_managed_table_is_no_finding(
        self, migrated: sqlite3.Connection, script: str
    ) -> None:
        """Tables and views of somebody else, SQLite's own tables, another way of writing the same."""
        migrated.executescript(script)

        assert verify_schema(migrated) == ()

    def test_a_pending_migration_is_told(self, migrated: sqlite3.Connection, assets: Assets) -> None:
        """A database of an older lcm is compared with its own revision."""
        add_migration(assets)

        assert [(f.kind, f.object, f.remedy) for f in verify_schema(migrated, assets=assets)] == [
            ("pending_migration", "0003", "Run `lcm migrate`.")
        ]

    @pytest.mark.parametrize("script", ["", "CREATE TABLE messages (a)"])
    def test_a_database_that_is_not_lcms_cannot_be_verified(self, empty: sqlite3.Connection, script: str) -> None:
        """An empty database, or one where a table has one of our names by chance."""
        empty.executescript(script)

        with pytest.raises(MigrationError, match="empty or not lcm's"):
            verify_schema(empty)

    def test_reads_inside_the_callers_transaction(self, migrated: sqlite3.Connection) -> None:
        """An uncommitted change is seen, and stays uncommitted."""
        migrated.execute("BEGIN")
        migrated.execute("DROP INDEX ix_messages_occurred")

        assert kinds(migrated) == [("missing_index", "ix_messages_occurred")]
        assert migrated.in_transaction
