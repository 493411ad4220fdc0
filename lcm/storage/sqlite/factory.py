"""Opens projects of one home on SQLite: a file per project."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lcm.clock import Clock, utc_now
from lcm.errors import StorageClosed
from lcm.files.durable import ensure_private_dir
from lcm.identity.machine import load_or_create_machine
from lcm.identity.project import project_folder
from lcm.storage.contracts.health import Health
from lcm.storage.sqlite.creation import create_database, finish_creation, prepare_database, read_project
from lcm.storage.sqlite.engine import identity_of, require_identity
from lcm.storage.sqlite.errors import BACKEND
from lcm.storage.sqlite.health import FactoryHealth
from lcm.storage.sqlite.project import SqliteProject
from lcm.storage.sqlite.search_index import DERIVATION_VERSION

DATABASE_NAME = "db.sqlite"


class SqliteFactory:
    """See `lcm.storage.contracts.project.StorageFactory`."""

    def __init__(self, home: Path, *, clock: Clock = utc_now) -> None:
        self._home = home
        self._clock = clock
        self._is_closed = False
        self._health = FactoryHealth(home)
        self._open: set[SqliteProject] = set()

    async def project_exists(self, root: str) -> bool:
        self._require_open()
        return self._database(root).exists()

    async def open_existing_project(self, root: str) -> SqliteProject | None:
        self._require_open()
        path = self._database(root)
        if not path.exists():
            return None
        return await self._open_file(path)

    async def open_project(self, root: str) -> SqliteProject:
        self._require_open()
        path = self._database(root)
        if not path.exists():
            await asyncio.to_thread(self._create, path, root)
        return await self._open_file(path)

    async def list_roots(self) -> list[str]:
        self._require_open()
        return await asyncio.to_thread(self._roots)

    async def health(self) -> Health:
        return await self._health.check(list(self._open), is_closed=lambda: self._is_closed)

    async def close(self) -> None:
        """Refuse what begins from now on, let health checks end, then close every project.

        A project that cannot be closed does not keep the others open; closing again tries it again.

        Raises:
            StorageError: of the first project that could not be closed.
        """
        self._is_closed = True
        projects = list(self._open)
        for project in projects:
            project.announce_close()
        await self._health.drain()
        outcomes = await asyncio.gather(*(each.close() for each in projects), return_exceptions=True)
        self._open = {each for each in self._open if not each.is_closed}
        for failed in outcomes:
            if isinstance(failed, BaseException):
                raise failed

    def _require_open(self) -> None:
        if self._is_closed:
            raise StorageClosed("The storage is closed; open it again.", backend=BACKEND)

    def _database(self, root: str) -> Path:
        return project_folder(self._home, root) / DATABASE_NAME

    def _create(self, path: Path, root: str) -> None:
        for folder in (self._home, self._home / "projects", path.parent):
            ensure_private_dir(folder)
        create_database(path, root, load_or_create_machine(self._home, clock=self._clock), self._clock)

    async def _open_file(self, path: Path) -> SqliteProject:
        await asyncio.to_thread(finish_creation, path)
        identity = identity_of(path)
        machine = await asyncio.to_thread(load_or_create_machine, self._home, clock=self._clock)
        row = await asyncio.to_thread(prepare_database, path, machine, self._clock)
        require_identity(path, identity)
        project = SqliteProject(path, row, machine, self._clock)
        if row.search_version != DERIVATION_VERSION:
            # A 'delete' with words of another derivation would damage the index, so it never comes to that.
            await project.lexical_search.rebuild()
        if self._is_closed:  # the factory was closed while this was opened
            await project.close()
            self._require_open()
        self._open = {each for each in self._open if not each.is_closed} | {project}
        return project

    def _roots(self) -> list[str]:
        """Unreadable files are not skipped: a project that cannot be read is an error, not an absent project."""
        folder = self._home / "projects"
        if not folder.is_dir():
            return []
        found = [read_project(each / DATABASE_NAME) for each in sorted(folder.iterdir()) if _has_database(each)]
        return sorted(row.root for row in found)


def _has_database(folder: Path) -> bool:
    return (folder / DATABASE_NAME).exists()
