"""Whose a database file is, read without opening the project and without leaving a trace beside the file."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lcm.errors import NotFound
from lcm.settings.model import Settings
from lcm.storage.sqlite.factory import DATABASE_NAME

_OWNER = (
    "SELECT p.project_id, a.path FROM projects AS p"
    " JOIN project_aliases AS a ON a.project_id = p.project_id ORDER BY a.linked_at, a.path LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """The project of a file; `root` is its folder as first seen."""

    project_id: uuid.UUID
    root: str


def list_databases(settings: Settings) -> list[Path]:
    """The database files of all projects, also those that cannot be opened, sorted."""
    projects = settings.home / "projects"
    return sorted(projects.glob(f"*/{DATABASE_NAME}")) if projects.is_dir() else []


def find_owner(path: Path) -> Owner | None:
    """None when the file does not tell: damaged, not a database, of an older or newer schema."""
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            row = connection.execute(_OWNER).fetchone()
        return Owner(uuid.UUID(bytes=row[0]), str(row[1])) if row else None
    except (sqlite3.Error, ValueError, TypeError):
        return None


def find_root(settings: Settings, project_id: uuid.UUID) -> str:
    """The root of the project with this id.

    Raises:
        NotFound: no readable file is of it.
    """
    for _, owner in iter_owners(settings):
        if owner.project_id == project_id:
            return owner.root
    raise NotFound("No project has this id; list them with `lcm stats --project all`.")


def iter_owners(settings: Settings) -> Iterator[tuple[Path, Owner]]:
    """Files that tell whose they are, sorted."""
    for path in list_databases(settings):
        owner = find_owner(path)
        if owner is not None:
            yield path, owner


def read_only_uri(path: Path) -> str:
    """Without a log beside it nobody has the file open, and `immutable` keeps SQLite from making files next to it."""
    is_idle = not path.with_name(path.name + "-wal").exists()
    return f"file:{quote(str(path))}?mode=ro" + ("&immutable=1" if is_idle else "")
