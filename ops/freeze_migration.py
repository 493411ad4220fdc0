"""Freezes the newest SQLite migration: its generated part, its hash in the manifest and its fingerprint.

    python ops/freeze_migration.py

Run it after a change of `lcm/tables` or of the hand-written part of the SQL, and review the three files as text. It
rewrites 0001, the only revision that is rendered from the metadata, and refuses once a tagged release contains it:
from then on a change of the schema is a new migration.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from lcm.migrations.assets import find_assets
from lcm.migrations.fingerprints.document import render_fingerprint
from lcm.migrations.fingerprints.sqlite import inventory
from lcm.migrations.manifest import sha256_hex
from lcm.tables.metadata import declare

ASSETS = find_assets()
FILE = "sqlite/0001.sql"
GENERATED = re.compile(r"(-- The metadata: .*\n)(?:.*\n)*?(\n-- Beyond the metadata: )")


def render_metadata() -> str:
    """CREATE TABLE and CREATE INDEX of the metadata, in the order of their foreign keys."""
    dialect = sqlite.dialect()
    statements: list[str] = []
    for table in declare(None).metadata.sorted_tables:
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


def write_fingerprint(sql: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql)
        text = render_fingerprint("sqlite", "0001", inventory(connection))
    ASSETS.fingerprint("sqlite", "0001").write_text(text, encoding="utf-8")


def write_manifest(sql: str) -> None:
    manifest = json.loads(ASSETS.manifest.read_bytes())
    for entry in manifest["sqlite"]:
        if entry["file"] == FILE:
            entry["sha256"] = sha256_hex(sql.encode())
    ASSETS.manifest.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    path = ASSETS.sql / FILE
    if is_released(path):
        print("0001 is released; write a new migration instead.", file=sys.stderr)
        return 1
    generated = render_metadata()
    sql = GENERATED.sub(lambda match: f"{match[1]}\n{generated}\n{match[2]}", path.read_text(encoding="utf-8"))
    path.write_text(sql, encoding="utf-8")
    write_manifest(sql)
    write_fingerprint(sql)
    print("Wrote 0001.sql, manifest.json and 0001.json; review them as text.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
