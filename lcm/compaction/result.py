"""What a compaction did, or would do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    """Why a compaction ended.

    DONE: summaries were made and nothing is left to do. NOTHING_TO_COMPACT: there was nothing to do.
    NO_PROGRESS: the last attempts saved too little to be stored. CONTEXT_CHANGED: another compaction did the work.
    TARGET_REACHED, TAIL_OVER_TARGET, ROUND_LIMIT: of compaction until under a target; the second means that the
    protected messages alone are too many. BELOW_MIN_TOKENS: not worth it in a batch. UNKNOWN_COST: there is a limit of
    money, and a price is unknown. STORAGE_FAILED, SUMMARIZER_UNAVAILABLE: failures. NOT_TRIED: a batch ended before.
    """

    DONE = "done"
    NOTHING_TO_COMPACT = "nothing_to_compact"
    NO_PROGRESS = "no_progress"
    PASS_LIMIT = "pass_limit"  # noqa: S105 (not a password)
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 (not a password)
    COST_LIMIT = "cost_limit"
    UNKNOWN_COST = "unknown_cost"
    TARGET_REACHED = "target_reached"
    TAIL_OVER_TARGET = "tail_over_target"
    ROUND_LIMIT = "round_limit"
    BELOW_MIN_TOKENS = "below_min_tokens"
    NOT_TRIED = "not_tried"
    STORAGE_FAILED = "storage_failed"
    CONTEXT_CHANGED = "context_changed"
    SUMMARIZER_UNAVAILABLE = "summarizer_unavailable"


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction did to one conversation. Tokens are those of its context, nothing else.

    Attributes:
        message: one safe sentence about a failure of the summarizer or the storage.
        passes: attempts, stored or not.
        model_calls: calls in the ledger, failed ones included; an offline summarizer makes none.
        cost_micros: in millionths; None when the price of a call is unknown.
    """

    conversation_id: int
    stop_reason: StopReason
    summaries_created: int
    passes: int
    tokens_before: int
    tokens_after: int
    model_calls: int
    cost_micros: int | None
    message: str | None = None

    @property
    def action_taken(self) -> bool:
        """Whether at least one summary was created."""
        return self.summaries_created > 0


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """State of a running sweep, after each pass."""

    passes: int
    summaries_created: int
    tokens_before: int
    tokens_now: int


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep would start with: the eligible leaf chunks, and the condensations of the summaries that exist."""

    conversation_id: int
    context_tokens: int
    leaf_chunks: int
    leaf_messages: int
    leaf_tokens: int
    condensations: int
    condensation_tokens: int

    @property
    def is_empty(self) -> bool:
        return self.leaf_chunks == 0 and self.condensations == 0
