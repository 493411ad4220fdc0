"""From resolved settings to working parts; the only importer of concrete backends."""

from __future__ import annotations

from pathlib import Path

from lcm.clock import Clock, utc_now
from lcm.engine.importing import Importer, ProjectAccess
from lcm.engine.prepare import Preparer
from lcm.errors import InvalidSetting
from lcm.files.durable import read_private
from lcm.identity.project import project_folder
from lcm.redaction.scrub import Scrubber
from lcm.redaction.user_patterns import parse_patterns
from lcm.settings.model import PostgresStorage, Settings
from lcm.storage.contracts.project import ProjectStorage, StorageFactory
from lcm.storage.sqlite.factory import DATABASE_NAME, SqliteFactory
from lcm.transcripts.known_roots import KnownRoots

PATTERNS_NAME = "sensitive-patterns.txt"
SOURCES_NAME = "sources.db"
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
        if root not in self._preparers:
            threshold = self._settings.compaction.large_file_token_threshold
            self._preparers[root] = Preparer(build_scrubber(self._settings, root), threshold)
        return self._preparers[root]

    def importer(self, *, root: str | None = None) -> Importer:
        return Importer(ProjectAccess(self.open, self.preparer_for, self.known_roots()), root=root)

    def known_roots(self) -> KnownRoots:
        """Which project each session went to before."""
        return KnownRoots(self._settings.home / SOURCES_NAME)

    async def close(self) -> None:
        for project in self._open.values():
            await project.close()
        await self._factory.close()
