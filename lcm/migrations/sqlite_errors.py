"""The one translation of SQLite's errors while the schema is read or migrated, keyed on the result code."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from lcm.errors import LcmError, StorageError, StorageUnavailable

_PRIMARY_CODE = 0xFF

_UNREADABLE = "The database file cannot be read or written; check its permissions and its disk."
_BUSY = "Another process is using the database; try again."

_ERRORS: dict[int, tuple[type[StorageError], str]] = {
    sqlite3.SQLITE_NOTADB: (StorageError, "The file is not a database; move it away or restore a backup."),
    sqlite3.SQLITE_CORRUPT: (StorageError, "The database file is damaged; restore a backup."),
    sqlite3.SQLITE_BUSY: (StorageUnavailable, _BUSY),
    sqlite3.SQLITE_LOCKED: (StorageUnavailable, _BUSY),
    sqlite3.SQLITE_FULL: (StorageUnavailable, "The disk is full; free some space and try again."),
    sqlite3.SQLITE_CANTOPEN: (StorageUnavailable, _UNREADABLE),
    sqlite3.SQLITE_IOERR: (StorageUnavailable, _UNREADABLE),
    sqlite3.SQLITE_PERM: (StorageUnavailable, _UNREADABLE),
    sqlite3.SQLITE_READONLY: (StorageUnavailable, _UNREADABLE),
}


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None when the driver raised the error itself."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


def is_about_the_file(error: sqlite3.Error) -> bool:
    """True when the file or the disk is at fault, not the statement."""
    return primary_code(error) in _ERRORS


def to_lcm_error(error: sqlite3.Error) -> LcmError:
    kind, message = _ERRORS.get(primary_code(error) or 0, (StorageError, None))
    return kind(message, backend="sqlite")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Errors of the driver leave as errors of lcm."""
    try:
        yield
    except sqlite3.Error as error:
        raise to_lcm_error(error) from None
