"""Which transcript files were read to their end, and as what: unchanged ones are not opened again.

A cache and nothing more: it is kept beside the projects, in `seen-files.db`, and any trouble with it only means that
files are looked at again. It never vouches for a project: whoever asks compares what the project itself says.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from lcm.errors import LcmError
from lcm.files.durable import ensure_private_dir
from lcm.files.permissions import open_private

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    locator TEXT NOT NULL, scope TEXT NOT NULL, client TEXT NOT NULL, state TEXT NOT NULL, holders TEXT NOT NULL,
    PRIMARY KEY (locator, scope)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS databases (root TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;
"""
#: Entries are written in short transactions of so many: another process may be importing too.
_FLUSH_AFTER = 64
_BUSY_S = 1.0
#: A file that changed so shortly before may change once more without its times telling: clocks of file systems tick.
_SETTLED_NS = 50_000_000

#: What a project's database is at the moment, as a text that changes with every write; None when nothing can tell.
Mark = Callable[[str], str | None]


class FileState(NamedTuple):
    """What changes when a file does."""

    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Raises `OSError`."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino)

    @property
    def is_settled(self) -> bool:
        return time.time_ns() - max(self.mtime_ns, self.ctime_ns) > _SETTLED_NS


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file that is as it was when it was read to its end.

    Attributes:
        holders: by root, the project's id and the revision of the file's source in it.
    """

    client: str
    holders: dict[str, tuple[str, int]]


class SeenFiles:
    """The cache of one home; `mark_of` tells what a project's database is now."""

    def __init__(self, path: Path, mark_of: Mark) -> None:
        self._path = path
        self._mark_of = mark_of
        self._connection: sqlite3.Connection | None = None
        self._waiting: list[tuple[str, str, str, str, str]] = []
        self._roots: set[str] = set()
        self._same: dict[str, bool] = {}

    def find(self, locator: str, scope: str, state: FileState) -> SeenFile | None:
        """What is known of a file in this state; None when it is new, changed, or nothing can be told.

        `scope` is the project that every session was sent to, empty when each went to its own.
        """
        query = "SELECT client, holders FROM files WHERE locator = ? AND scope = ? AND state = ?"
        row = self._row(query, (locator, scope, json.dumps(state)))
        try:
            return None if row is None else SeenFile(row[0], {root: (a, b) for root, a, b in json.loads(row[1])})
        except (ValueError, TypeError):
            return None

    def is_as_left(self, root: str) -> bool:
        """Whether nobody wrote to the project's database since the last import that used it."""
        if root not in self._same:
            row = self._row("SELECT mark FROM databases WHERE root = ?", (root,))
            self._same[root] = row is not None and row[0] == self._mark_of(root)
        return self._same[root]

    def remember(self, locator: str, scope: str, state: FileState, seen: SeenFile) -> None:
        """Keep what a file was, once it was read to its end."""
        holders = json.dumps([[root, *held] for root, held in seen.holders.items()])
        self._waiting.append((locator, scope, seen.client, json.dumps(state), holders))
        if len(self._waiting) >= _FLUSH_AFTER:
            self._flush()

    def note_use(self, root: str) -> None:
        """The project was opened: what its database is afterwards is kept by `close`."""
        self._roots.add(root)

    def close(self) -> None:
        """Write what is to be kept; to be called when the projects are closed, since a mark tells of every write."""
        self._flush([(root, mark) for root in sorted(self._roots) if (mark := self._mark_of(root)) is not None])
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _flush(self, marks: Sequence[tuple[str, str]] = ()) -> None:
        if not self._waiting and not marks:
            return
        files, self._waiting = self._waiting, []
        with suppress(sqlite3.Error, OSError, LcmError):
            if not self._path.exists():
                ensure_private_dir(self._path.parent)
                os.close(open_private(self._path, os.O_RDWR | os.O_CREAT))
            with closing(self._open("rw")) as connection:
                connection.executescript(_SCHEMA)
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", files)
                connection.executemany("INSERT OR REPLACE INTO databases VALUES (?, ?)", marks)
                connection.execute("COMMIT")

    def _row(self, query: str, values: tuple[str, ...]) -> tuple[str, ...] | None:
        try:
            if self._connection is None:
                if not self._path.exists():
                    return None
                self._connection = self._open("ro")
            row: tuple[str, ...] | None = self._connection.execute(query, values).fetchone()
        except sqlite3.OperationalError:
            return None  # another process makes it at this moment, or keeps it busy
        except (sqlite3.Error, OSError):
            self._give_up()
            return None
        return row

    def _give_up(self) -> None:
        """A damaged cache is thrown away: it is made again by what is imported."""
        with suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
        self._connection = None
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _open(self, mode: str) -> sqlite3.Connection:
        uri = f"file:{quote(str(self._path))}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S)
        connection.execute("PRAGMA synchronous = OFF")
        return connection
