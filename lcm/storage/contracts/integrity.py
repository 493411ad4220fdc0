"""Raw rows for the proof: nothing is range-checked, so that a damaged row is read and named instead of failing.

Everything here only reads. Pages are ordered; a page shorter than `limit` is the last one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from lcm.domain.large_files import LargeFile


class Placing(NamedTuple):
    """How a message came into its context: with those that were stored by the same append.

    Attributes:
        conversation_id, seq: of the message.
        source_id: what it was read from; None when it came by another way, which promises no order.
        stored_at: when it was stored; of one append all messages have the same time and source.
    """

    conversation_id: int
    seq: int
    source_id: int | None
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation; `base_message_owner` is the conversation that holds its base message, None when that is gone."""

    conversation_id: int
    session_id: str
    base_conversation_id: int | None
    base_message_id: int | None
    base_message_owner: int | None
    context_revision: int


@dataclass(frozen=True, slots=True)
class PartRow:
    """A message part; the enumerated fields are what is stored, known to lcm or not."""

    ordinal: int
    part_type: str
    content_start: int | None
    content_end: int | None
    text: str | None
    tool_call_id: str | None
    tool_name: str | None
    is_error: bool | None
    file_id: str | None
    metadata: str | None


@dataclass(frozen=True, slots=True)
class LiveLeaf:
    """A live link to a leaf, in one conversation."""

    conversation_id: int
    summary_key: uuid.UUID


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message with its parts and places.

    Attributes:
        content: None when the stored bytes are no UTF-8 text.
        parts: by ordinal; None when one of their texts is no UTF-8 text.
        item_count: context items of its own conversation that show it.
        live_leaves: its live links in any conversation.
        source_id: what it was read from; None when a program stored it without a source.
    """

    message_id: int
    conversation_id: int
    seq: int
    role: str
    content: str | None
    token_count: int
    ingest_key: bytes
    identity_kind: str
    identity_occurrence: int
    exclusion: str | None
    content_sha256: bytes
    parts: tuple[PartRow, ...] | None
    item_count: int
    live_leaves: tuple[LiveLeaf, ...]
    source_id: int | None = None


@dataclass(frozen=True, slots=True)
class ChildLink:
    """A condensed summary's link to one that it merges."""

    child_key: uuid.UUID
    conversation_id: int
    ordinal: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """A leaf's message links of one kind, with sums over their messages.

    Attributes:
        message_owner: conversation of the messages; None when the messages are gone.
        conversation_id, is_live: as the links say.
        ordinal_sum: of all ordinals; with the lowest and the highest it shows gaps.
    """

    message_owner: int | None
    conversation_id: int
    is_live: bool
    link_count: int
    lowest_ordinal: int
    highest_ordinal: int
    ordinal_sum: int
    token_count: int
    earliest_at: datetime | None
    latest_at: datetime | None


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A summary with its links, without its text; `file_ids` are by ordinal.

    `has_own_text`: the id is the one that its text and time give, so the text is the one that was stored.
    """

    summary_key: uuid.UUID
    summary_id: str
    conversation_id: int
    kind: str
    depth: int
    content_chars: int
    has_own_text: bool
    token_count: int
    earliest_at: datetime | None
    latest_at: datetime | None
    descendant_count: int
    descendant_token_count: int
    source_message_token_count: int
    superseded_by_key: uuid.UUID | None
    children: tuple[ChildLink, ...]
    sources: tuple[SourceGroup, ...]
    file_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A context item.

    Attributes:
        message_owner, message_seq: place of the message it shows; None when it shows a summary or the message is gone.
        leaf_keys: leaves linked to that message, live or not.
        placing: how that message came into its context.
    """

    position: int
    message_id: int | None
    summary_key: uuid.UUID | None
    message_owner: int | None
    message_seq: int | None
    leaf_keys: tuple[uuid.UUID, ...]
    placing: Placing | None = None


