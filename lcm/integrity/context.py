"""What can be wrong with the items of one context: what they refer to, and whether anything is shown twice. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator

from lcm.integrity.conversations import Chain
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.integrity.graph import SummaryGraph
from lcm.integrity.messages import message_name
from lcm.integrity.summaries import summary_name
from lcm.storage.contracts.integrity import ItemRow


class ContextCheck:
    """Checks the items of one context, given by ascending position.

    `owners` are the conversations whose messages it may show: its chain of bases and those that its sources copy.
    Remembers what it has seen of summaries and of messages of its bases, not its own messages: those are checked
    with their places.
    """

    def __init__(self, conversation_id: int, graph: SummaryGraph, chain: Chain, owners: Collection[int]) -> None:
        self._conversation_id = conversation_id
        self._about = f"context {conversation_id}"
        self._graph = graph
        self._chain = chain
        self._owners = owners
        self._coverage = graph.coverage(conversation_id)
        self._covered = self._coverage.shown | self._coverage.below
        self._seen: set[int | uuid.UUID] = set()
        self._last_position: int | None = None

    def check_item(self, item: ItemRow) -> Iterator[Fault]:
        if item.position == self._last_position:
            yield self._fault(FaultKind.REPEATED_POSITION, f"Position {item.position} holds two items.")
        self._last_position = item.position
        if item.message_id is not None:
            yield from self._check_message(item, item.message_id)
        elif item.summary_key is not None:
            yield from self._check_summary(item, item.summary_key)
        else:
            yield self._fault(FaultKind.DANGLING_CONTEXT_ITEM, f"The item at {item.position} refers to nothing.")

    def check_whole(self) -> Iterator[Fault]:
        """What shows only in the whole: summaries that two of its items cover."""
        for key in sorted(self._coverage.repeated - self._coverage.shown):
            node = self._graph.nodes.get(key)
            name = summary_name(node) if node else "a summary that is gone"
            yield self._fault(FaultKind.SHOWN_TWICE, f"Its items cover {name} twice.")

    def _check_message(self, item: ItemRow, message_id: int) -> Iterator[Fault]:
        if item.message_owner is None or item.message_seq is None:
            finding = f"The item at {item.position} refers to a message that is gone."
            yield self._fault(FaultKind.DANGLING_CONTEXT_ITEM, finding)
            return
        name = message_name(item.message_owner, item.message_seq)
        if item.message_owner not in self._owners:
            finding = f"It shows {name}, which neither a base nor one of its own sources holds."
            yield self._fault(FaultKind.FOREIGN_CONTEXT_ITEM, finding)
        if item.message_owner == self._conversation_id:
            return
        if self._is_again(message_id) or any(key in self._covered for key in item.leaf_keys):
            yield self._fault(FaultKind.SHOWN_TWICE, f"It shows {name} twice, or once more below a summary.")

    def _check_summary(self, item: ItemRow, key: uuid.UUID) -> Iterator[Fault]:
        node = self._graph.nodes.get(key)
        if node is None:
            finding = f"The item at {item.position} refers to a summary that is gone."
            yield self._fault(FaultKind.DANGLING_CONTEXT_ITEM, finding)
            return
        name = summary_name(node)
        if node.conversation_id not in self._chain:
            yield self._fault(FaultKind.FOREIGN_CONTEXT_ITEM, f"It shows {name} of a conversation that is no base.")
        if self._is_again(key) or key in self._coverage.below:
            yield self._fault(FaultKind.SHOWN_TWICE, f"It shows {name} twice, or once more below another.")
        if node.superseded_by_key is not None:
            yield self._fault(FaultKind.SUPERSEDED_IN_CONTEXT, f"It shows {name}, which is superseded.")

    def _is_again(self, reference: int | uuid.UUID) -> bool:
        is_again = reference in self._seen
        self._seen.add(reference)
        return is_again

    def _fault(self, kind: FaultKind, finding: str) -> Fault:
        return fault(kind, self._about, finding)
