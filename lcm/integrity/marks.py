"""Whether what was taken out of contexts by hand, and nothing else, is recorded so. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lcm.domain.context import AuditAction
from lcm.domain.messages import Exclusion
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.integrity.messages import message_name
from lcm.storage.contracts.integrity import AuditRow, ItemRow, MessageRow


class HandMarks:
    """What was last done by hand to each message of each context; given oldest first."""

    def __init__(self, audits: Iterable[AuditRow]) -> None:
        self._last: dict[tuple[int, int], str] = {}
        restored: set[int] = set()
        for each in audits:
            self._last[each.conversation_id, each.message_id] = each.action
            if each.action == AuditAction.INCLUDE:
                restored.add(each.message_id)
        #: Messages that were put back into some context.
        self.restored = frozenset(restored)

    def is_taken_out(self, conversation_id: int, message_id: int) -> bool:
        return self._last.get((conversation_id, message_id)) == AuditAction.EXCLUDE

    def check_message(self, row: MessageRow) -> Iterable[Fault]:
        """A mark `audited` has its record, and a record its mark; a client may have taken the message back since."""
        if not self._last and row.exclusion != Exclusion.AUDITED:
            return ()
        return self._check_mark(row)

    def _check_mark(self, row: MessageRow) -> Iterator[Fault]:
        about = message_name(row.conversation_id, row.seq)
        is_taken_out = self.is_taken_out(row.conversation_id, row.message_id)
        if row.exclusion == Exclusion.AUDITED and not is_taken_out:
            finding = "It is marked as excluded by hand, but no record tells who asked for it and why."
            yield fault(FaultKind.WRONG_EXCLUSION, about, finding)
        if row.exclusion is None and is_taken_out:
            yield fault(FaultKind.WRONG_EXCLUSION, about, "It was excluded by hand, but is not marked so any more.")

    def check_item(self, conversation_id: int, item: ItemRow) -> Iterator[Fault]:
        """A fork leaves out what was taken out of it, although its base still shows it."""
        if item.message_id is None or item.message_owner in (None, conversation_id) or item.message_seq is None:
            return
        if self.is_taken_out(conversation_id, item.message_id):
            name = message_name(item.message_owner or 0, item.message_seq)
            finding = f"It shows {name}, which was excluded from it by hand."
            yield fault(FaultKind.WRONG_EXCLUSION, f"context {conversation_id}", finding)
