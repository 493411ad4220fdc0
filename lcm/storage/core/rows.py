"""Between rows and domain objects: the only place that knows both; new messages go by `message_rows`."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from lcm.domain.breakers import Breaker, BreakerState
from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.domain.context import AuditAction, ContextAudit
from lcm.domain.conversations import Conversation, Relation
from lcm.domain.ingest import Checkpoint, Source
from lcm.domain.large_files import LargeFile
from lcm.domain.messages import Exclusion, IdentityKind, Message, MessagePart, PartType, Role
from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus, ModelCall
from lcm.domain.summaries import EscalationLevel, NewSummary, Summary, SummaryKind, SummaryOrigin
from lcm.errors import InvalidInput
from lcm.text import require_safe, require_safe_integer

Row = Any
Values = dict[str, Any]


def require_aware(field: str, value: datetime) -> None:
    if getattr(value, "tzinfo", None) is None:
        raise InvalidInput(f"The field {field} needs a time with its zone.")


def require_safe_texts(new: object, *names: str) -> None:
    """Refuse unsafe text in these attributes; None is absent."""
    for name in names:
        value = getattr(new, name)
        if value is not None:
            require_safe(name, value)


def require_safe_integers(new: object, *names: str) -> None:
    """Refuse unsafe integers in these attributes; None is absent."""
    for name in names:
        value = getattr(new, name)
        if value is not None:
            require_safe_integer(name, value)


def to_message(row: Row) -> Message:
    return Message(
        message_id=safe(row.message_id),
        conversation_id=safe(row.conversation_id),
        seq=safe(row.seq),
        role=Role(row.role),
        content=row.content,
        token_count=safe(row.token_count),
        occurred_at=row.occurred_at,
        created_at=row.created_at,
        ingest_key=bytes(row.ingest_key),
        identity_kind=IdentityKind(row.identity_kind),
        identity_occurrence=safe(row.identity_occurrence),
        api_message_id=row.api_message_id,
        source_ordinal=row.source_ordinal,
        exclusion=Exclusion(row.context_exclusion) if row.context_exclusion else None,
        content_sha256=bytes(row.content_sha256),
    )


def to_part(row: Row) -> MessagePart:
    return MessagePart(
        ordinal=safe(row.ordinal),
        part_type=PartType(row.part_type),
        content_start=row.content_start,
        content_end=row.content_end,
        text=row.text,
        tool_call_id=row.tool_call_id,
        tool_name=row.tool_name,
        is_error=None if row.is_error is None else bool(row.is_error),
        file_id=row.file_id,
        metadata=row.metadata,
    )


def to_conversation(row: Row) -> Conversation:
    return Conversation(
        conversation_id=safe(row.conversation_id),
        conversation_key=row.conversation_key,
        session_id=row.session_id,
        client=row.client,
        title=row.title,
        relation=Relation(row.relation),
        base_conversation_id=row.base_conversation_id,
        base_message_id=row.base_message_id,
        parent_tool_call_id=row.parent_tool_call_id,
        context_revision=safe(row.context_revision),
        bootstrapped_at=row.bootstrapped_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def summary_values(new: NewSummary, *, project_id: uuid.UUID, key: uuid.UUID, summary_id: str, at: datetime) -> Values:
    return {
        "project_id": project_id,
        "summary_key": key,
        "summary_id": summary_id,
        "conversation_id": new.conversation_id,
        "kind": new.kind.value,
        "depth": new.depth,
        "content": new.content,
        "token_count": new.token_count,
        "earliest_at": new.earliest_at,
        "latest_at": new.latest_at,
        "descendant_count": new.descendant_count,
        "descendant_token_count": new.descendant_token_count,
        "source_message_token_count": new.source_message_token_count,
        "origin": new.origin.value,
        "level": new.level.value,
        "model": new.model,
        "prompt_version": new.prompt_version,
        "superseded_by_key": None,
        "created_at": at,
    }


def to_summary(row: Row, file_ids: tuple[str, ...]) -> Summary:
    return Summary(
        summary_key=row.summary_key,
        summary_id=row.summary_id,
        conversation_id=safe(row.conversation_id),
        kind=SummaryKind(row.kind),
        depth=safe(row.depth),
        content=row.content,
        token_count=safe(row.token_count),
        earliest_at=row.earliest_at,
        latest_at=row.latest_at,
        descendant_count=safe(row.descendant_count),
        descendant_token_count=safe(row.descendant_token_count),
        source_message_token_count=safe(row.source_message_token_count),
        file_ids=file_ids,
        origin=SummaryOrigin(row.origin),
        level=EscalationLevel(row.level),
        model=row.model,
        prompt_version=row.prompt_version,
        superseded_by_key=row.superseded_by_key,
        created_at=row.created_at,
    )


def to_large_file(row: Row) -> LargeFile:
    return LargeFile(
        file_id=row.file_id,
        conversation_id=safe(row.conversation_id),
        size_bytes=safe(row.size_bytes),
        content_sha256=bytes(row.content_sha256),
        storage_uri=row.storage_uri,
        file_name=row.file_name,
        mime_type=row.mime_type,
        exploration_summary=row.exploration_summary,
        created_at=row.created_at,
    )


def to_source(row: Row) -> Source:
    return Source(
        source_id=safe(row.source_id),
        client=row.client,
        locator=row.locator,
        revision=safe(row.revision),
        checkpoint=Checkpoint(
            offset=safe(row.byte_offset),
            line_count=safe(row.line_count),
            inode=int(row.inode),
            tail_sha256=bytes(row.tail_sha256),
            parser_state=row.parser_state,
        ),
        updated_at=row.updated_at,
    )


def to_model_call(row: Row) -> ModelCall:
    return ModelCall(
        call_key=row.call_key,
        reservation=CallReservation(
            conversation_id=safe(row.conversation_id),
            purpose=row.purpose,
            model=row.model,
            level=row.level,
            depth=safe(row.depth),
            reserved_tokens=safe(row.reserved_tokens),
        ),
        outcome=CallOutcome(
            status=CallStatus(row.status),
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost_micros=row.cost_micros,
            error_code=row.error_code,
        ),
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def compaction_state_values(state: CompactionState, *, project_id: uuid.UUID) -> Values:
    """Raises `OutOfRange`, `UnsafeText` or `InvalidInput` naming the field."""
    require_safe_integers(state, "context_revision")
    require_safe_texts(state, "stop_reason")
    require_aware("noted_at", state.noted_at)
    return {
        "project_id": project_id,
        "conversation_id": state.conversation_id,
        "mode": state.mode.value,
        "context_revision": state.context_revision,
        "policy_sha256": state.policy_sha256,
        "stop_reason": state.stop_reason,
        "last_summary_key": state.last_summary_key,
        "noted_at": state.noted_at,
    }


def to_compaction_state(row: Row) -> CompactionState:
    return CompactionState(
        conversation_id=safe(row.conversation_id),
        mode=CompactionMode(row.mode),
        context_revision=safe(row.context_revision),
        policy_sha256=bytes(row.policy_sha256),
        stop_reason=row.stop_reason,
        last_summary_key=row.last_summary_key,
        noted_at=row.noted_at,
    )


def breaker_values(breaker: Breaker, *, project_id: uuid.UUID) -> Values:
    """Raises `OutOfRange`, `UnsafeText` or `InvalidInput` naming the field."""
    require_safe_integers(breaker, "failures")
    require_safe_texts(breaker, "provider", "model", "error_code")
    for name in ("opened_at", "probe_at", "updated_at"):
        at = getattr(breaker, name)
        if at is not None:
            require_aware(name, at)
    return {
        "project_id": project_id,
        "provider": breaker.provider,
        "model": breaker.model,
        "state": breaker.state.value,
        "failures": breaker.failures,
        "error_code": breaker.error_code,
        "opened_at": breaker.opened_at,
        "probe_at": breaker.probe_at,
        "updated_at": breaker.updated_at,
    }


def to_breaker(row: Row) -> Breaker:
    return Breaker(
        provider=row.provider,
        model=row.model,
        state=BreakerState(row.state),
        failures=safe(row.failures),
        error_code=row.error_code,
        opened_at=row.opened_at,
        probe_at=row.probe_at,
        updated_at=row.updated_at,
    )


def context_audit_values(audit: ContextAudit, *, project_id: uuid.UUID) -> Values:
    return {
        "audit_key": audit.audit_key,
        "project_id": project_id,
        "conversation_id": audit.conversation_id,
        "message_id": audit.message_id,
        "action": audit.action.value,
        "reason": audit.reason,
        "exclusion_before": audit.exclusion_before.value if audit.exclusion_before else None,
        "created_at": audit.created_at,
    }


def to_context_audit(row: Row) -> ContextAudit:
    return ContextAudit(
        audit_key=row.audit_key,
        conversation_id=safe(row.conversation_id),
        message_id=safe(row.message_id),
        action=AuditAction(row.action),
        reason=row.reason,
        exclusion_before=Exclusion(row.exclusion_before) if row.exclusion_before else None,
        created_at=row.created_at,
    )


def safe(value: int) -> int:
    """A stored integer, range-checked: a damaged one fails instead of losing precision later."""
    number = int(value)
    require_safe_integer("stored integer", number)
    return number
