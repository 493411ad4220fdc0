"""Which files to read: paths a person gives, or the clients' own folders; and which client wrote a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lcm.domain.records import JsonObject
from lcm.transcripts.lines import iter_lines
from lcm.transcripts.parse import claude, codex

_SUFFIX = ".jsonl"
_LOOK_AT_LINES = 50
#: A tuple: what a record calls its type may be anything, and only a tuple can be asked for an unhashable value.
_CODEX_KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")


@dataclass(frozen=True, slots=True)
class UnreadablePath:
    """A path that gives no transcript; `reason` is one safe sentence."""

    path: Path
    reason: str


def client_folders(claude_dir: Path, codex_dir: Path, client: str) -> list[Path]:
    """The folders where the clients keep transcripts, those that exist."""
    folders = []
    if client in ("auto", claude.CLIENT):
        folders.append(claude_dir / "projects")
    if client in ("auto", codex.CLIENT):
        folders += [codex_dir / "sessions", codex_dir / "archived_sessions"]
    return [folder for folder in folders if os.path.isdir(folder)]  # noqa: PTH112 -- False, not an error, for any name


def find_transcripts(paths: Sequence[Path]) -> Iterator[Path | UnreadablePath]:
    """Files named by the paths, and every `*.jsonl` below the folders among them, in sorted order, each once."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        for found in _below(path):
            if isinstance(found, UnreadablePath):
                yield found
                continue
            identity = _identity(found)
            if identity is None:
                yield UnreadablePath(found, "no such file or folder")
            elif identity not in seen:
                seen.add(identity)
                yield found


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode; None when the file has just gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _below(path: Path) -> Iterator[Path | UnreadablePath]:
    if os.path.isdir(path):  # noqa: PTH112 -- False, not an error, below a folder that may not be entered
        yield from _walk(path)
    else:
        yield _checked(path)


def _walk(folder: Path) -> Iterator[Path | UnreadablePath]:
    failures: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=failures.append):
        folders.sort()
        for name in sorted(files):
            if name.endswith(_SUFFIX):
                yield _checked(Path(parent) / name)
    for failure in failures:
        yield UnreadablePath(Path(failure.filename or folder), "the folder cannot be read")


def _checked(path: Path) -> Path | UnreadablePath:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return UnreadablePath(path, "no such file or folder")
    except (OSError, ValueError):
        return UnreadablePath(path, "the file cannot be read")
    if not stat.S_ISREG(mode):
        return UnreadablePath(path, "not a regular file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        return UnreadablePath(path, "the file cannot be read")
    return path


def client_of(path: Path) -> str:
    """Who wrote a file, by its first records; a file without any is read as Claude Code's, which names every line."""
    for line in iter_lines(path):
        if line.line >= _LOOK_AT_LINES:
            break
        if line.record is not None:
            return codex.CLIENT if _is_codex(line.record) else claude.CLIENT
    return claude.CLIENT


def _is_codex(record: JsonObject) -> bool:
    if record.get("type") in _CODEX_KINDS and "payload" in record:
        return True
    is_bare_head = "instructions" in record and "id" in record and "type" not in record
    return is_bare_head or "record_type" in record
