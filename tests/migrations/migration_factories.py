"""Further migrations for copies of the assets, and rows and tables changed behind lcm's back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from lcm.migrations.assets import Assets
from lcm.migrations.fingerprints.document import render_fingerprint
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.manifest import load_manifest, read_sql, sha256_hex

ADD_COLUMN = "ALTER TABLE machines ADD COLUMN colour TEXT;"


def add_migration(assets: Assets, sql: str = ADD_COLUMN) -> str:
    """Appends a migration with its hash and fingerprint; returns its id."""
    manifest = json.loads(assets.manifest.read_text())
    migration_id = f"{len(manifest['sqlite']) + 1:04}"
    file = f"sqlite/{migration_id}.sql"
    (assets.sql / file).write_text(sql)
    manifest["sqlite"].append({"id": migration_id, "effect": "test", "file": file, "sha256": sha256_hex(sql.encode())})
    assets.manifest.write_text(json.dumps(manifest))
    write_fingerprint(assets, migration_id)
    return migration_id


def keep_migrations(assets: Assets, count: int) -> None:
    """Makes the assets those of an older lcm, which knew only the first `count` migrations."""
    manifest = json.loads(assets.manifest.read_text())
    manifest["sqlite"] = manifest["sqlite"][:count]
    assets.manifest.write_text(json.dumps(manifest))


def accept_changed_files(assets: Assets) -> None:
    """Writes the hashes of the SQL files as they are now into the manifest."""
    manifest = json.loads(assets.manifest.read_text())
    for entry in manifest["sqlite"]:
        entry["sha256"] = sha256_hex((assets.sql / entry["file"]).read_bytes())
    assets.manifest.write_text(json.dumps(manifest))


def write_fingerprint(assets: Assets, migration_id: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in load_manifest("sqlite", assets):
            connection.executescript(read_sql(migration, assets))
        text = render_fingerprint("sqlite", migration_id, inventory(connection))
    assets.fingerprint("sqlite", migration_id).write_text(text)


def insert_project(connection: sqlite3.Connection, project_id: bytes = b"p" * 16) -> None:
    connection.execute("INSERT INTO projects VALUES (?, 'name', ?, 0, 0)", (project_id, b"s" * 32))
    connection.commit()


def insert_conversation(connection: sqlite3.Connection, project_id: bytes = b"p" * 16) -> None:
    connection.execute(
        "INSERT INTO conversations (project_id, conversation_key, session_id, client, relation, context_revision,"
        " created_at, updated_at) VALUES (?, ?, 'session', 'claude', 'root', 0, 0, 0)",
        (project_id, b"c" * 16),
    )
    connection.commit()


def edit_ledger(connection: sqlite3.Connection, statement: str) -> None:
    """Runs a statement on the ledger as somebody would who removes its guards and puts them back."""
    guards = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'schema_migrations'"
    ).fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    for _, sql in guards:
        connection.execute(sql)
    connection.commit()


def redefine_table(connection: sqlite3.Connection, table: str, old: str, new: str) -> None:
    """Creates an empty table again with one piece of its SQL replaced, its indexes and triggers as they were."""
    (create,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    attached = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND type <> 'table' AND sql IS NOT NULL", (table,)
    ).fetchall()
    assert old in create
    connection.execute(f"DROP TABLE {table}")
    connection.execute(create.replace(old, new))
    for (sql,) in attached:
        connection.execute(sql)
    connection.commit()
