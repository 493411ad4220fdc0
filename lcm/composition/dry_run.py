"""A rehearsal: the real work on copies in a temporary folder, thrown away afterwards. The home is only read."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path

from lcm.composition.build import SOURCES_NAME, OpenProjects, build_factory, database_path
from lcm.composition.peek import read_only_uri
from lcm.errors import StorageError
from lcm.files.durable import ensure_private_dir
from lcm.files.permissions import safe_errors
from lcm.settings.model import Settings, SqliteStorage
from lcm.storage.contracts.project import ProjectStorage
from lcm.transcripts.known_roots import KnownRoots

_MAX_COPIES = 5


@asynccontextmanager
async def rehearsal(projects: OpenProjects, settings: Settings, *, is_on: bool) -> AsyncIterator[OpenProjects]:
    """`projects` as they are, or stand-ins that copy a project's database when it is first needed.

    Raises:
        StorageError: no room for the temporary folder.
    """
    if not is_on:
        yield projects
        return
    with safe_errors("Making a temporary folder"):
        temporary = tempfile.TemporaryDirectory(prefix="lcm-dry-run-")
    with temporary as folder:
        copy = replace(settings, home=Path(folder), storage=SqliteStorage(Path(folder) / "projects"))
        stand_ins = _CopiedProjects(settings, copy)
        try:
            yield stand_ins
        finally:
            await stand_ins.close()


class _CopiedProjects(OpenProjects):
    def __init__(self, original: Settings, copy: Settings) -> None:
        super().__init__(original, build_factory(copy))
        self._original = original
        self._copy = copy

    def known_roots(self) -> KnownRoots:
        return KnownRoots(self._original.home / SOURCES_NAME, is_read_only=True)

    def seen_files(self) -> None:
        """A rehearsal reads everything: the copies are not the projects that files were read into."""

    async def open(self, root: str) -> ProjectStorage:
        target = database_path(self._copy, root)
        if not target.exists():
            _copy_database(database_path(self._original, root), target)
        return await super().open(root)


def _copy_database(source: Path, target: Path) -> None:
    """The file with its log, byte by byte, as of one moment: opening it would leave traces beside it."""
    if not source.exists():
        return
    ensure_private_dir(target.parent)
    with safe_errors("Copying the project database"):
        for _ in range(_MAX_COPIES):
            before = _state(source)
            for path in (source, _log_of(source)):
                with suppress(FileNotFoundError):
                    shutil.copyfile(path, target.with_name(path.name))
            if _state(source) == before:
                return
            _log_of(target).unlink(missing_ok=True)
    _back_up(source, target)


def _back_up(source: Path, target: Path) -> None:
    """Somebody keeps writing: then its traces are there already, and SQLite's own backup follows it."""
    target.unlink()
    try:
        with (
            closing(sqlite3.connect(read_only_uri(source), uri=True)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            original.backup(copy)
    except sqlite3.Error:
        raise StorageError("The project database cannot be copied; run `lcm verify-schema`.") from None


def _state(source: Path) -> list[tuple[int, ...] | None]:
    """What changes whenever somebody writes."""
    return [_stat_of(path) for path in (source, _log_of(source))]


def _stat_of(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
