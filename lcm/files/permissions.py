"""Who may touch lcm's files: private modes, safety checks before use, and how the system's refusals are told."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lcm.errors import StorageError, StorageUnavailable

PRIVATE_FILE_MODE = 0o600
PRIVATE_DIR_MODE = 0o700

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; make it writable and try again",
    errno.EMFILE: "too many files are open; try again",
    errno.ENFILE: "too many files are open; try again",
    errno.ENOLCK: "the system has no more locks; try again",
    errno.EIO: "the disk reported an input/output error; check it",
}
_REFUSALS = {
    errno.EACCES: "permission is denied; check who owns the lcm folder",
    errno.EPERM: "the file system does not allow it; keep the lcm folder on a local file system",
    errno.ENOTSUP: "the file system does not allow it; keep the lcm folder on a local file system",
    errno.ENOENT: "its folder is missing",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.ELOOP: "it is a symbolic link",
    errno.ENAMETOOLONG: "its name is too long",
}


@contextmanager
def safe_errors(action: str) -> Iterator[None]:
    """Turn an OSError of the block into one safe line: `<action> failed: <reason>.`, without path or value.

    Raises:
        StorageUnavailable: disk full, quota, read-only, no descriptors: the same call may work later.
        StorageError: any other refusal of the system.
    """
    try:
        yield
    except OSError as error:
        raise _told(action, error.errno) from None


def _told(action: str, code: int | None) -> StorageError:
    if code in _REASONS:
        return StorageUnavailable(f"{action} failed: {_REASONS[code]}.")
    reason = _REFUSALS.get(code or 0, "the system refused it; check the lcm folder")
    return StorageError(f"{action} failed: {reason}.")


def require_own_regular(found: os.stat_result, what: str) -> None:
    """Refuse what is no regular file or belongs to another user.

    Raises:
        StorageError: names `what`, not the path.
    """
    if not stat.S_ISREG(found.st_mode):
        raise StorageError(f"{what} is not a regular file; move it away and try again.")
    if found.st_uid != os.geteuid():
        raise StorageError(f"{what} belongs to another user; lcm does not touch it.")


def require_replaceable(path: Path, *, max_bytes: int) -> None:
    """Check that nothing stands at `path`, or a file that lcm may replace: regular, own, linked once, not oversized.

    A look before the act: another process of the same user can still change the path afterwards.

    Raises:
        StorageError: it must not be replaced.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    require_own_regular(found, "The file to replace")
    if found.st_nlink != 1:
        raise StorageError("The file to replace has several hard links; remove the others and try again.")
    if found.st_size > max_bytes:
        raise StorageError(f"The file to replace is larger than {max_bytes} bytes; move it away and try again.")


def open_private(path: Path, flags: int) -> int:
    """Open a regular file of this user, without following a symbolic link; a created one has mode 0600.

    Returns:
        A file descriptor that the caller closes; it is not inherited by programs started later.

    Raises:
        OSError: as `os.open`. StorageError: not regular, or of another user.
    """
    # O_NONBLOCK: opening a FIFO that somebody put there must not wait for its other end.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, PRIVATE_FILE_MODE)
    try:
        require_own_regular(os.fstat(descriptor), "The file to open")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