class SourceLink(NamedTuple):
    """A leaf's link to one of its messages, and how that came into its context; None for a message that is gone.

    The last four are those of `Placing`; a tuple, because there are as many as messages.
    """

    summary_key: uuid.UUID
    ordinal: int
    message_id: int
    conversation_id: int | None
    seq: int | None
    source_id: int | None
    stored_at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A message was taken out of a context by hand, or put back, as `action` says."""

    conversation_id: int
    message_id: int
    action: str


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """How far a source was read; `state` is the JSON text that reading goes on from."""

    source_id: int
    state: str


@dataclass(frozen=True, slots=True)
class CompactionStateRow:
    """What compaction remembers of a conversation; `conversation_revision` is that of the context now."""

    conversation_id: int
    mode: str
    context_revision: int
    conversation_revision: int | None
    policy_sha256: bytes
    stop_reason: str
    last_summary_key: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class BreakerRow:
    """The circuit breaker of a provider's model."""

    provider: str
    model: str
    state: str
    failures: int
    opened_at: datetime | None
    probe_at: datetime | None


@dataclass(frozen=True, slots=True)
class OrphanRows:
    """Rows whose owner is gone.

    Attributes:
        rows: what they are: messages, summaries, context items, large files, parts, links, file references.
        owner: what is gone: conversation, message, summary.
        owner_id: row id or key of the owner, as text.
    """

    rows: str
    owner: str
    owner_id: str
    row_count: int


class IntegrityRepository(Protocol):
    async def list_conversations(self) -> list[ConversationRow]:
        """All of the project, by conversation id."""
        ...

    async def list_messages(
        self, conversation_id: int, *, after: tuple[int, int] | None = None, limit: int
    ) -> list[MessageRow]:
        """A page by (seq, message_id), behind that pair."""
        ...

    async def list_summaries(self, *, after: uuid.UUID | None = None, limit: int) -> list[SummaryRow]:
        """A page of the project's summaries by key."""
        ...

    async def list_shown_summaries(self) -> list[tuple[int, uuid.UUID]]:
        """(conversation id, summary key) of every context item that shows a summary, by (conversation, position)."""
        ...

    async def list_items(self, conversation_id: int, *, after: int | None = None, limit: int) -> list[ItemRow]:
        """A page of a context by position."""
        ...

    async def list_source_links(
        self, *, after: tuple[uuid.UUID, int, int] | None = None, limit: int
    ) -> list[SourceLink]:
        """A page of the links of all leaves by (summary key, ordinal, message id), behind those."""
        ...

    async def list_audits(self) -> list[AuditRow]:
        """All of the project, oldest first; there are as many as a person made."""
        ...

    async def list_borrowed(self) -> list[tuple[int, int]]:
        """(conversation, conversation of a message that one of its sources holds too), each pair once, ascending."""
        ...

    async def list_checkpoints(self, *, after: int | None = None, limit: int) -> list[CheckpointRow]:
        """A page of the project's sources by id."""
        ...

    async def find_lost_keys(self, ingest_keys: Sequence[bytes]) -> list[bytes]:
        """Those under which no message is stored and of which none was pruned, ascending."""
        ...

    async def count_lost_messages(self) -> int | None:
        """How many messages were stored once, are gone, and were not pruned; None where the backend cannot tell."""
        ...

    async def list_compaction_states(self) -> list[CompactionStateRow]:
        """All of the project, by (conversation id, mode)."""
        ...

    async def list_breakers(self) -> list[BreakerRow]:
        """All of the project, by (provider, model)."""
        ...

    async def list_files(
        self, conversation_id: int | None = None, *, after: str | None = None, limit: int
    ) -> list[LargeFile]:
        """A page of large files of one conversation or the project, by file id."""
        ...

    async def find_file_digests(self, file_ids: Sequence[str]) -> Mapping[str, bytes]:
        """SHA-256 of the bytes by file id; ids without a row are absent."""
        ...

    async def count_unanswered_calls(self, conversation_id: int | None = None) -> int:
        """Tool calls of one conversation or the project that no result in the project answers."""
        ...

    async def list_counters(self) -> list[tuple[str, int]]:
        """(name, value) of the counters that only grow, by name."""
        ...

    async def list_orphans(self, *, limit: int) -> list[OrphanRows]:
        """Rows whose owner is gone, by kind of row; at most `limit` owners of each kind."""
        ...
