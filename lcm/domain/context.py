"""Context items: the ordered list of what the model sees of one conversation."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lcm.domain.messages import Exclusion, Role
from lcm.domain.summaries import SummaryKind


@dataclass(frozen=True, slots=True)
class ItemRef:
    """What a context item refers to: exactly one of a message or a summary."""

    message_id: int | None = None
    summary_key: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One entry of the context, cheap to list: it carries what decisions need, not the text.

    Attributes:
        ordinal: rank on read, 0..n-1; position: the sparse stored place.
        role: of the message; None for a summary. depth and kind: of the summary; None for a message.
        tool_call_ids, tool_result_ids: ids of the calls a message makes and answers, in part order.
    """

    ordinal: int
    position: int
    ref: ItemRef
    token_count: int
    occurred_at: datetime | None
    role: Role | None = None
    api_message_id: str | None = None
    summary_id: str | None = None
    kind: SummaryKind | None = None
    depth: int | None = None
    tool_call_ids: tuple[str, ...] = ()
    tool_result_ids: tuple[str, ...] = ()

    @property
    def is_message(self) -> bool:
        return self.ref.message_id is not None


class AuditAction(StrEnum):
    """What a person did to a message's place in the context."""

    EXCLUDE = "exclude"
    INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class ContextAudit:
    """One message that was taken out of a context by hand, or put back.

    Attributes:
        conversation_id: whose context; a fork's may be another one than the message's own.
        reason: a person's words, redacted.
        exclusion_before: why the message was left out before; None when it was not.
    """

    audit_key: uuid.UUID
    conversation_id: int
    message_id: int
    action: AuditAction
    reason: str
    exclusion_before: Exclusion | None
    created_at: datetime
