"""The ordered list of migrations of each dialect, and their SQL checked against the SHA-256 it was frozen with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from lcm.errors import ChecksumDrift, MigrationError
from lcm.migrations.assets import Assets, find_assets


@dataclass(frozen=True, slots=True)
class Migration:
    """One frozen step of the schema.

    Attributes:
        id: four digits; ids ascend in the order of the manifest.
        effect: what it does, a few words.
        file: its SQL, relative to `alembic/sql`.
        sha256: of the bytes of that file, in hexadecimal.
    """

    id: str
    effect: str
    file: str
    sha256: str


def load_manifest(dialect: str, assets: Assets | None = None) -> tuple[Migration, ...]:
    """The migrations of a dialect (`sqlite`, `postgresql`), in the order they apply; empty when it has none.

    Raises:
        MigrationError: the manifest cannot be read.
    """
    path = (assets or find_assets()).manifest
    try:
        entries = json.loads(path.read_bytes())
        return tuple(Migration(**entry) for entry in entries.get(dialect, ()))
    except (OSError, ValueError, TypeError, AttributeError):
        raise MigrationError("The migration manifest of lcm cannot be read; install lcm again.") from None


def read_sql(migration: Migration, assets: Assets | None = None) -> str:
    """The SQL of a migration.

    Raises:
        ChecksumDrift: the file is not the one that was frozen, or is missing.
    """
    path = (assets or find_assets()).sql / migration.file
    data = path.read_bytes() if path.is_file() else b""
    if sha256_hex(data) != migration.sha256:
        raise ChecksumDrift(f"The SQL of migration {migration.id} is not the released one; install lcm again.")
    return data.decode()


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
