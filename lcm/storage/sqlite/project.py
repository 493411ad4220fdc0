"""One opened project on SQLite."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text

from lcm.clock import Clock
from lcm.errors import LcmError
from lcm.identity.machine import Machine
from lcm.storage.contracts.capabilities import Capabilities, CoordinationScope
from lcm.storage.contracts.health import Health, HealthStatus
from lcm.storage.core.project import CoreProject, RepositoryMaker
from lcm.storage.core.transaction import ProjectExecutor
from lcm.storage.sqlite.creation import ProjectRow
from lcm.storage.sqlite.dialect import SqliteDialect
from lcm.storage.sqlite.engine import ProjectFile
from lcm.storage.sqlite.errors import BACKEND
from lcm.storage.sqlite.lexical_search import SqliteLexicalSearchRepository

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
        self._file = ProjectFile(path)
        self._is_closed = False
        executor = ProjectExecutor(self._file, SqliteDialect(), row.project_id)
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
        if self._is_closed:  # closing won while the probe ran: say nothing but that
            status, detail = HealthStatus.CLOSED, ""
        return Health(status, BACKEND, "project", str(self.project_id), detail)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._executor.close()
        self._is_closed = True
        await self._file.close()

    async def _probe(self) -> tuple[HealthStatus, str]:
        if self._is_closed:
            return HealthStatus.CLOSED, ""
        try:
            async with self._executor.operation("health") as connection:
                await connection.execute(text("SELECT 1 FROM projects"))
        except LcmError as error:
            return HealthStatus.UNAVAILABLE, str(error)
        return HealthStatus.HEALTHY, ""
