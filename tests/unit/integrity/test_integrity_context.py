from __future__ import annotations

from collections.abc import Iterable

from lcm.integrity.context import ContextCheck
from lcm.integrity.conversations import base_chains, check_conversation, reachable_owners
from lcm.integrity.faults import Fault
from lcm.integrity.graph import SummaryGraph
from tests.unit.integrity.integrity_rows import conversation_row, item_row, key, leaf_row, merge_row, nodes


def kinds(found: Iterable[Fault]) -> list[str]:
    return [each.kind.value for each in found]


def fork_check() -> ContextCheck:
    """Conversation 2 is based on 1 and shows summary 3, which covers leaf 1."""
    graph = SummaryGraph(nodes(leaf_row(1), leaf_row(2), merge_row(3, 1)), {2: [key(3)]})
    return ContextCheck(2, graph, (2, 1), {1, 2})


class TestReachableOwners:
    def test_are_the_chain_and_what_its_sources_copy(self) -> None:
        """A source of 1 holds messages of 9 too: 1 may show those, and so may 2, which is based on 1."""
        chains = {1: (1,), 2: (2, 1), 9: (9,)}

        assert reachable_owners(chains, [(1, 9)]) == {1: {1, 9}, 2: {1, 2, 9}, 9: {9}}


class TestBaseChains:
    def test_lead_to_the_root(self) -> None:
        """Nearest first, itself included."""
        rows = [conversation_row(1), conversation_row(2, 1), conversation_row(3, 2)]

        assert base_chains(rows) == {1: (1,), 2: (2, 1), 3: (3, 2, 1)}

    def test_end_on_a_cycle(self) -> None:
        """A conversation based on itself does not loop for ever, and each one on the cycle is a fault."""
        rows = [conversation_row(1, 2), conversation_row(2, 1)]
        chains = base_chains(rows)

        assert chains == {1: (1, 2), 2: (2, 1)}
        assert [kinds(check_conversation(row, chains)) for row in rows] == [["base_cycle"], ["base_cycle"]]


class TestCheckConversation:
    def test_base_message_of_a_base_further_down_is_right(self) -> None:
        """A fork of a fork may start from a message that its base took over from its own."""
        rows = [
            conversation_row(1),
            conversation_row(2, 1),
            conversation_row(3, 2, base_message_id=5, base_message_owner=1),
        ]

        assert kinds(check_conversation(rows[2], base_chains(rows))) == []

    def test_base_that_is_gone_is_named_once(self) -> None:
        """Nothing else is said about what cannot be looked up."""
        row = conversation_row(2, 1, base_message_id=5)

        assert kinds(check_conversation(row, base_chains([row]))) == ["missing_base"]


class TestContextCheck:
    def test_items_of_the_base_are_right(self) -> None:
        """A fork shows its base's summaries and messages and its own."""
        check = fork_check()
        items = [
            item_row(1024, summary_key=key(3)),
            item_row(2048, message_id=5, message_owner=1, message_seq=4),
            item_row(3072, message_id=6, message_owner=2, message_seq=0),
        ]

        assert [fault for item in items for fault in check.check_item(item)] == []
        assert list(check.check_whole()) == []

    def test_message_of_the_base_below_an_item_is_shown_twice(self) -> None:
        """Its leaf is covered by summary 3, which stands in the context."""
        item = item_row(2048, message_id=5, message_owner=1, message_seq=4, leaf_keys=(key(1),))

        assert kinds(fork_check().check_item(item)) == ["shown_twice"]

    def test_message_below_a_summary_of_the_base_only_is_right(self) -> None:
        """The base summarized it after the fork; the fork still shows it as it is."""
        item = item_row(2048, message_id=5, message_owner=1, message_seq=4, leaf_keys=(key(2),))

        assert kinds(fork_check().check_item(item)) == []

    def test_same_item_again_is_shown_twice(self) -> None:
        """The second of two equal items is the fault."""
        check = fork_check()
        item = item_row(1024, message_id=5, message_owner=1, message_seq=4)

        assert kinds(check.check_item(item)) == []
        assert kinds(check.check_item(item_row(2048, message_id=5, message_owner=1, message_seq=4))) == ["shown_twice"]

    def test_item_of_a_stranger_is_foreign(self) -> None:
        """Conversation 7 is not in the chain of bases."""
        item = item_row(1024, message_id=5, message_owner=7, message_seq=4)

        assert kinds(fork_check().check_item(item)) == ["foreign_context_item"]
