from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.messages import Role
from lcm.domain.tool_pairs import FreshTail, Orphans, ToolPair, fresh_tail, orphans, tool_groups, tool_pairs


@dataclass(frozen=True, slots=True)
class Item:
    role: Role | None = Role.USER
    api_message_id: str | None = None
    tool_call_ids: tuple[str, ...] = ()
    tool_result_ids: tuple[str, ...] = ()
    token_count: int = 10


def call(*ids: str, api: str | None = None, tokens: int = 10) -> Item:
    return Item(Role.ASSISTANT, api, tool_call_ids=ids, token_count=tokens)


def result(*ids: str, tokens: int = 10) -> Item:
    return Item(Role.TOOL, tool_result_ids=ids, token_count=tokens)


PROMPT = Item()
ANSWER = Item(Role.ASSISTANT)
SUMMARY = Item(None)

ITEMS = st.lists(
    st.builds(
        Item,
        role=st.sampled_from([None, *Role]),
        api_message_id=st.sampled_from([None, "m1", "m2"]),
        tool_call_ids=st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple),
        tool_result_ids=st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple),
        token_count=st.integers(0, 50),
    ),
    max_size=12,
)


class TestToolPairs:
    def test_parallel_results_pair_in_any_order(self) -> None:
        """Results of parallel calls find their calls whatever order they arrive in."""
        pairs = tool_pairs([call("a"), call("b"), result("b"), result("a")])

        assert pairs == [ToolPair("b", 1, 2), ToolPair("a", 0, 3)]

    def test_result_before_its_call(self) -> None:
        """A result written before its call, in one turn, belongs to it."""
        assert tool_pairs([PROMPT, result("a"), call("a")]) == [ToolPair("a", 2, 1)]

    def test_reused_id_pairs_with_the_nearest_earlier_call(self) -> None:
        """When a client reuses a call id, each result belongs to the call just before it."""
        pairs = tool_pairs([call("a"), result("a"), call("a"), result("a")])

        assert pairs == [ToolPair("a", 0, 1), ToolPair("a", 2, 3)]

    def test_prompt_between_call_and_result_does_not_part_them(self) -> None:
        """A prompt typed while a tool runs stands between the halves of a pair."""
        assert tool_pairs([call("a"), PROMPT, result("a")]) == [ToolPair("a", 0, 2)]

    def test_later_call_of_another_turn_is_no_pair(self) -> None:
        """A result does not claim a call that a later turn makes under the same id."""
        assert tool_pairs([result("a"), PROMPT, call("a")]) == []


class TestOrphans:
    def test_names_both_kinds_with_their_positions(self) -> None:
        """An unanswered call and a result without its call are told with position and id."""
        found = orphans([result("x"), PROMPT, call("a", "b"), result("a")])

        assert found == Orphans(calls=((2, "b"),), results=((0, "x"),))


class TestToolGroups:
    def test_unrelated_items_stand_alone(self) -> None:
        """Prompts and answers without tools each are a group."""
        assert tool_groups([PROMPT, ANSWER, PROMPT]) == [range(1), range(1, 2), range(2, 3)]

    def test_pair_holds_what_stands_between(self) -> None:
        """A group reaches from the call to its result, with everything in between."""
        assert tool_groups([ANSWER, call("a"), PROMPT, result("a"), ANSWER]) == [range(1), range(1, 4), range(4, 5)]

    def test_records_of_one_api_message_stay_together(self) -> None:
        """Thinking, text and calls of one API message and all their results are one group."""
        thinking = Item(Role.ASSISTANT, "m1")
        items = [PROMPT, thinking, call("a", api="m1"), result("a"), call("b", api="m1"), result("b")]

        assert tool_groups(items) == [range(1), range(1, 6)]

    def test_api_message_id_of_an_earlier_turn_is_another_group(self) -> None:
        """The same API message id after a prompt does not glue two turns into one."""
        items = [Item(Role.ASSISTANT, "m1"), PROMPT, Item(Role.ASSISTANT, "m1")]

        assert tool_groups(items) == [range(1), range(1, 2), range(2, 3)]

    @given(ITEMS)
    def test_groups_partition_the_items_and_hold_every_pair(self, items: list[Item]) -> None:
        """Groups cover all positions in order, and no pair has its halves in two of them."""
        groups = tool_groups(items)

        assert [position for group in groups for position in group] == list(range(len(items)))
        assert all(any(pair.call in group and pair.result in group for group in groups) for pair in tool_pairs(items))
        assert all(first.stop == second.start for first, second in pairwise(groups))


class TestFreshTail:
    def test_is_the_last_raw_messages(self) -> None:
        """Two of four messages, and it is known that older ones exist."""
        assert fresh_tail([PROMPT, ANSWER, PROMPT, ANSWER], count=2) == FreshTail(2, is_bounded=True)

    def test_older_summaries_are_not_part_of_it(self) -> None:
        """With fewer messages than asked for the tail starts at the oldest message, not at a summary."""
        assert fresh_tail([SUMMARY, SUMMARY, PROMPT], count=8) == FreshTail(2, is_bounded=False)

    def test_is_completed_to_the_whole_pair(self) -> None:
        """A boundary between call and result moves back before the call."""
        assert fresh_tail([PROMPT, call("a"), result("a"), ANSWER], count=2) == FreshTail(1, is_bounded=True)

    def test_zero_messages_is_an_empty_tail(self) -> None:
        """A count of 0 protects nothing."""
        assert fresh_tail([PROMPT, ANSWER], count=0) == FreshTail(2, is_bounded=True)

    def test_token_bound_takes_whole_groups(self) -> None:
        """Of three groups of 20 tokens two fit into 45."""
        items = [call("a"), result("a"), call("b"), result("b"), call("c"), result("c")]

        assert fresh_tail(items, count=32, max_tokens=45) == FreshTail(2, is_bounded=True)

    def test_newest_group_is_kept_above_the_token_bound(self) -> None:
        """One huge newest pair stays whole in the tail."""
        items = [PROMPT, call("a"), result("a", tokens=1_000_000)]

        assert fresh_tail(items, count=32, max_tokens=100) == FreshTail(1, is_bounded=True)

    @given(ITEMS, st.integers(0, 6), st.none() | st.integers(1, 100))
    def test_never_splits_a_group(self, items: list[Item], count: int, max_tokens: int | None) -> None:
        """The tail starts where a group starts, or is empty."""
        start = fresh_tail(items, count=count, max_tokens=max_tokens).start

        assert start in {group.start for group in tool_groups(items)} | {len(items)}
