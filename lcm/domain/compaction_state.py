"""How the last compaction left a conversation, so that the same work is neither repeated nor paid twice."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class CompactionMode(StrEnum):
    SWEEP = "sweep"
    INCREMENTAL = "incremental"
    UNTIL_UNDER = "until_under"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class CompactionState:
    """What a run of one mode left behind.

    Attributes:
        context_revision: of the conversation when the run was through with it; a later one means new work.
        policy_sha256: of everything the outcome depends on besides the context: policy, target, model, prompts.
        stop_reason: why the run ended.
        last_summary_key: what a replay carries over to the next conversation; None when there is nothing.
    """

    conversation_id: int
    mode: CompactionMode
    context_revision: int
    policy_sha256: bytes
    stop_reason: str
    last_summary_key: uuid.UUID | None
    noted_at: datetime
