"""Whether contexts and summaries keep the order in which messages came into them. Pure.

Messages that were stored by one append came into the context side by side and in their order, and were the youngest
there. Whatever happens later takes items out, puts one summary in the place of neighbours, copies the beginning for a
fork, or puts younger messages between two items. So, wherever they stand: messages of one append are in their order,
and between two of them stand only younger ones. A fork has summaries of its base by such a copy alone.

Nothing is said about messages without a source, about one that was put back by hand, nor about messages of a base that
stand in a fork themselves or below its own leaves: some of those are brought one by one, later than the copy.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lcm.integrity.conversations import Chain
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.integrity.graph import SummaryGraph
from lcm.integrity.messages import message_name
from lcm.integrity.summaries import summary_name
from lcm.storage.contracts.integrity import ItemRow, Placing, SourceLink


class Stretch(NamedTuple):
    """Messages of one append that stand side by side, in their order.

    Attributes:
        together: equal for messages of one append.
        rank: how many bases its conversation has; what a fork took from its base is older than what it has itself.
    """

    together: Hashable
    rank: int
    conversation_id: int
    first_seq: int
    last_seq: int


class OrderKeeper:
    """Takes stretches in order and tells the first that cannot stand where it does."""

    def __init__(self) -> None:
        self._open: list[Stretch] = []
        self._seen: set[Hashable] = set()

    def accepts(self, new: Stretch) -> bool:
        """Every stretch older than an open one ends that: it may not go on behind it."""
        while self._open and self._open[-1].together != new.together and _is_younger(self._open[-1], new):
            self._open.pop()
        if self._open and self._open[-1].together == new.together:
            last = self._open.pop()
            self._open.append(new)
            return new.first_seq > last.last_seq
        if new.together in self._seen:
            return False
        self._seen.add(new.together)
        self._open.append(new)
        return True


def _is_younger(one: Stretch, other: Stretch) -> bool:
    return (one.rank, one.last_seq) > (other.rank, other.first_seq)


class SourceOrder:
    """The order of the messages below every summary, kept as stretches: few when transcripts are imported whole.

    Args:
        owners: conversation of every summary.
        restored: messages that were put back by hand.
        remembered: leaves of which the messages themselves are kept, to be compared.
    """

    def __init__(
        self,
        chains: Mapping[int, Chain],
        owners: Mapping[uuid.UUID, int],
        restored: Collection[int],
        remembered: Collection[uuid.UUID] = (),
    ) -> None:
        self._owners = owners
        self._ranks = {conversation_id: len(chain) - 1 for conversation_id, chain in chains.items()}
        self._restored = restored
        self._remembered = remembered
        self._below: dict[uuid.UUID, list[Stretch]] = defaultdict(list)
        self._message_ids: dict[uuid.UUID, list[int]] = defaultdict(list)

    def add_link(self, link: SourceLink) -> None:
        """The next message of a leaf; those of one leaf are given by ordinal."""
        if link.summary_key in self._remembered:
            self._message_ids[link.summary_key].append(link.message_id)
        owner = self._owners.get(link.summary_key)
        if owner is None or link.conversation_id is None or link.seq is None or link.stored_at is None:
            return
        placing = Placing(link.conversation_id, link.seq, link.source_id, link.stored_at)
        stretch = self.stretch_of(owner, link.message_id, placing)
        if stretch is not None:
            _append(self._below[link.summary_key], stretch)

    def message_ids(self, key: uuid.UUID) -> Sequence[int]:
        """Messages of a remembered leaf, by ordinal."""
        return self._message_ids.get(key, ())

    def stretch_of(self, conversation_id: int, message_id: int, placing: Placing | None) -> Stretch | None:
        """Of a message in this context or below a leaf of it; None when nothing is known of its place."""
        if placing is None or placing.conversation_id != conversation_id:
            return None
        rank = self._ranks.get(conversation_id)
        if rank is None or placing.source_id is None or message_id in self._restored:
            return None
        together = (conversation_id, placing.source_id, placing.stored_at)
        return Stretch(together, rank, conversation_id, placing.seq, placing.seq)

    def below(self, key: uuid.UUID) -> Sequence[Stretch]:
        return self._below.get(key, ())

    def check_summaries(self, graph: SummaryGraph) -> Iterator[Fault]:
        """From the leaves up; what is out of order is told once and left out of what is above it."""
        for key in graph.totals:  # sources come before what was made from them
            node = graph.nodes[key]
            for link in node.children:
                for stretch in self.below(link.child_key):
                    _append(self._below[key], stretch)
            wrong = _first_out_of_order(self.below(key))
            if wrong is not None:
                self._below[key] = []
                finding = f"Its sources are not in their order: {_name(wrong)} stands at the wrong place."
                yield fault(FaultKind.WRONG_ORDER, summary_name(node), finding)


class ContextOrder:
    """The order of one context, given by ascending position; the first fault ends the check."""

    def __init__(self, conversation_id: int, sources: SourceOrder) -> None:
        self._conversation_id = conversation_id
        self._sources = sources
        self._keeper = OrderKeeper()
        self._is_wrong = False

    def check_item(self, item: ItemRow) -> Iterator[Fault]:
        if self._is_wrong:
            return
        wrong = next((each for each in self._stretches(item) if not self._keeper.accepts(each)), None)
        if wrong is not None:
            self._is_wrong = True
            finding = f"It is not in the order of its sources: {_name(wrong)} is out of order at {item.position}."
            yield fault(FaultKind.WRONG_ORDER, f"context {self._conversation_id}", finding)

    def _stretches(self, item: ItemRow) -> Sequence[Stretch]:
        if item.summary_key is not None:
            return self._sources.below(item.summary_key)
        if item.message_id is None:
            return ()
        stretch = self._sources.stretch_of(self._conversation_id, item.message_id, item.placing)
        return () if stretch is None else (stretch,)


def _append(stretches: list[Stretch], new: Stretch) -> None:
    """Joined with the one before when it goes on right there."""
    if stretches:
        last = stretches[-1]
        if last.together == new.together and last.last_seq < new.first_seq:
            stretches[-1] = Stretch(last.together, last.rank, last.conversation_id, last.first_seq, new.last_seq)
            return
    stretches.append(new)


def _first_out_of_order(stretches: Iterable[Stretch]) -> Stretch | None:
    keeper = OrderKeeper()
    return next((each for each in stretches if not keeper.accepts(each)), None)


def _name(stretch: Stretch) -> str:
    return message_name(stretch.conversation_id, stretch.first_seq)
