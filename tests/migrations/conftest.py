"""A migrated SQLite file, a copy of the shipped assets, and a real PostgreSQL."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lcm.migrations.assets import Assets, find_assets
from lcm.migrations.runner import migrate_sqlite
from tests.postgresql_server import running_server


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "db.sqlite"


@pytest.fixture
def empty(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database)) as connection:
        yield connection


@pytest.fixture
def migrated(empty: sqlite3.Connection) -> sqlite3.Connection:
    migrate_sqlite(empty)
    return empty


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    """A copy that a test may change."""
    shipped = find_assets()
    copy = Assets(alembic=tmp_path / "alembic", fingerprints=tmp_path / "schema_fingerprints")
    shutil.copytree(shipped.alembic, copy.alembic)
    shutil.copytree(shipped.fingerprints, copy.fingerprints)
    return copy


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """SQLAlchemy URL of a PostgreSQL 18 that is empty when the session starts."""
    with running_server() as url:
        yield url
