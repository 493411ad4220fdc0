from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.compaction.chunks import (
    Chunk,
    choose_condensation,
    choose_leaf_chunk,
    fresh_tail_start,
    holds,
    iter_condensations,
    iter_leaf_chunks,
)
from lcm.compaction.policy import CompactionPolicy
from lcm.domain.context import ContextItem, ItemRef
from tests.unit.compaction.items import POLICY, context, raw, summary

NO_TAIL = replace(POLICY, fresh_tail_count=0)


def span(chunk: Chunk | None) -> tuple[int, int] | None:
    return None if chunk is None else (chunk.start, chunk.end)


class TestFreshTailStart:
    def test_protects_the_last_messages(self) -> None:
        """With a tail of 2 the last two raw messages are protected."""
        assert fresh_tail_start(context(raw(), raw(), raw(), raw()), POLICY) == 2

    def test_counts_messages_only(self) -> None:
        """Summaries between do not count, and lie in the tail when a counted message lies before them."""
        assert fresh_tail_start(context(raw(), raw(), summary(), raw()), POLICY) == 1

    def test_exactly_the_count_leaves_the_summaries_outside(self) -> None:
        """Two raw messages after summaries are the whole tail."""
        assert fresh_tail_start(context(summary(), summary(), raw(), raw()), POLICY) == 2

    def test_fewer_messages_are_all_protected(self) -> None:
        """With a tail of 2 a single raw message is protected; summaries in front of it are not."""
        assert fresh_tail_start(context(raw()), POLICY) == 0
        assert fresh_tail_start(context(summary(), summary(), raw()), POLICY) == 2

    def test_no_messages_protect_nothing(self) -> None:
        """A context of summaries has no tail."""
        assert fresh_tail_start(context(summary(), summary()), POLICY) == 2

    def test_a_count_of_zero_protects_nothing(self) -> None:
        """Without a tail the boundary is the end."""
        assert fresh_tail_start(context(raw(), raw()), NO_TAIL) == 2

    def test_takes_in_the_call_of_its_first_result(self) -> None:
        """The boundary moves in front of the whole tool group."""
        assert fresh_tail_start(context(raw(), raw(calls="a"), raw(), raw(answers="a"), raw()), POLICY) == 1

    def test_takes_in_the_other_records_of_an_api_message(self) -> None:
        """Records of one API message stay on one side."""
        assert fresh_tail_start(context(raw(), raw(api="m"), raw(api="m"), raw()), POLICY) == 1

    @pytest.mark.parametrize(("max_tokens", "start"), [(100, 1), (50, 1), (49, 3), (20, 3), (19, 4), (0, 4)])
    def test_is_bounded_in_whole_groups(self, max_tokens: int, start: int) -> None:
        """With a token bound as many of the newest groups stay as fit, and at least the newest."""
        items = context(raw(), raw(20, calls="a"), raw(10, answers="a"), raw(10), raw(10))
        policy = replace(POLICY, fresh_tail_count=4, fresh_tail_max_tokens=max_tokens)

        assert fresh_tail_start(items, policy) == start

    def test_a_bound_also_holds_where_everything_was_protected(self) -> None:
        """Few but huge messages do not lock the context."""
        items = context(raw(9000), raw(10), raw(10))

        assert fresh_tail_start(items, replace(POLICY, fresh_tail_count=8, fresh_tail_max_tokens=100)) == 1


