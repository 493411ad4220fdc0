"""From resolved settings to working parts; the only importer of concrete backends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lcm.clock import Clock, utc_now
from lcm.errors import InvalidSetting
from lcm.files.durable import read_private
from lcm.identity.project import project_folder
from lcm.settings.model import PostgresStorage, Settings
from lcm.storage.contracts.project import ProjectStorage, StorageFactory
from lcm.storage.sqlite.factory import DATABASE_NAME, SqliteFactory

if TYPE_CHECKING:  # loaded where they are used: most commands neither import nor redact
    from lcm.engine.importing import Importer
    from lcm.engine.prepare import Preparer
    from lcm.redaction.scrub import Scrubber
    from lcm.transcripts.known_roots import KnownRoots
    from lcm.transcripts.seen_files import SeenFiles

PATTERNS_NAME = "sensitive-patterns.txt"
SOURCES_NAME = "sources.db"
SEEN_FILES_NAME = "seen-files.db"
_MAX_PATTERN_BYTES = 1 << 20


def build_factory(settings: Settings, *, clock: Clock = utc_now) -> StorageFactory:
    """The backend that the settings name; there is no fallback from one to another."""
    if isinstance(settings.storage, PostgresStorage):
        raise InvalidSetting("The postgresql backend is not part of this version; set storage.backend to sqlite.")
    return SqliteFactory(settings.home, clock=clock)


def patterns_path(settings: Settings, root: str | None) -> Path:
    """The file of the person's own secret patterns: of the home, or of one project."""
    folder = settings.home if root is None else project_folder(settings.home, root)
    return folder / PATTERNS_NAME


def read_patterns(path: Path) -> str:
    """The file's text, empty when there is none."""
    return (read_private(path, max_bytes=_MAX_PATTERN_BYTES) or b"").decode("utf-8", "replace")


def build_scrubber(settings: Settings, root: str) -> Scrubber:
    """The secret rules of a project: built in, then the person's global ones, then the project's."""
    from lcm.redaction.scrub import Scrubber
    from lcm.redaction.user_patterns import parse_patterns

    return Scrubber(
        global_patterns=parse_patterns(read_patterns(patterns_path(settings, None))),
        project_patterns=parse_patterns(read_patterns(patterns_path(settings, root))),
    )


def database_path(settings: Settings, root: str) -> Path:
    """Where a project's SQLite file is, whether it exists or not."""
    return project_folder(settings.home, root) / DATABASE_NAME


class OpenProjects:
    """Projects opened on demand, each once, and closed together with their factory."""

    def __init__(self, settings: Settings, factory: StorageFactory) -> None:
        self._settings = settings
        self._factory = factory
        self._open: dict[str, ProjectStorage] = {}
        self._preparers: dict[str, Preparer] = {}
        self._seen_files: SeenFiles | None = None

    async def open(self, root: str) -> ProjectStorage:
        if root not in self._open:
            self._open[root] = await self._factory.open_project(root)
        return self._open[root]

    async def find(self, root: str) -> ProjectStorage | None:
        """An existing project; nothing is created."""
        if root in self._open:
            return self._open[root]
        found = await self._factory.open_existing_project(root)
        if found is not None:
            self._open[root] = found
        return found

    async def list_roots(self) -> list[str]:
        return await self._factory.list_roots()

    def opened(self) -> list[ProjectStorage]:
        """By root."""
        return [self._open[root] for root in sorted(self._open)]

    def preparer_for(self, root: str) -> Preparer:
        from lcm.engine.prepare import Preparer

        if root not in self._preparers:
            threshold = self._settings.compaction.large_file_token_threshold
            self._preparers[root] = Preparer(build_scrubber(self._settings, root), threshold)
        return self._preparers[root]

    def importer(self, *, root: str | None = None) -> Importer:
        from lcm.engine.importing import Importer, ProjectAccess

        access = ProjectAccess(
            self.open, self.preparer_for, self.known_roots(), find_project=self.find, seen_files=self.seen_files()
        )
        return Importer(access, root=root)

    def seen_files(self) -> SeenFiles | None:
        """Which files need no reading; written when the projects are closed."""
        from lcm.transcripts.seen_files import SeenFiles

        if self._seen_files is None:
            self._seen_files = SeenFiles(self._settings.home / SEEN_FILES_NAME, self._database_mark)
        return self._seen_files

    def _database_mark(self, root: str) -> str | None:
        """Times, sizes and inodes of the project's database and its log; None when there is no database."""
        from lcm.transcripts.seen_files import FileState

        database = database_path(self._settings, root)
        try:
            log = database.with_name(database.name + "-wal")
            states = [FileState.of(database), FileState.of(log) if log.exists() else None]
        except OSError:
            return None
        return json.dumps(states)

    def known_roots(self) -> KnownRoots:
        """Which project each session went to before."""
        from lcm.transcripts.known_roots import KnownRoots

        return KnownRoots(self._settings.home / SOURCES_NAME)

    async def close(self) -> None:
        for project in self._open.values():
            await project.close()
        await self._factory.close()
        if self._seen_files is not None:
            self._seen_files.close()
