"""Every error lcm raises on purpose, as one tree.

    LcmError                      code, safe message, attributes; never SQL, values, URLs, file paths
    ├── InvalidInput              UnsafeText, OutOfRange, InvalidSetting
    ├── NotFound                  UnknownConversation, UnknownMessage, UnknownSummary, UnknownFile
    ├── AmbiguousId               lists the candidates
    ├── IdentityConflict          ProjectMismatch, MachineNotRegistered, FenceLost, ContextChanged
    ├── UnsupportedCapability
    ├── ProgrammingError          NestedTransaction, ScopeMisused
    ├── StorageError              backend, project_id, domain
    │   └── StorageUnavailable, StorageClosed, PublicationBlocked
    ├── MigrationError            ChecksumDrift, OutOfOrder, SchemaTooNew, FingerprintMismatch, GrantMismatch, NotOwner
    └── SummarizerError           SummarizerUnavailable, EmptySummary

A message says in one line what happened and what to do. HTTP and exit codes are mapped at the edge that uses them.
"""

from __future__ import annotations

from typing import ClassVar


class LcmError(Exception):
    """Base of all errors; `code` is stable, `str(error)` is one safe line for a person."""

    code: ClassVar[str] = "lcm_error"
    default_message: ClassVar[str] = "lcm failed."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.default_message)


class InvalidInput(LcmError):
    code = "invalid_input"
    default_message = "The input is not valid."


class UnsafeText(InvalidInput):
    """Text that cannot be stored on every backend (U+0000 or a lone surrogate), named by its field."""

    code = "unsafe_text"

    def __init__(self, field: str, reason: str = "U+0000") -> None:
        self.field = field
        super().__init__(f"The field {field} contains {reason}; remove or replace it and try again.")


class OutOfRange(InvalidInput):
    """A number outside the range its field allows."""

    code = "out_of_range"

    def __init__(self, field: str, allowed: str = "0 to 9007199254740991") -> None:
        self.field = field
        super().__init__(f"The field {field} is out of range; allowed is {allowed}.")


class InvalidSetting(InvalidInput):
    """A setting that is unknown or whose value is not allowed."""

    code = "invalid_setting"


class NotFound(LcmError):
    code = "not_found"
    default_message = "Nothing has this id in the searched project."


class UnknownConversation(NotFound):
    code = "unknown_conversation"
    default_message = "No such conversation in this project; list them with `lcm conversations`."


class UnknownMessage(NotFound):
    code = "unknown_message"
    default_message = "No such message in this conversation."


class UnknownSummary(NotFound):
    code = "unknown_summary"
    default_message = "No such summary in this project; find ids with `lcm search` or `lcm context`."


class UnknownFile(NotFound):
    code = "unknown_file"
    default_message = "No such stored file in this project."


class AmbiguousId(LcmError):
    """An id that names several things; `candidates` lists them as a person can type them."""

    code = "ambiguous_id"

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(f"The id is ambiguous; use one of: {', '.join(candidates)}.")


class IdentityConflict(LcmError):
    code = "identity_conflict"
    default_message = "The identity on record and the one given differ."


class ProjectMismatch(IdentityConflict):
    code = "project_mismatch"
    default_message = "The database belongs to another project; nothing was changed."


class MachineNotRegistered(IdentityConflict):
    code = "machine_not_registered"
    default_message = "This machine is not registered with the storage; nothing was changed."


class FenceLost(IdentityConflict):
    code = "fence_lost"
    default_message = "Another worker took over this work; nothing was written."


class ContextChanged(IdentityConflict):
    code = "context_changed"
    default_message = "The context changed meanwhile; nothing was written. Read it again and retry."


class UnsupportedCapability(LcmError):
    """An optional operation this backend does not offer; ask `project.capabilities` first."""

    code = "unsupported_capability"

    def __init__(self, capability: str, backend: str) -> None:
        self.capability = capability
        self.backend = backend
        super().__init__(f"The {backend} backend does not offer {capability}.")


class ProgrammingError(LcmError):
    code = "programming_error"


class NestedTransaction(ProgrammingError):
    code = "nested_transaction"
    default_message = "A transaction is already open here; nested transactions are refused."


class ScopeMisused(ProgrammingError):
    code = "scope_misused"
    default_message = "A repository was used outside the transaction or callback it belongs to."


class StorageError(LcmError):
    """The backend refused or failed an operation.

    Attributes:
        backend: `sqlite` or `postgresql`.
        project_id: the project whose operation failed, when known.
        domain: the repository, for example `conversations`.
    """

    code = "storage_error"
    default_message = "The storage operation failed; nothing was written. LCM_LOG_LEVEL=info tells more."

    def __init__(
        self,
        message: str | None = None,
        *,
        backend: str | None = None,
        project_id: str | None = None,
        domain: str | None = None,
    ) -> None:
        self.backend = backend
        self.project_id = project_id
        self.domain = domain
        super().__init__(message)


class StorageUnavailable(StorageError):
    code = "storage_unavailable"
    default_message = "The storage cannot be reached or is busy; try again."


class StorageClosed(StorageError):
    code = "storage_closed"
    default_message = "The storage scope is closed; open the project again."


class PublicationBlocked(StorageError):
    code = "publication_blocked"
    default_message = "The storage backend is being switched; wait or abort the switch."


class MigrationError(LcmError):
    code = "migration_error"
    default_message = "The schema migration failed; nothing was changed."


class ChecksumDrift(MigrationError):
    code = "checksum_drift"


class OutOfOrder(MigrationError):
    code = "out_of_order"


class SchemaTooNew(MigrationError):
    code = "schema_too_new"
    default_message = "The database was written by a newer lcm; upgrade lcm. Nothing was changed."


class FingerprintMismatch(MigrationError):
    code = "fingerprint_mismatch"


class GrantMismatch(MigrationError):
    code = "grant_mismatch"


class NotOwner(MigrationError):
    code = "not_owner"


class SummarizerError(LcmError):
    code = "summarizer_error"
    default_message = "The summarizer failed; nothing was changed."


class SummarizerUnavailable(SummarizerError):
    """No answer from the provider after its retries, or none is configured.

    Attributes:
        reason: a stable word for what went wrong, of `FaultKind`; None when no provider was asked.
        retry_after_s: what the provider asked to wait before the next call.
    """

    code = "summarizer_unavailable"

    def __init__(
        self, message: str | None = None, *, reason: str | None = None, retry_after_s: float | None = None
    ) -> None:
        self.reason = reason
        self.retry_after_s = retry_after_s
        super().__init__(message)


class EmptySummary(SummarizerError):
    """The provider answered without usable text; what the answer used is kept, because it is paid for all the same.

    Attributes:
        reason: `empty`, `cut`, `reasoning_only` or `filtered`.
        input_tokens, output_tokens, cost_micros: as in `SummaryAnswer`.
    """

    code = "empty_summary"

    def __init__(
        self,
        reason: str = "empty",
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cost_micros: int | None = None,
    ) -> None:
        self.reason = reason
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cost_micros = cost_micros
        super().__init__(f"The model's answer holds no usable text ({reason}).")
