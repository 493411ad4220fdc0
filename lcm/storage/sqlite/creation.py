"""How a project's database file comes to be: built beside, complete, then linked in; never half visible."""

from __future__ import annotations

import os
import secrets
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lcm.clock import Clock
from lcm.errors import StorageError
from lcm.files.durable import fsync_directory
from lcm.files.permissions import open_private, safe_errors
from lcm.identity.machine import Machine
from lcm.ids import uuid7
from lcm.migrations.runner import is_at_head, migrate_sqlite
from lcm.storage.sqlite.engine import identity_of, require_identity
from lcm.storage.sqlite.errors import translate
from lcm.storage.sqlite.search_index import DERIVATION_VERSION, SEARCH_STATE
from lcm.tables.types import to_microseconds


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """Whose file it is; `search_version` is the derivation its search index was filled with, None when unknown."""

    project_id: uuid.UUID
    root: str
    search_version: int | None


def create_database(path: Path, root: str, machine: Machine, clock: Clock) -> None:
    """Make the file at the head revision with its project; a file that appears meanwhile is left as it is."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    with safe_errors("Creating the project database"):
        os.close(open_private(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        try:
            _build(temporary, root, machine, clock)
            _fsync(temporary)
            _link_in(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        fsync_directory(path.parent)


def finish_creation(path: Path) -> None:
    """Remove the other name of a file whose maker has linked it in but not yet, or never, removed that name."""
    with safe_errors("Opening the project database"):
        found = path.lstat()
        if found.st_nlink == 1:
            return
        for beside in path.parent.glob(f".{path.name}.*.new"):
            if _is_same(beside, found):
                beside.unlink(missing_ok=True)


def prepare_database(path: Path, machine: Machine, clock: Clock) -> ProjectRow:
    """Bring an existing file to the head revision and read whose it is."""
    if path.stat().st_size == 0:
        # A new file is never visible before it is complete: this one lost its content and must not pass for new.
        raise StorageError("The project database is empty; restore it from a backup, or move it away and import again.")
    with _connected(path) as connection:
        if not is_at_head(connection):
            migrate_sqlite(connection, clock=clock)
        _note_machine(connection, machine, clock)
        return _read_project(connection)


def read_project(path: Path) -> ProjectRow:
    """Whose file this is, without changing anything."""
    finish_creation(path)
    with _connected(path) as connection:
        return _read_project(connection)


def _build(path: Path, root: str, machine: Machine, clock: Clock) -> None:
    with _connected(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        migrate_sqlite(connection, clock=clock)
        now = to_microseconds(clock())
        project_id = uuid7().bytes
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "INSERT INTO projects (project_id, display_name, identity_salt, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (project_id, Path(root).name or root, secrets.token_bytes(32), now, now),
        )
        _insert_machine(connection, machine, now)
        connection.execute(
            "INSERT INTO project_aliases (project_id, machine_id, path, normalized_path, linked_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (project_id, machine.machine_id.bytes, root, root, now),
        )
        connection.execute(
            "INSERT INTO search_state (project_id, name, version, updated_at) VALUES (?, ?, ?, ?)",
            (project_id, SEARCH_STATE, DERIVATION_VERSION, now),
        )
        connection.execute("COMMIT")


def _insert_machine(connection: sqlite3.Connection, machine: Machine, now: int) -> None:
    connection.execute(
        "INSERT INTO machines (machine_id, identity_key, registered_at, last_seen_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (machine_id) DO NOTHING",
        (machine.machine_id.bytes, machine.identity_key, now, now),
    )


def _note_machine(connection: sqlite3.Connection, machine: Machine, clock: Clock) -> None:
    """A home copied from another machine meets this one for the first time."""
    query = "SELECT 1 FROM machines WHERE machine_id = ?"
    if connection.execute(query, (machine.machine_id.bytes,)).fetchone() is None:
        _insert_machine(connection, machine, to_microseconds(clock()))


def _read_project(connection: sqlite3.Connection) -> ProjectRow:
    query = (
        "SELECT p.project_id, a.path, s.version FROM projects AS p"
        " JOIN project_aliases AS a ON a.project_id = p.project_id"
        " LEFT JOIN search_state AS s ON s.project_id = p.project_id AND s.name = ?"
        " ORDER BY a.linked_at, a.path"
    )
    row = connection.execute(query, (SEARCH_STATE,)).fetchone()
    if row is None:
        raise StorageError("The project database does not say whose it is; run `lcm verify-schema`.")
    return ProjectRow(project_id=uuid.UUID(bytes=row[0]), root=row[1], search_version=row[2])


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    before = identity_of(path)
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, timeout=15.0)
        try:
            require_identity(path, before)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translate(error, project_id=None, domain="factory") from None


def _is_same(path: Path, expected: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.lstat(), expected)
    except FileNotFoundError:
        return False


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _link_in(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
