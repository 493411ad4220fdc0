"""One opened project on SQLite."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import text

from lcm.clock import Clock
from lcm.errors import LcmError, ProgrammingError, StorageError
from lcm.identity.machine import Machine
from lcm.storage.contracts.capabilities import Capabilities, CoordinationScope
from lcm.storage.contracts.health import Health, HealthStatus
from lcm.storage.core.project import CoreProject, RepositoryMaker
from lcm.storage.core.transaction import ProjectExecutor
from lcm.storage.sqlite.creation import ProjectRow
from lcm.storage.sqlite.dialect import sqlite_dialect
from lcm.storage.sqlite.engine import ProjectFile, identity_of, require_identity
from lcm.storage.sqlite.errors import BACKEND, translate
from lcm.storage.sqlite.lexical_search import SqliteLexicalSearchRepository

_NOT_REACHED = "The project database cannot be reached now; try again."

CAPABILITIES = Capabilities(
    backend=BACKEND,
    transactions=True,
    lexical_search=True,
    regex_search=True,
    full_text_search=True,
    promoted_memory=False,
    recall=False,
    coordination=CoordinationScope.LOCAL,
)


class SqliteProject(CoreProject):
    """See `lcm.storage.contracts.project.ProjectStorage`."""

    def __init__(self, path: Path, row: ProjectRow, machine: Machine, clock: Clock) -> None:
        self._path = path
        self._identity = identity_of(path)
        self._file = ProjectFile(path)
        self._closing: asyncio.Future[None] | None = None
        self._is_announced = False
        self._is_closed = False
        executor = ProjectExecutor(self._file, sqlite_dialect(), row.project_id)
        super().__init__(
            executor=executor,
            maker=RepositoryMaker(
                clock=clock,
                machine_id=machine.machine_id,
                make_lexical_search=SqliteLexicalSearchRepository,
            ),
            capabilities=CAPABILITIES,
            display_name=Path(row.root).name or row.root,
            files_folder=path.parent / "files",
        )
        self._root = row.root

    @property
    def root(self) -> str:
        return self._root

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def health(self) -> Health:
        status, detail = await self._probe()
        if self._is_closing:  # closing won while the probe ran: say nothing but that
            status, detail = HealthStatus.CLOSED, ""
        return Health(status, BACKEND, "project", str(self.project_id), detail)

    def announce_close(self) -> None:
        """Shutdown has begun: health says closed from now on, while what runs may end before `close`."""
        self._is_announced = True

    async def close(self) -> None:
        """As the contract says; callers that overlap share one attempt, and after a failed one the next tries again.

        Raises:
            StorageError: the file could not be closed; until the next attempt the project may be unavailable.
        """
        if self._closing is None:
            self._executor.close()
            self._closing = asyncio.ensure_future(self._close_file())
            self._closing.add_done_callback(_note_outcome)
        await asyncio.shield(self._closing)  # a caller that is cancelled does not leave the file half closed

    async def _close_file(self) -> None:
        try:
            await self._file.close()
        except BaseException as error:
            self._closing = None
            self._is_announced = False
            self._executor.reopen()
            if not isinstance(error, Exception):
                raise
            raise self._translated(error) from None
        self._is_closed = True

    @property
    def _is_closing(self) -> bool:
        """Whether shutdown has begun, ended or not."""
        return self._is_announced or self._closing is not None

    async def _probe(self) -> tuple[HealthStatus, str]:
        if self._is_closing:
            return HealthStatus.CLOSED, ""
        try:
            await asyncio.to_thread(require_identity, self._path, self._identity)
            async with self._executor.operation("health") as connection:
                await connection.execute(text("SELECT 1 FROM projects"))
        except ProgrammingError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a probe meets, it answers
            return HealthStatus.UNAVAILABLE, str(self._translated(error))
        return HealthStatus.HEALTHY, ""

    def _translated(self, error: Exception) -> LcmError:
        """An error of lcm, whose text is safe, for one of the driver, the pool or the system."""
        if isinstance(error, LcmError):
            return error
        found = translate(error, project_id=str(self.project_id), domain="project")
        if isinstance(found, LcmError):
            return found
        return StorageError(_NOT_REACHED, backend=BACKEND, project_id=str(self.project_id), domain="project")


def _note_outcome(attempt: asyncio.Future[None]) -> None:
    """The error went to whoever waited; nobody may be left who did."""
    if not attempt.cancelled():
        attempt.exception()