class TestChooseLeafChunk:
    def test_takes_the_oldest_messages_up_to_the_cap(self) -> None:
        """Three messages of 40 tokens: two fit in 100."""
        chunk = choose_leaf_chunk(context(*[raw(40)] * 5), POLICY)

        assert span(chunk) == (0, 2)
        assert chunk is not None
        assert chunk.token_count == 80
        assert chunk.message_ids == [1, 2]

    def test_the_cap_may_be_reached(self) -> None:
        """Exactly the cap fits."""
        assert span(choose_leaf_chunk(context(*[raw(50)] * 5), POLICY)) == (0, 2)

    def test_takes_at_least_one(self) -> None:
        """A message larger than the cap goes alone."""
        assert span(choose_leaf_chunk(context(raw(500), *[raw()] * 3), POLICY)) == (0, 1)

    def test_stops_before_the_tail(self) -> None:
        """Only what is not protected is taken."""
        assert span(choose_leaf_chunk(context(raw(), raw(), raw(), raw()), POLICY)) == (0, 2)

    def test_a_summary_ends_the_chunk(self) -> None:
        """Messages on both sides of a summary are two chunks."""
        items = context(summary(), raw(), raw(), summary(), raw(), raw(), raw())

        assert [span(chunk) for chunk in iter_leaf_chunks(items, POLICY)] == [(1, 3), (4, 5)]

    def test_a_summary_inside_a_tool_group_does_not_block(self) -> None:
        """A call and a result with a summary between are apart already and go into chunks of their own."""
        items = context(raw(calls="a"), summary(), raw(answers="a"), raw(), raw())

        assert [span(chunk) for chunk in iter_leaf_chunks(items, POLICY)] == [(0, 1), (2, 3)]

    @pytest.mark.parametrize("items", [[], [raw()], [summary(), summary()], [summary(), raw(), raw()]])
    def test_is_none_without_messages_outside_the_tail(self, items: list[ContextItem]) -> None:
        """Nothing, a tail only, and summaries only give no chunk."""
        assert choose_leaf_chunk(context(*items), POLICY) is None

    def test_does_not_split_a_call_from_its_result(self) -> None:
        """A group that does not fit any more waits for the next chunk."""
        items = context(raw(60), raw(30, calls="a"), raw(30, answers="a"), raw(), raw(), raw())

        assert [span(chunk) for chunk in iter_leaf_chunks(items, POLICY)] == [(0, 1), (1, 4)]

    def test_a_group_larger_than_the_cap_goes_alone(self) -> None:
        """A call and its huge result are one chunk, without neighbours."""
        items = context(raw(), raw(10, calls="a"), raw(500, answers="a"), raw(), raw(), raw())

        assert [span(chunk) for chunk in iter_leaf_chunks(items, POLICY)] == [(0, 1), (1, 3), (3, 4)]

    def test_a_group_larger_than_the_cap_takes_a_small_remnant_along(self) -> None:
        """What is too little for a summary of its own would otherwise stay raw for ever."""
        items = context(raw(9), raw(10, calls="a"), raw(500, answers="a"), raw(), raw(), raw())

        assert [span(chunk) for chunk in iter_leaf_chunks(items, POLICY)] == [(0, 3), (3, 4)]

    def test_too_little_for_a_summary_is_no_chunk(self) -> None:
        """Messages that the shortest summary could not shorten by a tenth wait for more."""
        assert choose_leaf_chunk(context(raw(9), raw(), raw()), POLICY) is None
        assert span(choose_leaf_chunk(context(raw(9), raw(1), raw(), raw()), POLICY)) == (0, 2)

    def test_a_missing_result_does_not_block(self) -> None:
        """A call whose result never came is compacted like any message."""
        assert span(choose_leaf_chunk(context(raw(calls="a"), raw(), raw(), raw()), POLICY)) == (0, 2)

    def test_a_call_waits_for_its_result_in_the_tail(self) -> None:
        """A call answered in the tail is not compacted before."""
        items = context(raw(), raw(calls="a"), raw(), raw(answers="a"), raw())

        assert span(choose_leaf_chunk(items, POLICY)) == (0, 1)


