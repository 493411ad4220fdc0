"""The repositories of one executor, composed once for every backend."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lcm.clock import Clock
from lcm.storage.contracts.capabilities import Capabilities
from lcm.storage.contracts.lexical_search import LexicalSearchRepository
from lcm.storage.contracts.project import Repositories
from lcm.storage.core.breakers import CoreBreakerRepository
from lcm.storage.core.compaction_states import CoreCompactionStateRepository
from lcm.storage.core.context import CoreContextRepository
from lcm.storage.core.context_audits import CoreContextAuditRepository
from lcm.storage.core.conversations import CoreConversationRepository
from lcm.storage.core.coordination import CoreCoordinationRepository
from lcm.storage.core.ingest import CoreIngestRepository
from lcm.storage.core.integrity import CoreIntegrityRepository
from lcm.storage.core.large_files import CoreLargeFileRepository
from lcm.storage.core.model_calls import CoreModelCallRepository
from lcm.storage.core.redaction_admin import CoreRedactionAdminRepository
from lcm.storage.core.summaries import CoreSummaryRepository
from lcm.storage.core.transaction import Executor, ProjectExecutor


@dataclass(frozen=True, slots=True)
class CoreRepositories:
    """See `lcm.storage.contracts.project.Repositories`."""

    conversations: CoreConversationRepository
    summaries: CoreSummaryRepository
    context: CoreContextRepository
    context_audits: CoreContextAuditRepository
    large_files: CoreLargeFileRepository
    lexical_search: LexicalSearchRepository
    redaction_admin: CoreRedactionAdminRepository
    coordination: CoreCoordinationRepository
    ingest: CoreIngestRepository
    model_calls: CoreModelCallRepository
    compaction_states: CoreCompactionStateRepository
    breakers: CoreBreakerRepository
    integrity: CoreIntegrityRepository


LexicalSearchMaker = Callable[[Executor, Clock], LexicalSearchRepository]


@dataclass(frozen=True, slots=True)
class RepositoryMaker:
    """What the repositories of a project need besides their executor."""

    clock: Clock
    machine_id: uuid.UUID
    make_lexical_search: LexicalSearchMaker

    def over(self, executor: Executor) -> CoreRepositories:
        return CoreRepositories(
            conversations=CoreConversationRepository(executor, self.clock),
            summaries=CoreSummaryRepository(executor, self.clock),
            context=CoreContextRepository(executor, self.clock),
            context_audits=CoreContextAuditRepository(executor, self.clock),
            large_files=CoreLargeFileRepository(executor, self.clock),
            lexical_search=self.make_lexical_search(executor, self.clock),
            redaction_admin=CoreRedactionAdminRepository(executor, self.clock),
            coordination=CoreCoordinationRepository(executor, self.clock),
            ingest=CoreIngestRepository(executor, self.clock, self.machine_id),
            model_calls=CoreModelCallRepository(executor, self.clock),
            compaction_states=CoreCompactionStateRepository(executor),
            breakers=CoreBreakerRepository(executor),
            integrity=CoreIntegrityRepository(executor),
        )


class CoreProject:
    """The part of `ProjectStorage` that is the same on every backend; health and close are the backend's."""

    def __init__(
        self,
        *,
        executor: ProjectExecutor,
        maker: RepositoryMaker,
        capabilities: Capabilities,
        display_name: str,
        files_folder: Path,
    ) -> None:
        self._executor = executor
        self._maker = maker
        self._repositories = maker.over(executor)
        self._capabilities = capabilities
        self._display_name = display_name
        self._files_folder = files_folder

    @property
    def project_id(self) -> uuid.UUID:
        return self._executor.project_id

    @property
    def display_name(self) -> str:
        return self._display_name

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def files_folder(self) -> Path:
        return self._files_folder

    @property
    def conversations(self) -> CoreConversationRepository:
        return self._repositories.conversations

    @property
    def summaries(self) -> CoreSummaryRepository:
        return self._repositories.summaries

    @property
    def context(self) -> CoreContextRepository:
        return self._repositories.context

    @property
    def context_audits(self) -> CoreContextAuditRepository:
        return self._repositories.context_audits

    @property
    def large_files(self) -> CoreLargeFileRepository:
        return self._repositories.large_files

    @property
    def lexical_search(self) -> LexicalSearchRepository:
        return self._repositories.lexical_search

    @property
    def redaction_admin(self) -> CoreRedactionAdminRepository:
        return self._repositories.redaction_admin

    @property
    def coordination(self) -> CoreCoordinationRepository:
        return self._repositories.coordination

    @property
    def ingest(self) -> CoreIngestRepository:
        return self._repositories.ingest

    @property
    def model_calls(self) -> CoreModelCallRepository:
        return self._repositories.model_calls

    @property
    def compaction_states(self) -> CoreCompactionStateRepository:
        return self._repositories.compaction_states

    @property
    def breakers(self) -> CoreBreakerRepository:
        return self._repositories.breakers

    @property
    def integrity(self) -> CoreIntegrityRepository:
        return self._repositories.integrity

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Repositories]:
        async with self._executor.transaction() as executor:
            yield self._maker.over(executor)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Repositories]:
        async with self._executor.transaction(writes=False) as executor:
            yield self._maker.over(executor)
