"""The one place where errors of the SQLite driver become errors of lcm, keyed on the extended result code."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from lcm.errors import IdentityConflict, InvalidInput, LcmError, OutOfRange, StorageError, StorageUnavailable

BACKEND = "sqlite"

_BUSY = "The project database is busy; try again when the other process is done."
_UNAVAILABLE: dict[int, str] = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: "The disk is full; free some space and run the command again. Nothing was lost.",
    sqlite3.SQLITE_READONLY: "The project database is read-only; make its folder writable and try again.",
    sqlite3.SQLITE_CANTOPEN: "The project database cannot be opened; check that its folder exists and is yours.",
    sqlite3.SQLITE_PERM: "The project database may not be opened; check the permissions of its folder.",
    sqlite3.SQLITE_IOERR: "The disk refused to read or write the project database; check it and try again.",
    sqlite3.SQLITE_INTERRUPT: "The statement was interrupted; nothing was written.",
}
_DAMAGED: dict[int, str] = {
    sqlite3.SQLITE_NOTADB: "The project database is not a database; restore it from a backup or move it away.",
    sqlite3.SQLITE_CORRUPT_VTAB: "The search index is damaged; rebuild it and try again.",
    sqlite3.SQLITE_CORRUPT: "The project database is damaged; restore it from a backup or move it away.",
    sqlite3.SQLITE_SCHEMA: "The schema of the project database changed meanwhile; run the command again.",
}
_TAKEN = "This identity is already stored; nothing was written."
_CONSTRAINTS: dict[int, tuple[type[LcmError], str]] = {
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: (IdentityConflict, _TAKEN),
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: (IdentityConflict, _TAKEN),
    sqlite3.SQLITE_CONSTRAINT_ROWID: (IdentityConflict, _TAKEN),
    sqlite3.SQLITE_CONSTRAINT_TRIGGER: (
        IdentityConflict,
        "The change would break what is stored.",
    ),
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: (
        IdentityConflict,
        "Something this refers to is missing, or something else still needs it; nothing was written.",
    ),
    sqlite3.SQLITE_CONSTRAINT_CHECK: (InvalidInput, "A value is outside what its field allows; nothing was written."),
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: (InvalidInput, "A required value is missing; nothing was written."),
}


def translate(error: BaseException, *, project_id: str | None, domain: str) -> BaseException:
    """An error of lcm for one of the driver or the pool; anything else comes back unchanged."""
    if isinstance(error, PoolTimeout):
        return StorageUnavailable(_BUSY, backend=BACKEND, project_id=project_id, domain=domain)
    cause = error.orig if isinstance(error, StatementError) else error
    if isinstance(cause, OverflowError):
        return OutOfRange("integer")
    if not isinstance(cause, sqlite3.Error):
        # A value that could not be bound: SQLAlchemy's error carries the statement.
        return InvalidInput("A value has the wrong type.") if isinstance(error, StatementError) else error
    code = getattr(cause, "sqlite_errorcode", None)
    if code in _CONSTRAINTS:
        kind, message = _CONSTRAINTS[code]
        return kind(message)
    primary = (code or 0) & 0xFF
    if primary in _UNAVAILABLE:
        return StorageUnavailable(_UNAVAILABLE[primary], backend=BACKEND, project_id=project_id, domain=domain)
    return StorageError(
        _DAMAGED.get(code or 0, _DAMAGED.get(primary)), backend=BACKEND, project_id=project_id, domain=domain
    )