class TestChooseCondensation:
    def test_needs_the_fan_out_of_leaves(self) -> None:
        """Two leaves are too few for a fan-out of 3, three are enough."""
        assert choose_condensation(context(summary(), summary()), POLICY) is None
        assert span(choose_condensation(context(summary(), summary(), summary()), POLICY)) == (0, 3)

    def test_needs_the_fan_out_of_deeper_summaries(self) -> None:
        """Two summaries of depth 1 are enough for a fan-out of 2."""
        chunk = choose_condensation(context(summary(depth=1), summary(depth=1)), POLICY)

        assert span(chunk) == (0, 2)
        assert chunk is not None
        assert chunk.depth == 1

    def test_hard_lowers_the_fan_out_of_every_depth(self) -> None:
        """Under pressure two leaves are condensed."""
        assert span(choose_condensation(context(summary(), summary()), POLICY, hard=True)) == (0, 2)

    def test_never_takes_a_single_summary(self) -> None:
        """A fan-out of 1 counts as 2."""
        policy = replace(POLICY, condensed_min_fanout_hard=1)

        assert choose_condensation(context(summary(500)), policy, hard=True) is None

    def test_needs_the_condensed_target(self) -> None:
        """Three leaves of together 39 tokens are not worth a target of 40."""
        assert choose_condensation(context(*[summary(13)] * 3), POLICY) is None

    def test_needs_a_tenth_of_a_leaf_chunk(self) -> None:
        """With chunks of 1,000 tokens, 99 tokens of leaves are too few and 100 enough."""
        policy = replace(POLICY, leaf_chunk_tokens=1009)

        assert choose_condensation(context(*[summary(33)] * 3), policy) is None
        assert span(choose_condensation(context(summary(34), *[summary(33)] * 2), policy)) == (0, 3)

    def test_takes_the_shallowest_depth(self) -> None:
        """Leaves that can be condensed go before older, deeper summaries."""
        items = context(*[summary(depth=1)] * 2, *[summary()] * 3)

        assert [span(chunk) for chunk in iter_condensations(items, POLICY)] == [(2, 5), (0, 2)]

    def test_takes_the_oldest_run(self) -> None:
        """A run that is too short is passed over; of the others the oldest is taken."""
        items = context(*[summary()] * 2, summary(depth=1), *[summary()] * 3, summary(depth=1), *[summary()] * 4)

        assert span(choose_condensation(items, POLICY)) == (3, 6)

    def test_a_message_ends_a_run(self) -> None:
        """Summaries on both sides of a raw message are not contiguous."""
        items = context(*[summary()] * 2, raw(), summary())

        assert choose_condensation(items, NO_TAIL) is None

    def test_leaves_the_tail_alone(self) -> None:
        """Summaries behind a protected message are not condensed."""
        assert choose_condensation(context(raw(), *[summary()] * 3, raw()), POLICY) is None

    def test_is_capped_at_a_leaf_chunk(self) -> None:
        """Eight leaves of 30 tokens under a cap of 100 are condensed by threes; two are left."""
        items = context(*[summary(30)] * 8)

        assert [span(chunk) for chunk in iter_condensations(items, POLICY)] == [(0, 3), (3, 6)]

    def test_the_cap_yields_to_the_fan_out(self) -> None:
        """Three leaves of 60 tokens are condensed together although the cap is 100."""
        assert span(choose_condensation(context(*[summary(60)] * 5), POLICY)) == (0, 3)

    def test_the_cap_yields_to_the_least_tokens(self) -> None:
        """With a cap below the condensed target, as many leaves are taken as the target needs."""
        policy = replace(POLICY, leaf_chunk_tokens=50, condensed_target_tokens=100)

        assert span(choose_condensation(context(*[summary(30)] * 6), policy)) == (0, 4)


class TestHolds:
    @pytest.mark.parametrize(
        ("ids", "expected"),
        [([1, 2], True), ([2, 3], True), ([1, 3], False), ([2, 1], False), ([3, 4], False), ([9], False)],
    )
    def test_wants_the_same_items_side_by_side(self, ids: list[int], expected: bool) -> None:
        """Only contiguous items in the given order are held."""
        assert holds(context(raw(), raw(), raw()), [ItemRef(message_id=each) for each in ids]) is expected


