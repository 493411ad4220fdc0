"""The schema of selected projects, seen without opening them: what is pending, what drifted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from lcm.clock import Clock, utc_now
from lcm.composition.build import database_path
from lcm.composition.peek import list_databases, read_only_uri
from lcm.composition.selection import ALL, select_root
from lcm.errors import NotFound, StorageUnavailable
from lcm.files.locks import FileLock
from lcm.migrations.findings import Finding
from lcm.migrations.manifest import Migration
from lcm.migrations.runner import MigrationOutcome, migrate_sqlite, pending_sql, plan
from lcm.migrations.verify import verify_schema
from lcm.settings.model import Settings


def select_databases(settings: Settings, selector: str | None, *, cwd: Path) -> list[Path]:
    """Database files of the selected projects, also those that cannot be opened.

    Raises:
        NotFound: nothing is stored for what was named.
    """
    if selector == ALL:
        return list_databases(settings)
    path = database_path(settings, select_root(settings, selector, cwd=cwd))
    if not path.exists():
        raise NotFound("Nothing is stored for that project yet; run `lcm import`, or name one with --project.")
    return [path]


def pending_of(path: Path) -> tuple[Migration, ...]:
    with _reading(path) as connection:
        return plan(connection)


def pending_sql_of(path: Path) -> str:
    with _reading(path) as connection:
        return pending_sql(connection)


def drift_of(path: Path) -> tuple[Finding, ...]:
    with _reading(path) as connection:
        return verify_schema(connection)


async def migrate(path: Path, *, clock: Clock = utc_now) -> MigrationOutcome:
    """Apply what is pending while no other process writes."""
    async with FileLock(path.with_name(path.name + ".lock")).hold():
        with closing(_connect(f"file:{quote(str(path))}?mode=rw")) as connection:
            return migrate_sqlite(connection, clock=clock)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(_connect(read_only_uri(path))) as connection:
        yield connection


def _connect(uri: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=15.0)
    except sqlite3.Error:
        raise StorageUnavailable("The project database cannot be opened; check its folder.") from None
