"""The ordered context of a conversation. Every change adds one to `conversations.context_revision`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Protocol

from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.messages import Exclusion


class ContextRepository(Protocol):
    async def list_items(
        self,
        conversation_id: int,
        *,
        newest_first: bool = False,
        before_position: int | None = None,
        limit: int | None = None,
    ) -> list[ContextItem]:
        """Items by position (ascending, or descending with `newest_first`), optionally only before a position.

        `ordinal` is the rank among all items of the conversation, 0..n-1, in every page.

        Raises:
            UnknownConversation.
        """
        ...

    async def list_newest(
        self, conversation_id: int, *, before_position: int | None = None, limit: int, with_tools: bool = True
    ) -> list[ContextItem]:
        """A page as of `list_items` with `newest_first`, but no rank is counted: every `ordinal` is 0.

        It costs the same however many items lie before it. Without `with_tools` no message has ids of tool calls.

        Raises:
            UnknownConversation.
        """
        ...

    async def list_depths(self, conversation_id: int, *, before_ordinal: int | None = None) -> list[int]:
        """Distinct depths of the summaries in context, ascending; only of items with a smaller ordinal when given."""
        ...

    async def count_tokens(self, conversation_id: int) -> int:
        """Sum of the token counts of all items."""
        ...

    async def has_raw_tokens(self, conversation_id: int, tokens: int, *, before_position: int) -> bool:
        """Whether the messages before a position have at least so many tokens; reads no further back than it must.

        Raises:
            UnknownConversation.
        """
        ...

    async def count_items(self, conversation_id: int) -> int: ...

    async def append_messages(self, conversation_id: int, message_ids: Sequence[int]) -> None:
        """Append after the last item; a message already in this context raises `IdentityConflict`."""
        ...

    async def append_summary(self, conversation_id: int, summary_key: uuid.UUID) -> None: ...

    async def insert_messages_after(
        self, conversation_id: int, after: ItemRef | None, message_ids: Sequence[int]
    ) -> None:
        """Put messages right behind an item (None: before all); renumbers locally when the gap is used up.

        Raises:
            NotFound: `after` is not in this context.
        """
        ...

    async def find_place(self, conversation_id: int, message_id: int) -> ItemRef | None:
        """The item that shows a message: itself, or the live summary above it that is in context; None if neither."""
        ...

    async def find_nearest_place(self, conversation_id: int, message_id: int) -> ItemRef | None:
        """Like `find_place`; when the message is not shown, the item of the closest earlier one of its conversation."""
        ...

    async def find_furthest(self, conversation_id: int, message_ids: Sequence[int]) -> int | None:
        """The message among these that is shown furthest behind, itself or by the live summary above it.

        None when none of them is shown.
        """
        ...

    async def replace_range(
        self,
        conversation_id: int,
        expected: Sequence[ItemRef],
        summary_key: uuid.UUID,
        *,
        fence: int | None = None,
    ) -> None:
        """Replace exactly these contiguous items by one summary, at the place of the first.

        The summary and its links must be stored before, in the same transaction.

        `fence` is the fencing token of a lease, checked where coordination is distributed.

        Raises:
            ContextChanged: the items are not there, not contiguous or not in this order; nothing was written.
            IdentityConflict: the summary is of another conversation, or not linked to exactly these items.
        """
        ...

    async def exclude_messages(self, conversation_id: int, message_ids: Sequence[int], reason: Exclusion) -> int:
        """Take raw messages out of the context and mark them; returns how many. Those under a summary stay.

        A message of the base leaves this context only: it is not marked, its own conversation may still show it.
        What was marked `audited` before, by hand, is marked anew, although it is in no context any more.
        """
        ...

    async def restore_messages(self, conversation_id: int, after: ItemRef | None, message_ids: Sequence[int]) -> None:
        """Put messages that were marked `audited` back, right behind an item (None: before all), and unmark them.

        Raises:
            NotFound: `after` is not in this context.
            IdentityConflict: a message is left out for another reason, or is in this context; nothing was written.
        """
        ...

    async def copy_base(self, conversation_id: int, base_conversation_id: int, base_message_id: int) -> None:
        """Start a fork's context: the base's items up to and including that message, instead of what was there.

        A summary that also covers later messages is opened until every item lies before the fork point. What was
        taken out of the fork's own context by hand stays out.
        """
        ...
