"""The summary DAG. A summary's children are what it was made from (the specification's `summary_parents`).

An edge is live in one conversation while its upper summary stands for its sources there: every message and summary has
at most one live upper summary per conversation.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Protocol

from lcm.domain.context import ItemRef
from lcm.domain.messages import Message
from lcm.domain.summaries import NewSummary, SubtreeEntry, Summary


class SummaryRepository(Protocol):
    async def insert_summary(self, new: NewSummary) -> Summary:
        """Store the node with its file references and search words; `summary_id` and `summary_key` are made here."""
        ...

    async def insert_in_place(
        self, new: NewSummary, sources: Sequence[ItemRef], *, fence: int | None = None
    ) -> Summary:
        """Store a node, link it to its sources in this order and put it in their place in its conversation's context.

        The same as `insert_summary`, `link_messages` or `link_children` and `ContextRepository.replace_range` in one
        operation, with the same guards; nothing is written unless all is. `fence` is as in `replace_range`.

        Raises:
            UnknownConversation; InvalidInput: no sources, or not of the kind's; OutOfRange: one is not less deep.
            ContextChanged: the sources are not in the context side by side in this order.
            IdentityConflict: one has a live upper summary already.
        """
        ...

    async def link_messages(self, summary_key: uuid.UUID, message_ids: Sequence[int]) -> None:
        """Link a leaf to its source messages in this order.

        Raises:
            UnknownSummary; InvalidInput: no leaf, or no messages; IdentityConflict: one is unknown or has a live leaf.
        """
        ...

    async def link_children(self, summary_key: uuid.UUID, child_keys: Sequence[uuid.UUID]) -> None:
        """Link a condensed summary to the summaries it merges, in this order.

        Raises:
            UnknownSummary: it or a child; InvalidInput: a leaf, or no children; OutOfRange: a child is not less deep;
            IdentityConflict: a child has a live upper summary.
        """
        ...

    async def supersede(self, summary_key: uuid.UUID, new: NewSummary) -> Summary:
        """Put a new node over the same sources in the place of a summary, and return it.

        It takes over the links, the place below an upper summary and in every context that shows the old one; sums
        above are corrected. The old node stays, without a place, and names its successor.

        Raises:
            UnknownSummary; InvalidInput: another conversation, depth, time range, files or counts of sources.
            IdentityConflict: it was superseded already.
        """
        ...

    async def list_fallbacks(self, conversation_id: int) -> list[Summary]:
        """Summaries in use whose text is a truncation of their source, the least deep first, then by insertion."""
        ...

    async def get_summary(self, summary_id: str) -> Summary:
        """Raises `UnknownSummary`."""
        ...

    async def list_by_key(self, summary_keys: Sequence[uuid.UUID]) -> list[Summary]:
        """The summaries that exist among these, in the order given."""
        ...

    async def find_by_prefix(self, prefix: str, *, limit: int = 20) -> list[Summary]:
        """Summaries whose id starts with `prefix`, by summary id."""
        ...

    async def list_summaries(self, conversation_id: int) -> list[Summary]:
        """By (created_at, insertion)."""
        ...

    async def list_recent(self, *, limit: int, session_id: str | None = None) -> list[Summary]:
        """Newest first, of the project or of one session."""
        ...

    async def list_children(self, summary_key: uuid.UUID) -> list[Summary]:
        """The summaries it merges, in link order; empty for a leaf."""
        ...

    async def list_uppers(self, summary_key: uuid.UUID) -> list[Summary]:
        """The summaries that merge it, by insertion."""
        ...

    async def list_messages(self, summary_key: uuid.UUID) -> list[Message]:
        """A leaf's source messages, in link order; empty for a condensed summary."""
        ...

    async def list_subtree(self, summary_key: uuid.UUID, *, max_depth: int | None = None) -> list[SubtreeEntry]:
        """All summaries below it down to `max_depth` levels (None: all), by (depth_from_root, path), each once."""
        ...
