"""What was taken out of contexts by hand and put back: the record of it. The context itself is `context`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lcm.domain.context import AuditAction, ContextAudit


class ContextAuditRepository(Protocol):
    async def note(
        self, conversation_id: int, message_ids: Sequence[int], action: AuditAction, reason: str
    ) -> list[ContextAudit]:
        """Record one action on these messages of a context, before it is done: the row keeps the mark they have now.

        Rows of one call share their time; of one conversation a later call has a later time, whatever the clock says.

        Returns:
            One row per message, in the order given.

        Raises:
            UnknownConversation, UnknownMessage: nothing was written. UnsafeText: the reason cannot be stored.
        """
        ...

    async def list_audits(
        self, *, conversation_id: int | None = None, message_id: int | None = None
    ) -> list[ContextAudit]:
        """Of the project, of one context, of one message, or of one message in one context; oldest first.

        Order: created_at, message id, key.
        """
        ...

    async def list_taken_out(self, conversation_id: int) -> list[int]:
        """Ids of the messages that were taken out of this context and not put back, ascending.

        One that its client took back meanwhile (`rewound`) is no longer among them.
        """
        ...

    async def list_neighbours(
        self, message_id: int, conversation_ids: Sequence[int], *, is_later: bool = False, limit: int | None = None
    ) -> list[int]:
        """Messages of these conversations before (or behind) a message in the sources that hold it, nearest first.

        At most `limit` of each source. Empty when the message came from no source.
        """
        ...
