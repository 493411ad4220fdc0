"""The scope of one project's storage and the factory that opens it."""

from __future__ import annotations

import uuid
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from lcm.storage.contracts.breakers import BreakerRepository
from lcm.storage.contracts.capabilities import Capabilities
from lcm.storage.contracts.compaction_states import CompactionStateRepository
from lcm.storage.contracts.context import ContextRepository
from lcm.storage.contracts.context_audits import ContextAuditRepository
from lcm.storage.contracts.conversations import ConversationRepository
from lcm.storage.contracts.coordination import CoordinationRepository
from lcm.storage.contracts.health import Health
from lcm.storage.contracts.ingest import IngestRepository
from lcm.storage.contracts.integrity import IntegrityRepository
from lcm.storage.contracts.large_files import LargeFileRepository
from lcm.storage.contracts.lexical_search import LexicalSearchRepository
from lcm.storage.contracts.model_calls import ModelCallRepository
from lcm.storage.contracts.redaction_admin import RedactionAdminRepository
from lcm.storage.contracts.summaries import SummaryRepository


class Repositories(Protocol):
    """The repositories of one project, bound to the project scope or to one transaction of it."""

    @property
    def conversations(self) -> ConversationRepository: ...
    @property
    def summaries(self) -> SummaryRepository: ...
    @property
    def context(self) -> ContextRepository: ...
    @property
    def context_audits(self) -> ContextAuditRepository: ...
    @property
    def large_files(self) -> LargeFileRepository: ...
    @property
    def lexical_search(self) -> LexicalSearchRepository: ...
    @property
    def redaction_admin(self) -> RedactionAdminRepository: ...
    @property
    def coordination(self) -> CoordinationRepository: ...
    @property
    def ingest(self) -> IngestRepository: ...
    @property
    def model_calls(self) -> ModelCallRepository: ...
    @property
    def compaction_states(self) -> CompactionStateRepository: ...
    @property
    def breakers(self) -> BreakerRepository: ...
    @property
    def integrity(self) -> IntegrityRepository: ...


class ProjectStorage(Repositories, Protocol):
    """One opened project. Who opens it closes it; closing is idempotent and leaves other scopes alone.

    Operations called here are each one short transaction. Inside `transaction()` only the repositories of the
    transaction may be used: those of the project raise `ScopeMisused`, a second `transaction()` `NestedTransaction`.
    """

    @property
    def project_id(self) -> uuid.UUID: ...

    @property
    def display_name(self) -> str: ...

    @property
    def root(self) -> str:
        """The project's folder as first seen; it need not exist on this machine."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def files_folder(self) -> Path:
        """Where bytes of large files are kept on this machine."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Repositories]:
        """One transaction: leaving the block commits, an exception rolls everything back.

        Repositories of the transaction must not be kept; after the block they raise `ScopeMisused`.
        """
        ...

    def snapshot(self) -> AbstractAsyncContextManager[Repositories]:
        """One moment of the project for many reads; writers go on meanwhile.

        Its repositories refuse to write with `ScopeMisused`, and must not be kept. Not inside a transaction.
        """
        ...

    async def health(self) -> Health:
        """Whether operations can be served now; from the beginning of `close` on only that it is closed.

        Raises:
            ScopeMisused: inside a transaction.
        """
        ...

    async def close(self) -> None:
        """What runs is waited for, what begins later raises `StorageClosed`; inside a transaction: `ScopeMisused`.

        Overlapping calls share one attempt. A failed attempt opens the scope again for the next one to try.
        """
        ...


class StorageFactory(Protocol):
    """Owns what the opened projects of one backend share."""

    async def project_exists(self, root: str) -> bool: ...

    async def open_existing_project(self, root: str) -> ProjectStorage | None:
        """Never creates anything; None when the project is not there."""
        ...

    async def open_project(self, root: str) -> ProjectStorage:
        """Open the project of this root folder; create and migrate its store when needed."""
        ...

    async def list_roots(self) -> list[str]:
        """Root folders of all projects in this home, sorted."""
        ...

    async def health(self) -> Health:
        """Unavailable when an opened project is; names none of them. From the beginning of `close` on only closed."""
        ...

    async def close(self) -> None:
        """Close every project that was opened here; what fails is tried again by the next call."""
        ...
