"""Where the frozen SQL and the schema fingerprints lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lcm.errors import MigrationError

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Assets:
    """The two folders that ship with lcm.

    Attributes:
        alembic: holds `env.py`, `versions/`, `sql/<dialect>/<id>.sql` and `sql/manifest.json`.
        fingerprints: holds `<dialect>/<id>.json`.
    """

    alembic: Path
    fingerprints: Path

    @property
    def sql(self) -> Path:
        return self.alembic / "sql"

    @property
    def manifest(self) -> Path:
        return self.sql / "manifest.json"

    def fingerprint(self, dialect: str, migration_id: str) -> Path:
        return self.fingerprints / dialect / f"{migration_id}.json"


def find_assets(package: Path = _PACKAGE) -> Assets:
    """The assets that belong to the package folder.

    Raises:
        MigrationError: they are missing.
    """
    bundled = package / "_assets"
    root = bundled if bundled.is_dir() else package.parent
    assets = Assets(alembic=root / "alembic", fingerprints=root / "schema_fingerprints")
    if not assets.manifest.is_file():
        raise MigrationError("The migration files of lcm are missing; install lcm again.")
    return assets
