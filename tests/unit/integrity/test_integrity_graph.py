from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lcm.integrity.graph import SummaryGraph, Totals, compute_totals, find_cycles
from lcm.integrity.summaries import check_summary
from tests.factories import START
from tests.unit.integrity.integrity_rows import key, leaf_row, merge_row, nodes


class TestTotals:
    def test_are_summed_from_the_leaves_up(self) -> None:
        """Three leaves under two levels: counts are transitive, tokens of each summary count once."""
        found = compute_totals(nodes(leaf_row(1), leaf_row(2), leaf_row(3), merge_row(4, 1, 2), merge_row(5, 4, 3)))

        assert found[key(5)] == Totals(2, 4, 12, 30, START, START)

    def test_do_not_trust_what_children_say(self) -> None:
        """A damaged number is a fault of its own summary only, not of those above."""
        found = compute_totals(nodes(leaf_row(1, source_message_token_count=99), merge_row(2, 1)))

        assert found[key(2)].source_message_token_count == 10

    @given(st.permutations(range(5)))
    def test_do_not_depend_on_order(self, order: list[int]) -> None:
        """Rows may be read in any order."""
        rows = [leaf_row(1), leaf_row(2), merge_row(3, 1), merge_row(4, 3, 2, depth=2), merge_row(5, 4, depth=3)]

        assert compute_totals(nodes(*(rows[n] for n in order))) == compute_totals(nodes(*rows))


class TestCycles:
    def test_are_found_without_what_stands_above(self) -> None:
        """2 and 3 merge each other; 4 above and 1 below are not part of it."""
        found = nodes(leaf_row(1), merge_row(2, 1, 3), merge_row(3, 2), merge_row(4, 3))

        assert find_cycles(found, compute_totals(found)) == {key(2), key(3)}

    def test_are_none_in_a_tree(self) -> None:
        """Nothing lies below itself."""
        found = nodes(leaf_row(1), merge_row(2, 1))

        assert find_cycles(found, compute_totals(found)) == frozenset()


class TestSummaryGraph:
    def test_anchored_follows_live_links_of_the_conversation(self) -> None:
        """What stands in context and what lies below it there."""
        graph = SummaryGraph(nodes(leaf_row(1), leaf_row(2), merge_row(3, 1), leaf_row(4)), {1: [key(3), key(4)]})

        assert graph.anchored(1) == {key(1), key(3), key(4)}
        assert graph.anchored(2) == frozenset()

    def test_coverage_tells_what_is_below_twice(self) -> None:
        """1 lies below both summaries in context."""
        graph = SummaryGraph(nodes(leaf_row(1), merge_row(2, 1), merge_row(3, 1)), {1: [key(2), key(3)]})

        assert graph.coverage(1).below == {key(1)}
        assert graph.coverage(1).repeated == {key(1)}

    def test_ends_on_a_cycle(self) -> None:
        """A damaged graph is walked to its end all the same."""
        graph = SummaryGraph(nodes(merge_row(1, 2), merge_row(2, 1)), {1: [key(1)]})

        assert graph.anchored(1) == {key(1), key(2)}


class TestCheckSummary:
    def test_right_one_has_no_fault(self) -> None:
        """A merge whose numbers are those of its two leaves."""
        row = merge_row(3, 1, 2, descendant_count=2, descendant_token_count=6, source_message_token_count=20)
        graph = SummaryGraph(nodes(leaf_row(1), leaf_row(2), row), {1: [key(3)]})

        assert [each for node in graph.nodes.values() for each in check_summary(node, graph, (1,), {1})] == []

    def test_superseded_one_may_be_unreachable(self) -> None:
        """It stands for nothing any more; its links are not live, its successor is there."""
        old = leaf_row(1, sources=(), superseded_by_key=key(2))
        graph = SummaryGraph(nodes(old, leaf_row(2)), {1: [key(2)]})

        found = {each.kind.value for each in check_summary(old, graph, (1,), {1})}

        assert "unreachable_summary" not in found
        assert "missing_successor" not in found

    def test_source_of_a_base_is_right(self) -> None:
        """A fork's summary may merge one of the conversation it is based on, by a link of its own."""
        row = merge_row(2, 1, conversation_id=2)
        graph = SummaryGraph(nodes(leaf_row(1), row), {2: [key(2)]})

        kinds = {each.kind.value for each in check_summary(row, graph, (2, 1), {1, 2})}

        assert "foreign_source" not in kinds
        assert "wrong_link_conversation" in kinds
