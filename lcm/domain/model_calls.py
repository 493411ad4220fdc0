"""Calls of a summarizing model: what was reserved, what was used, what it cost."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class CallStatus(StrEnum):
    """`reserved` until the answer is known; a reservation that stays is a call interrupted in flight."""

    RESERVED = "reserved"
    ANSWERED = "answered"
    REJECTED = "rejected"
    FAILED = "failed"


class FaultKind(StrEnum):
    """Why a provider gave no answer: a stable word for the ledger, the breaker and the log."""

    KEY_MISSING = "key_missing"
    KEY_REJECTED = "key_rejected"
    NOT_PAID = "not_paid"
    NOT_ALLOWED = "not_allowed"
    MODEL_UNKNOWN = "model_unknown"
    REFUSED = "refused"
    FILTERED = "filtered"
    TOO_LONG = "too_long"
    CONFLICT = "conflict"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    TLS_FAILED = "tls_failed"
    SERVER_FAILED = "server_failed"
    GARBLED = "garbled"


@dataclass(frozen=True, slots=True)
class CallReservation:
    """A call about to be made."""

    conversation_id: int
    purpose: str
    model: str
    level: str
    depth: int
    reserved_tokens: int


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended; `cost_micros` is None when the price is unknown.

    `error_code` of a failed call is a `FaultKind`, `cancelled`, or an error's code; of a rejected one why its answer
    was no use: `empty`, `cut`, `reasoning_only`, `filtered`, `not_smaller`.
    """

    status: CallStatus
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_micros: int | None = None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    call_key: uuid.UUID
    reservation: CallReservation
    outcome: CallOutcome
    started_at: datetime
    finished_at: datetime | None
