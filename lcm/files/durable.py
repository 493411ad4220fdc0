"""Private files that a crash leaves whole or absent: exclusive creation, atomic replacement, safe reading.

Locks of lcm order the writers of lcm only. Nothing here claims to compare and swap a path against an editor of the same
user; who needs conditional replacement builds a protocol of its own.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcm.errors import InvalidInput, StorageError
from lcm.files.permissions import PRIVATE_DIR_MODE, PRIVATE_FILE_MODE, open_private, require_replaceable, safe_errors

MAX_REPLACED_BYTES = 64 * 1024 * 1024


def write_private(
    path: Path,
    data: bytes,
    *,
    require_absent: bool = False,
    max_replaced_bytes: int = MAX_REPLACED_BYTES,
    **legacy: object,
) -> None:
    """Write a file of mode 0600 so that a crash leaves the old file or the new one, whole and on disk.

    Args:
        path: the parent folder must exist; see `ensure_private_dir`.
        data: all of the file.
        require_absent: create by an exclusive hard link and never replace; else check what is there and rename over it.
        max_replaced_bytes: a larger existing file is refused.
        legacy: options of earlier protocols (`expected_content_sha256`); any of them is refused, even as None.

    Raises:
        InvalidInput: a legacy option was given; nothing was opened or written.
        StorageUnavailable: disk full or read-only.
        StorageError: the file exists (`require_absent`), is unsafe to replace, or the system refused.

    Source: architecture.md, "Portable durable file writes".
    """
    if legacy:
        raise InvalidInput("Conditional replacement of a file is not supported; write without that option.")
    if require_absent:
        if not create_private(path, data):
            raise StorageError("The file exists already; nothing was written.")
        return
    with safe_errors("Writing the file"):
        require_replaceable(path, max_bytes=max_replaced_bytes)
        with _written_beside(path, data) as candidate:
            candidate.replace(path)
            fsync_directory(path.parent)


def create_private(path: Path, data: bytes) -> bool:
    """Create a file of mode 0600 with all of `data`, atomically; False (and no change) when anything stands at `path`.

    Raises:
        StorageUnavailable: disk full or read-only. StorageError: the system refused.
    """
    with safe_errors("Creating the file"), _written_beside(path, data) as candidate:
        try:
            os.link(candidate, path, follow_symlinks=False)
        except FileExistsError:
            return False
        candidate.unlink()
        fsync_directory(path.parent)
        return True


@contextmanager
def _written_beside(path: Path, data: bytes) -> Iterator[Path]:
    """A complete, fsynced temporary file in the same folder; removed at the end if it still has that name."""
    candidate = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        _write_new(candidate, data)
        yield candidate
    finally:
        with suppress(OSError):
            candidate.unlink()


def _write_new(path: Path, data: bytes) -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        os.fchmod(descriptor, PRIVATE_FILE_MODE)
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(descriptor)


def read_private(path: Path, *, max_bytes: int) -> bytes | None:
    """The whole of a private file, or None when nothing stands at `path`.

    Raises:
        StorageError: not a regular file, of another user, a symbolic link, larger than `max_bytes`, or not readable.
    """
    with safe_errors("Reading the file"):
        try:
            descriptor = open_private(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise StorageError(f"The file is larger than {max_bytes} bytes; move it away and try again.")
    return data


def fsync_directory(path: Path) -> None:
    """Make the names in a folder durable: what was linked, renamed or removed there survives a crash.

    Raises:
        StorageError: no such folder, or the system refused.
    """
    with safe_errors("Syncing the folder"):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def ensure_private_dir(path: Path) -> None:
    """Make a folder and its missing parents with mode 0700, durably; an existing one of this user is tightened to 0700.

    Raises:
        StorageError: something else stands there, it belongs to another user, or it is a shared (sticky) folder.
        StorageUnavailable: disk full or read-only.
    """
    with safe_errors("Making the folder"):
        for folder in reversed([path, *path.parents]):
            _make_folder(folder)
        _tighten(path)


def _make_folder(path: Path) -> None:
    if path.exists():
        return
    # Another process may make it between the question and the act: both are content.
    path.mkdir(mode=PRIVATE_DIR_MODE, exist_ok=True)
    fsync_directory(path.parent)


def _tighten(path: Path) -> None:
    found = path.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise StorageError("The place of the folder is taken by a file; move it away and try again.")
    if found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX:
        raise StorageError("The folder is shared or belongs to another user; choose a folder of your own.")
    if stat.S_IMODE(found.st_mode) != PRIVATE_DIR_MODE:
        path.chmod(PRIVATE_DIR_MODE)
