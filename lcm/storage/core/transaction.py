"""How repository operations meet a connection: alone in a short transaction, or one after another inside a longer one.

Rules, the same on every backend:
- A transaction runs one whole operation at a time, in order of arrival (asyncio locks are fair), savepoint included.
- A failed operation is undone to its savepoint and the transaction goes on; if that fails the transaction is poisoned.
- An operation may not call another one, and inside a transaction the project's own repositories are refused.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from enum import Enum
from typing import NoReturn, Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.errors import LcmError, NestedTransaction, ScopeMisused, StorageClosed, StorageError
from lcm.storage.core.dialect import BackendDialect

#: The transaction that the current task (or the task that started it) runs in.
_current_transaction: ContextVar[TransactionExecutor | None] = ContextVar("lcm_current_transaction", default=None)
#: The operation that the current task is inside of.
_current_operation: ContextVar[object | None] = ContextVar("lcm_current_operation", default=None)


class Executor(Protocol):
    """Where a repository gets its connection from."""

    @property
    def dialect(self) -> BackendDialect: ...

    @property
    def project_id(self) -> uuid.UUID: ...

    def operation(self, domain: str, *, writes: bool = False) -> AbstractAsyncContextManager[AsyncConnection]:
        """One whole repository operation; errors of the driver come out translated."""
        ...


class ConnectionSource(Protocol):
    """A backend's way to run one database transaction: commit on exit, roll back on an exception."""

    def begin(self, *, writes: bool) -> AbstractAsyncContextManager[AsyncConnection]: ...


class TransactionStatus(Enum):
    OPEN = "open"
    POISONED = "poisoned"
    FINISHED = "finished"


class TransactionExecutor:
    """Operations of one transaction, each that writes in a savepoint of its own; a snapshot refuses those."""

    def __init__(
        self, connection: AsyncConnection, dialect: BackendDialect, project_id: uuid.UUID, *, may_write: bool
    ) -> None:
        self._connection = connection
        self._dialect = dialect
        self._project_id = project_id
        self._may_write = may_write
        self._fair_lock = asyncio.Lock()
        self._status = TransactionStatus.OPEN

    @property
    def dialect(self) -> BackendDialect:
        return self._dialect

    @property
    def project_id(self) -> uuid.UUID:
        return self._project_id

    @property
    def status(self) -> TransactionStatus:
        return self._status

    async def finish(self) -> bool:
        """Let the running operation end, because it uses the connection; those that wait are refused.

        Returns:
            Whether the transaction may commit.
        """
        before, self._status = self._status, TransactionStatus.FINISHED
        async with self._fair_lock:
            is_poisoned = TransactionStatus.POISONED in {before, self._status}
            self._status = TransactionStatus.FINISHED
        return not is_poisoned

    def poison(self) -> None:
        self._status = TransactionStatus.POISONED

    @asynccontextmanager
    async def operation(self, domain: str, *, writes: bool = False) -> AsyncIterator[AsyncConnection]:
        refuse_inner_operation()
        if writes and not self._may_write:
            raise ScopeMisused("A snapshot only reads; write on the project or in a transaction.")
        async with self._fair_lock:
            self._require_open()
            token = _current_operation.set(self)
            try:
                async with self._savepoint(domain, writes=writes):
                    yield self._connection
            finally:
                _current_operation.reset(token)

    def _require_open(self) -> None:
        if self._status is TransactionStatus.FINISHED:
            raise ScopeMisused
        if self._status is TransactionStatus.POISONED:
            self.refuse()

    def refuse(self) -> NoReturn:
        raise StorageError(
            "The transaction failed earlier and was given up; start a new one.",
            backend=self._dialect.backend,
            project_id=str(self._project_id),
        )

    @asynccontextmanager
    async def _savepoint(self, domain: str, *, writes: bool) -> AsyncIterator[None]:
        try:
            if not writes:
                yield
                return
            savepoint = await self._connection.begin_nested()
            try:
                yield
                await savepoint.commit()
            except Exception:
                await self._undo(savepoint)
                raise
        except asyncio.CancelledError:
            self.poison()
            raise
        except LcmError:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where driver errors are translated
            if not writes:
                self.poison()  # a server may refuse further statements after a failed one without a savepoint
            raise self._dialect.translate(error, project_id=str(self._project_id), domain=domain) from None

    async def _undo(self, savepoint: object) -> None:
        try:
            await savepoint.rollback()  # type: ignore[attr-defined]
        except BaseException:
            self.poison()
            raise


class ProjectExecutor:
    """Operations called on the project: each runs in a short transaction of its own."""

    def __init__(self, source: ConnectionSource, dialect: BackendDialect, project_id: uuid.UUID) -> None:
        self._source = source
        self._dialect = dialect
        self._project_id = project_id
        self._is_closed = False
        self._transactions: set[TransactionExecutor] = set()

    @property
    def dialect(self) -> BackendDialect:
        return self._dialect

    @property
    def project_id(self) -> uuid.UUID:
        return self._project_id

    def close(self) -> None:
        """Refuse what begins from now on.

        Raises:
            ScopeMisused: called inside a transaction of this project, which would wait for itself.
        """
        if _current_transaction.get() in self._transactions:
            raise ScopeMisused("Close the project after its transaction.")
        self._is_closed = True

    def reopen(self) -> None:
        """Take new operations again: the close that refused them failed."""
        self._is_closed = False

    @asynccontextmanager
    async def operation(self, domain: str, *, writes: bool = False) -> AsyncIterator[AsyncConnection]:
        self._require_usable()
        refuse_inner_operation()
        token = _current_operation.set(self)
        try:
            async with self._source.begin(writes=writes) as connection:
                yield connection
        except LcmError:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where driver errors are translated
            raise self._dialect.translate(error, project_id=str(self._project_id), domain=domain) from None
        finally:
            _current_operation.reset(token)

    @asynccontextmanager
    async def transaction(self, *, writes: bool = True) -> AsyncIterator[TransactionExecutor]:
        """One transaction over many operations; without `writes` a snapshot for reading."""
        if self._is_closed:
            raise StorageClosed(backend=self._dialect.backend, project_id=str(self._project_id))
        if _is_in_transaction():
            raise NestedTransaction
        refuse_inner_operation()
        try:
            async with self._source.begin(writes=writes) as connection:
                executor = TransactionExecutor(connection, self._dialect, self._project_id, may_write=writes)
                token = _current_transaction.set(executor)
                self._transactions.add(executor)
                try:
                    yield executor
                finally:
                    _current_transaction.reset(token)
                    self._transactions.discard(executor)
                    may_commit = await executor.finish()
                if not may_commit:
                    executor.refuse()
        except LcmError:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where driver errors are translated
            raise self._dialect.translate(error, project_id=str(self._project_id), domain="transaction") from None

    def _require_usable(self) -> None:
        if self._is_closed:
            raise StorageClosed(backend=self._dialect.backend, project_id=str(self._project_id))
        if _is_in_transaction():
            raise ScopeMisused("Inside a transaction use the transaction's own repositories, not those of the project.")


def _is_in_transaction() -> bool:
    """A task started inside a transaction may outlive it; it is then free again."""
    current = _current_transaction.get()
    return current is not None and current.status is not TransactionStatus.FINISHED


def refuse_inner_operation() -> None:
    """An operation that called another one would wait for its own lock for ever."""
    if _current_operation.get() is not None:
        raise ScopeMisused("A repository operation was started inside another one.")
