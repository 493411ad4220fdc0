"""Context items as literal lists, for the pure decisions of compaction."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime

from lcm.compaction.policy import CompactionPolicy
from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.messages import Role
from lcm.domain.summaries import SummaryKind

AT = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)

POLICY = CompactionPolicy(
    fresh_tail_count=2,
    fresh_tail_max_tokens=None,
    leaf_chunk_tokens=100,
    leaf_min_fanout=3,
    condensed_min_fanout=2,
    condensed_min_fanout_hard=2,
    leaf_target_tokens=9,
    condensed_target_tokens=40,
    context_threshold=0.75,
    max_passes=50,
    max_seconds=60,
)


def raw(tokens: int = 10, *, calls: str = "", answers: str = "", api: str | None = None) -> ContextItem:
    """A message; each letter of `calls` and `answers` is the id of a tool call made or answered."""
    return ContextItem(
        ordinal=0,
        position=0,
        ref=ItemRef(message_id=0),
        token_count=tokens,
        occurred_at=AT,
        role=Role.ASSISTANT if calls or api else Role.TOOL if answers else Role.USER,
        api_message_id=api,
        tool_call_ids=tuple(calls),
        tool_result_ids=tuple(answers),
    )


def summary(tokens: int = 20, *, depth: int = 0) -> ContextItem:
    return ContextItem(
        ordinal=0,
        position=0,
        ref=ItemRef(summary_key=uuid.UUID(int=0)),
        token_count=tokens,
        occurred_at=AT,
        kind=SummaryKind.CONDENSED if depth else SummaryKind.LEAF,
        depth=depth,
    )


def context(*items: ContextItem) -> list[ContextItem]:
    """The items numbered as storage would: message ids and summary keys are 1, 2, ..."""
    return [_placed(item, index) for index, item in enumerate(items)]


def _placed(item: ContextItem, index: int) -> ContextItem:
    number = index + 1
    ref = ItemRef(message_id=number) if item.is_message else ItemRef(summary_key=uuid.UUID(int=number))
    return replace(
        item,
        ordinal=index,
        position=number * 1024,
        ref=ref,
        summary_id=None if item.is_message else f"sum_{number:016x}",
    )
