"""Freezes the newest SQLite migration: its generated part, its hash in the manifest and its fingerprint.

    python ops/freeze_migration.py

Run it after a change of `lcm/tables` or of the hand-written part of the SQL, and review the three files as text. It
writes the tables of the metadata that the revision before does not have, and refuses once a tagged release contains the
newest revision: from then on a change of the schema is a new migration, with its own entry in the manifest.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from lcm.migrations.assets import find_assets
from lcm.migrations.fingerprints.document import load_fingerprint, render_fingerprint
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.manifest import Migration, load_manifest, sha256_hex
from lcm.tables.metadata import declare

ASSETS = find_assets()
GENERATED = re.compile(r"(-- The metadata: .*\n)(?:.*\n)*?(\n-- Beyond the metadata: |\Z)")


def new_tables(before: Migration | None) -> list[Table]:
    """Tables of the metadata that the revision before lacks, in the order of their foreign keys."""
    known = {o.name for o in load_fingerprint("sqlite", before.id, ASSETS) if o.kind == "table"} if before else set()
    return [table for table in declare(None).metadata.sorted_tables if table.name not in known]


def render_tables(tables: Sequence[Table]) -> str:
    """CREATE TABLE and CREATE INDEX, tables in the order given."""
    dialect = sqlite.dialect()
    statements: list[str] = []
    for table in tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect)))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    return "\n\n".join(f"{tidy(statement)};" for statement in statements)


def tidy(statement: str) -> str:
    lines = statement.strip().expandtabs(4).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def is_released(path: Path) -> bool:
    """Whether a tag of this checkout holds the file."""
    root = ASSETS.alembic.parent
    tags = subprocess.run(["git", "tag", "--list", "v*"], cwd=root, capture_output=True, text=True, check=True)
    names = [f"{tag}:{path.relative_to(root).as_posix()}" for tag in tags.stdout.split()]
    return any(subprocess.run(["git", "cat-file", "-e", n], cwd=root, check=False).returncode == 0 for n in names)


def write_fingerprint(migrations: Sequence[Migration]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in migrations:
            connection.executescript((ASSETS.sql / migration.file).read_text(encoding="utf-8"))
        text = render_fingerprint("sqlite", migrations[-1].id, inventory(connection))
    ASSETS.fingerprint("sqlite", migrations[-1].id).write_text(text, encoding="utf-8")


def write_manifest(newest: Migration, sql: str) -> None:
    manifest = json.loads(ASSETS.manifest.read_bytes())
    for entry in manifest["sqlite"]:
        if entry["id"] == newest.id:
            entry["sha256"] = sha256_hex(sql.encode())
    ASSETS.manifest.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    migrations = load_manifest("sqlite", ASSETS)
    newest = migrations[-1]
    path = ASSETS.sql / newest.file
    if is_released(path):
        print(f"{newest.id} is released; write a new migration instead.", file=sys.stderr)
        return 1
    generated = render_tables(new_tables(migrations[-2] if len(migrations) > 1 else None))
    sql = GENERATED.sub(lambda match: f"{match[1]}\n{generated}\n{match[2]}", path.read_text(encoding="utf-8"))
    path.write_text(sql, encoding="utf-8")
    write_manifest(newest, sql)
    write_fingerprint(migrations)
    print(f"Wrote {newest.id}.sql, manifest.json and {newest.id}.json; review them as text.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
