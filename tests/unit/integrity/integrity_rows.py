"""Raw rows with defaults, for tests of the pure checks."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from lcm.integrity.messages import recomputed_digest
from lcm.storage.contracts.integrity import (
    ChildLink,
    ConversationRow,
    ItemRow,
    LiveLeaf,
    MessageRow,
    PartRow,
    SourceGroup,
    SummaryRow,
)
from tests.factories import START


def key(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def conversation_row(conversation_id: int, base: int | None = None, **fields: Any) -> ConversationRow:
    values: dict[str, Any] = {
        "session_id": f"session-{conversation_id}",
        "base_message_id": None,
        "base_message_owner": None,
        "context_revision": 0,
        **fields,
    }
    return ConversationRow(conversation_id=conversation_id, base_conversation_id=base, **values)


def part_row(ordinal: int = 0, start: int | None = 0, end: int | None = 5, **fields: Any) -> PartRow:
    values: dict[str, Any] = {
        "part_type": "text",
        "text": None,
        "tool_call_id": None,
        "tool_name": None,
        "is_error": None,
        "file_id": None,
        "metadata": None,
        **fields,
    }
    return PartRow(ordinal=ordinal, content_start=start, content_end=end, **values)


def message_row(**fields: Any) -> MessageRow:
    """Message 1:0, `hello`, in context, with the digest that belongs to it."""
    row = MessageRow(
        message_id=1,
        conversation_id=1,
        seq=0,
        role="user",
        content="hello",
        token_count=2,
        ingest_key=b"k" * 32,
        identity_kind="uuid",
        identity_occurrence=0,
        exclusion=None,
        content_sha256=b"",
        parts=(part_row(),),
        item_count=1,
        live_leaves=(),
    )
    digest = recomputed_digest(row)
    assert digest is not None
    return replace(row, content_sha256=digest, **fields)


def live_leaf(number: int, conversation_id: int = 1) -> LiveLeaf:
    return LiveLeaf(conversation_id, key(number))


def leaf_row(number: int, *, tokens: int = 10, **fields: Any) -> SummaryRow:
    """A leaf over two messages of conversation 1."""
    group = SourceGroup(1, 1, True, 2, 0, 1, 1, tokens, START, START)
    values: dict[str, Any] = {"sources": (group,), "children": (), "source_message_token_count": tokens, **fields}
    return _summary_row(number, "leaf", 0, values)


def merge_row(number: int, *children: int, depth: int = 1, **fields: Any) -> SummaryRow:
    """A condensed summary over others of conversation 1."""
    links = tuple(ChildLink(key(child), 1, ordinal, is_live=True) for ordinal, child in enumerate(children))
    return _summary_row(number, "condensed", depth, {"sources": (), "children": links, **fields})


def _summary_row(number: int, kind: str, depth: int, fields: dict[str, Any]) -> SummaryRow:
    values: dict[str, Any] = {
        "conversation_id": 1,
        "content_chars": 40,
        "has_own_text": True,
        "token_count": 3,
        "earliest_at": START,
        "latest_at": START,
        "descendant_count": 0,
        "descendant_token_count": 0,
        "source_message_token_count": 0,
        "superseded_by_key": None,
        "file_ids": (),
        **fields,
    }
    return SummaryRow(summary_key=key(number), summary_id=f"sum_{number}", kind=kind, depth=depth, **values)


def nodes(*rows: SummaryRow) -> dict[uuid.UUID, SummaryRow]:
    return {row.summary_key: row for row in rows}


def item_row(position: int, **fields: Any) -> ItemRow:
    values: dict[str, Any] = {
        "message_id": None,
        "summary_key": None,
        "message_owner": None,
        "message_seq": None,
        "leaf_keys": (),
        **fields,
    }
    return ItemRow(position=position, **values)
