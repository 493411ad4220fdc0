"""Which project each session went to, remembered per home: what the disk looks like later moves no session.

A session's working directory may be a linked worktree that is removed, or a folder that is renamed: looked at again, it
would name another project, and an unchanged transcript would be stored twice.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from lcm.errors import StorageError, StorageUnavailable
from lcm.files.durable import ensure_private_dir
from lcm.files.permissions import open_private

_SCHEMA = """
CREATE TABLE IF NOT EXISTS session_roots (
    client TEXT NOT NULL, session_id TEXT NOT NULL, root TEXT NOT NULL, PRIMARY KEY (client, session_id)
)
"""


class KnownRoots:
    """The file `sources.db` of a home. With `is_read_only` nothing is written, and what is learnt is kept in memory."""

    def __init__(self, path: Path, *, is_read_only: bool = False) -> None:
        self._path = path
        self._is_read_only = is_read_only
        self._seen: dict[tuple[str, str], str] = {}

    def find(self, client: str, session_id: str) -> str | None:
        """The root a session went to first, None for a new one."""
        if (client, session_id) not in self._seen and self._path.exists():
            query = "SELECT root FROM session_roots WHERE client = ? AND session_id = ?"
            with self._opened("ro") as connection:
                row = connection.execute(query, (client, session_id)).fetchone()
            if row is not None:
                self._seen[client, session_id] = row[0]
        return self._seen.get((client, session_id))

    def remember(self, client: str, session_id: str, root: str) -> str:
        """Keep a session's root; the one that is kept already stays, and is returned."""
        known = self.find(client, session_id)
        if known is not None:
            return known
        self._seen[client, session_id] = root
        if not self._is_read_only:
            self._write(client, session_id, root)
        return root

    def _write(self, client: str, session_id: str, root: str) -> None:
        ensure_private_dir(self._path.parent)
        if not self._path.exists():
            os.close(open_private(self._path, os.O_RDWR | os.O_CREAT))
        with self._opened("rw") as connection:
            connection.execute(_SCHEMA)
            connection.execute("INSERT OR IGNORE INTO session_roots VALUES (?, ?, ?)", (client, session_id, root))

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        uri = f"file:{quote(str(self._path))}?mode={mode}"
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=15.0)) as connection:
                yield connection
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no table yet: another process is making it
                raise StorageUnavailable("The list of known sessions is being made; try again.") from None
            raise StorageUnavailable("The list of known sessions cannot be read or written; check the home.") from None
        except sqlite3.DatabaseError:
            raise StorageError("The list of known sessions (sources.db) is damaged; move it away.") from None
