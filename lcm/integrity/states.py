"""What can be wrong with what compaction remembers between runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lcm.domain.breakers import BreakerState
from lcm.domain.compaction_state import CompactionMode
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.integrity.graph import Nodes
from lcm.storage.contracts.integrity import BreakerRow, CompactionStateRow

_MODES = frozenset(each.value for each in CompactionMode)
_BREAKER_STATES = frozenset(each.value for each in BreakerState)
_DIGEST_BYTES = 32


def check_compaction_state(row: CompactionStateRow, nodes: Nodes) -> Iterator[Fault]:
    """It is about a context that was there, under a mode that lcm knows."""
    about = f"compaction state {row.conversation_id}"
    if row.conversation_revision is None:
        yield fault(FaultKind.MISSING_CONVERSATION, about, "The conversation that it is about is gone.")
    elif not 0 <= row.context_revision <= row.conversation_revision:
        finding = f"It is about revision {row.context_revision} of a context that is at {row.conversation_revision}."
        yield fault(FaultKind.INVALID_VALUE, about, finding)
    if row.mode not in _MODES:
        yield fault(FaultKind.INVALID_VALUE, about, "Its mode is not one that lcm knows.")
    if len(row.policy_sha256) != _DIGEST_BYTES:
        yield fault(FaultKind.INVALID_VALUE, about, "Its digest of the policy is none.")
    if not row.stop_reason:
        yield fault(FaultKind.INVALID_VALUE, about, "It does not say why the run ended.")
    if row.last_summary_key is not None and row.last_summary_key not in nodes:
        yield fault(FaultKind.INVALID_VALUE, about, "The summary that it hands on is gone.")


def check_breaker(row: BreakerRow) -> Iterator[Fault]:
    about = f"circuit breaker {row.provider}/{row.model}"
    if row.state not in _BREAKER_STATES:
        yield fault(FaultKind.INVALID_VALUE, about, "Its state is not one that lcm knows.")
    if row.failures < 0:
        yield fault(FaultKind.INVALID_VALUE, about, "Its count of failures is negative.")
    if row.opened_at is not None and row.probe_at is not None and row.probe_at < row.opened_at:
        yield fault(FaultKind.INVALID_VALUE, about, "Its next probe is before it opened.")
