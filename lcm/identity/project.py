"""Which project a folder belongs to: the main worktree root of its git repository, read from files, else the folder."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import stat
from pathlib import Path

_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_BARE = re.compile(rb"^\s*bare\s*=\s*(?:true|yes|on|1)\s*$", re.IGNORECASE | re.MULTILINE)
_MAX_POINTER_BYTES = 8192
_MAX_CONFIG_BYTES = 1024 * 1024


def project_root(cwd: str) -> str:
    """The root of the project that a session in `cwd` belongs to, as a canonical path.

    A linked worktree belongs to the main one; a submodule is its own project; without a usable git repository (none,
    bare, damaged) the root is `cwd` itself with symbolic links resolved. A `cwd` that is not a folder on this machine
    is normalised as text only: a POSIX path by its dots and slashes, a Windows path not at all.
    """
    if _WINDOWS_PATH.match(cwd):
        return cwd
    if not cwd.startswith("/") or not os.path.isdir(cwd):  # noqa: PTH112 -- False, not an error, for text no path can hold
        return _lexical(cwd)
    folder = Path(os.path.realpath(cwd))
    return str(_worktree_root(folder) or folder)


def _lexical(path: str) -> str:
    normal = posixpath.normpath(path)
    # POSIX keeps two leading slashes apart; nobody means that.
    return "/" + normal.lstrip("/") if normal.startswith("//") else normal


def _worktree_root(folder: Path) -> Path | None:
    """The main worktree root of the repository that `folder` is in; the nearest `.git` decides, also when unusable."""
    for level in (folder, *folder.parents):
        entry = level / ".git"
        mode = _mode(entry)
        if stat.S_ISDIR(mode):
            return level if _is_git_dir(entry) and not _is_bare(entry) else None
        if stat.S_ISREG(mode):
            return _root_of_pointer(entry)
        # Inside `.git` itself the level above decides; any other git folder is a bare repository.
        if level.name != ".git" and _is_git_dir(level):
            return None
    return None


def _root_of_pointer(entry: Path) -> Path | None:
    """The root behind a `.git` file, which says `gitdir: <path>`: of a linked worktree or a submodule."""
    text = _read_line(entry)
    if text is None or not text.startswith("gitdir:"):
        return None
    git_dir = Path(os.path.realpath(entry.parent / text.removeprefix("gitdir:").strip()))
    common = _read_line(git_dir / "commondir")
    if common is None:
        return entry.parent if _is_git_dir(git_dir) else None
    return _main_root(entry, git_dir, Path(os.path.realpath(git_dir / common)))


def _main_root(entry: Path, git_dir: Path, common: Path) -> Path | None:
    """The main worktree of a linked one; a bare common folder has none, so the linked worktree stands for itself."""
    if not _is_git_dir(common):
        return None
    if common.name != ".git" or _is_bare(common) or not _is_registered(entry, git_dir, common):
        return entry.parent
    return common.parent


def _is_registered(entry: Path, git_dir: Path, common: Path) -> bool:
    """Whether the repository knows this worktree, so that no folder can claim to be part of a foreign project."""
    if git_dir.parent != common / "worktrees":
        return False
    back = _read_line(git_dir / "gitdir")
    return back is None or os.path.realpath(git_dir / back) == os.path.realpath(entry)


def _is_git_dir(folder: Path) -> bool:
    return (
        stat.S_ISREG(_mode(folder / "HEAD"))
        and stat.S_ISDIR(_mode(folder / "objects"))
        and stat.S_ISDIR(_mode(folder / "refs"))
    )


def _is_bare(git_dir: Path) -> bool:
    config = _read(git_dir / "config", _MAX_CONFIG_BYTES)
    return config is not None and _BARE.search(config) is not None


def _mode(path: Path) -> int:
    """The mode of what stands at `path`, links followed; 0 when nothing does or it cannot be seen."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _read_line(path: Path) -> str | None:
    data = _read(path, _MAX_POINTER_BYTES)
    if data is None or b"\0" in data or not data.strip():
        return None
    return os.fsdecode(data).rstrip("\r\n")


def _read(path: Path, max_bytes: int) -> bytes | None:
    """The beginning of a regular file; None for anything else."""
    if not stat.S_ISREG(_mode(path)):
        return None
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError:
        return None


def project_hash(root: str) -> str:
    """SHA-256 of the canonical path, 64 lowercase hex characters."""
    return hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()


def project_folder(home: Path, root: str) -> Path:
    """Where a project's own files live: `home/projects/<project_hash>`."""
    return home / "projects" / project_hash(root)
