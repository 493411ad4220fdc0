"""Summaries: the nodes of the DAG. A leaf (depth 0) covers messages, a condensed one (depth >= 1) covers summaries."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SummaryKind(StrEnum):
    LEAF = "leaf"
    CONDENSED = "condensed"


class SummaryOrigin(StrEnum):
    """What wrote the text: a model, the extractive summarizer, or deterministic truncation (the labelled fallback)."""

    MODEL = "model"
    EXTRACTIVE = "extractive"
    TRUNCATED = "truncated"


class EscalationLevel(StrEnum):
    NORMAL = "normal"
    AGGRESSIVE = "aggressive"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary to insert; its sources are linked by a second call in the same transaction.

    Attributes:
        earliest_at, latest_at: time range of the source material (`occurred_at`).
        descendant_count: all summaries below it, transitively.
        descendant_token_count: their tokens; source_message_token_count: tokens of the raw messages below it.
        file_ids: large files mentioned in the sources, in order of first mention.
    """

    conversation_id: int
    kind: SummaryKind
    depth: int
    content: str
    token_count: int
    earliest_at: datetime | None
    latest_at: datetime | None
    descendant_count: int = 0
    descendant_token_count: int = 0
    source_message_token_count: int = 0
    file_ids: tuple[str, ...] = ()
    origin: SummaryOrigin = SummaryOrigin.MODEL
    level: EscalationLevel = EscalationLevel.NORMAL
    model: str | None = None
    prompt_version: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A stored summary; `summary_id` is what people and models type, `summary_key` travels between databases."""

    summary_key: uuid.UUID
    summary_id: str
    conversation_id: int
    kind: SummaryKind
    depth: int
    content: str
    token_count: int
    earliest_at: datetime | None
    latest_at: datetime | None
    descendant_count: int
    descendant_token_count: int
    source_message_token_count: int
    file_ids: tuple[str, ...]
    origin: SummaryOrigin
    level: EscalationLevel
    model: str | None
    prompt_version: str | None
    superseded_by_key: uuid.UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SubtreeEntry:
    """A summary found below another: `depth_from_root` is 1 for its direct children.

    A summary reachable by several paths appears once, under the first path in order of (depth, path).
    """

    summary: Summary
    parent_key: uuid.UUID
    depth_from_root: int
    path: tuple[int, ...]
