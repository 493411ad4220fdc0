from __future__ import annotations

from datetime import timedelta

from lcm.integrity.graph import SummaryGraph
from lcm.integrity.order import ContextOrder, SourceOrder
from lcm.storage.contracts.integrity import Placing, SourceLink
from tests.factories import START
from tests.unit.integrity.integrity_rows import item_row, key, leaf_row, merge_row, nodes


def placing(seq: int, *, append: int = 0, conversation_id: int = 1, source_id: int | None = 1) -> Placing:
    """Of a message with id = seq; `append` numbers the appends."""
    return Placing(conversation_id, seq, source_id, START + timedelta(seconds=append))


def faults_of(*placings: Placing, restored: frozenset[int] = frozenset()) -> list[str]:
    """What is said of context 1 that shows these messages."""
    order = ContextOrder(1, SourceOrder({1: (1,)}, {}, restored))
    items = [
        item_row(n, message_id=each.seq, message_owner=each.conversation_id, message_seq=each.seq, placing=each)
        for n, each in enumerate(placings)
    ]
    return [fault.finding for item in items for fault in order.check_item(item)]


class TestContextOrder:
    def test_messages_of_one_append_in_their_order_are_right(self) -> None:
        """Some may be missing: they were taken out."""
        assert faults_of(placing(0), placing(1), placing(4)) == []

    def test_messages_of_one_append_swapped_are_wrong(self) -> None:
        """The second one stands where it cannot be; one fault is enough."""
        assert faults_of(placing(1), placing(0), placing(3), placing(2)) == [
            "It is not in the order of its sources: message 1:0 is out of order at 1."
        ]

    def test_younger_messages_may_stand_between(self) -> None:
        """Late records of a source come in anywhere."""
        late = [placing(5, append=1), placing(6, append=1)]
        later = placing(7, append=2)

        assert faults_of(placing(0), late[0], later, late[1], placing(1)) == []

    def test_an_older_message_between_is_wrong(self) -> None:
        """When the younger ones came in side by side, it was there already."""
        young = [placing(5, append=1), placing(6, append=1)]

        assert len(faults_of(placing(0), young[0], placing(1), young[1])) == 1

    def test_messages_of_a_base_may_stand_anywhere(self) -> None:
        """A fork may be given single ones later than the rest."""
        assert faults_of(placing(1, conversation_id=2), placing(0, conversation_id=2)) == []

    def test_summaries_of_the_base_are_older_than_own_messages(self) -> None:
        """They came with the fork's beginning, whatever the sequence numbers are."""
        sources = SourceOrder({1: (1,), 2: (2, 1)}, {key(1): 1}, frozenset())
        sources.add_link(SourceLink(key(1), 0, 8, *placing(8)))
        summary = item_row(2, summary_key=key(1))
        own = [item_row(n, message_id=n, placing=placing(n, conversation_id=2)) for n in (1, 3)]

        assert [list(ContextOrder(2, sources).check_item(item)) for item in (summary, *own)] == [[], [], []]
        order = ContextOrder(2, sources)
        assert [len(list(order.check_item(item))) for item in (own[0], summary, own[1])] == [0, 0, 1]

    def test_messages_that_were_put_back_or_have_no_source_may_stand_anywhere(self) -> None:
        """Nothing else tells where they belong."""
        assert faults_of(placing(1), placing(0), restored=frozenset({0})) == []
        assert faults_of(placing(1, source_id=None), placing(0, source_id=None)) == []


class TestSourceOrder:
    def test_order_goes_on_from_child_to_child(self) -> None:
        """Swapped children are a fault of the summary over them, told once although a context shows it."""
        sources = SourceOrder({1: (1,)}, {key(1): 1, key(2): 1, key(3): 1}, frozenset())
        for leaf, seqs in ((1, (0, 1)), (2, (2, 3))):
            for ordinal, seq in enumerate(seqs):
                sources.add_link(SourceLink(key(leaf), ordinal, seq, *placing(seq)))
        graph = SummaryGraph(nodes(leaf_row(1), leaf_row(2), merge_row(3, 2, 1)), {1: [key(3)]})

        found = list(sources.check_summaries(graph))

        assert [(fault.kind.value, fault.object) for fault in found] == [("wrong_order", "summary sum_3")]
        assert list(ContextOrder(1, sources).check_item(item_row(1, summary_key=key(3)))) == []