@st.composite
def contexts(draw: st.DrawFn) -> list[ContextItem]:
    """Messages with tool calls and results in any order, missing and repeated, API messages, and summaries between."""
    ids = st.text("abcdef", max_size=2)
    messages = st.builds(
        lambda tokens, calls, answers, api: raw(tokens, calls=calls, answers=answers, api=api),
        st.integers(0, 60),
        ids,
        ids,
        st.sampled_from([None, None, None, "m", "n"]),
    )
    summaries = st.builds(lambda depth: summary(depth=depth), st.integers(0, 2))
    return context(*draw(st.lists(st.one_of(messages, messages, messages, summaries), max_size=40)))


@st.composite
def policies(draw: st.DrawFn) -> CompactionPolicy:
    return replace(
        POLICY,
        fresh_tail_count=draw(st.integers(0, 10)),
        fresh_tail_max_tokens=draw(st.none() | st.integers(0, 200)),
        leaf_chunk_tokens=draw(st.integers(1, 200)),
    )


def next_pairs(items: Sequence[ContextItem]) -> list[tuple[int, int]]:
    """Ranges of each call up to the first result of its id behind it, before another such call and any summary."""
    pairs = []
    for start, item in enumerate(items):
        for call_id in item.tool_call_ids:
            for end in range(start + 1, len(items)):
                if not items[end].is_message or call_id in items[end].tool_call_ids:
                    break
                if call_id in items[end].tool_result_ids:
                    pairs.append((start, end))
                    break
    return pairs


class TestLaws:
    @given(contexts(), policies())
    def test_no_boundary_splits_a_call_from_its_result(
        self, items: list[ContextItem], policy: CompactionPolicy
    ) -> None:
        """Neither the tail nor a chunk begins or ends between a call and its result."""
        chunks = list(iter_leaf_chunks(items, policy))
        cuts = {fresh_tail_start(items, policy), *(c.start for c in chunks), *(c.end for c in chunks)}

        assert not [pair for pair in next_pairs(items) for cut in cuts if pair[0] < cut <= pair[1]]

    @given(contexts(), policies())
    def test_leaf_chunks_are_the_messages_before_the_tail_in_order(
        self, items: list[ContextItem], policy: CompactionPolicy
    ) -> None:
        """Each raw message outside the tail is in one chunk, in order, contiguous; left are only too small remnants."""
        chunks = list(iter_leaf_chunks(items, policy))
        outside = items[: fresh_tail_start(items, policy)]
        chunked = [item for chunk in chunks for item in chunk.items]
        left = [list(run) for is_left, run in groupby(outside, lambda i: i.is_message and i not in chunked) if is_left]

        assert chunked == [item for item in outside if item in chunked]
        assert all(sum(item.token_count for item in run) < policy.min_leaf_tokens for run in left)
        assert all(chunk.token_count >= policy.min_leaf_tokens for chunk in chunks)
        assert all(chunk.items and list(chunk.items) == items[chunk.start : chunk.end] for chunk in chunks)

    @given(contexts(), policies())
    def test_a_tail_without_bound_holds_the_newest_messages(
        self, items: list[ContextItem], policy: CompactionPolicy
    ) -> None:
        """At least the configured number of raw messages is protected, or all of them."""
        start = fresh_tail_start(items, replace(policy, fresh_tail_max_tokens=None))
        newest = (
            [item for item in items if item.is_message][-policy.fresh_tail_count :] if policy.fresh_tail_count else []
        )

        assert all(item in items[start:] for item in newest)

    @given(contexts(), policies(), st.booleans())
    def test_condensations_are_whole_runs_of_one_depth_outside_the_tail(
        self, items: list[ContextItem], policy: CompactionPolicy, hard: bool
    ) -> None:
        """Each takes at least two neighbours of one depth, none of them protected."""
        for chunk in iter_condensations(items, policy, hard=hard):
            assert len(chunk.items) >= policy.fanout(chunk.depth, hard=hard) >= 2
            assert list(chunk.items) == items[chunk.start : chunk.end]
            assert {item.depth for item in chunk.items} == {chunk.depth}
            assert chunk.end <= fresh_tail_start(items, policy)
