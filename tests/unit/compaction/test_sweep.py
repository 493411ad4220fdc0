from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from lcm.clock import Clock
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason, SweepProgress
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import plan_sweep, sweep_conversation
from lcm.domain.context import ItemRef
from lcm.domain.model_calls import CallStatus
from lcm.domain.summaries import EscalationLevel, SummaryKind, SummaryOrigin
from lcm.errors import IdentityConflict, SummarizerUnavailable, UnknownConversation
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.core.pass_storage import PassStorage
from lcm.storage.sqlite.factory import SqliteFactory
from lcm.summarizer.contract import SummaryRequest
from tests.factories import START, make_message, make_summary
from tests.unit.compaction.sweeping import (
    SMALL,
    FakeSummarizer,
    Script,
    append_session,
    cancel_this,
    ids,
    shape,
    shown_message_ids,
    start_session,
    text_of,
    then_cancel,
    unscrubbed,
)

LEAVES_ONLY = replace(SMALL, leaf_min_fanout=1000)
LARGER_TARGET = replace(LEAVES_ONLY, leaf_target_tokens=300)


async def sweep(
    project: ProjectStorage, conversation_id: int, summarizer: FakeSummarizer, policy: CompactionPolicy = LEAVES_ONLY
) -> CompactionResult:
    return await sweep_conversation(Compactor(summarizer, policy, unscrubbed), project, conversation_id)


class TestSweepConversation:
    async def test_replaces_old_messages_by_leaves_and_leaves_the_tail(self, project: ProjectStorage) -> None:
        """20 messages of 50 tokens with chunks of 400: two leaves of 8, then the untouched tail of 4."""
        conversation_id, messages = await start_session(project, 20)

        result = await sweep(project, conversation_id, FakeSummarizer())

        assert await shape(project, conversation_id) == "00mmmm"
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert result == CompactionResult(
            conversation_id=conversation_id,
            stop_reason=StopReason.DONE,
            summaries_created=2,
            passes=2,
            tokens_before=1000,
            tokens_after=360,
            model_calls=2,
            cost_micros=14,
        )
        assert result.action_taken
        assert await project.context.count_tokens(conversation_id) == 360

    async def test_a_leaf_tells_where_it_comes_from(self, project: ProjectStorage) -> None:
        """Time range, sums, origin and level are stored with the text."""
        conversation_id, _ = await start_session(project, 12)

        await sweep(project, conversation_id, FakeSummarizer())

        leaf = (await project.summaries.list_summaries(conversation_id))[0]
        assert (leaf.kind, leaf.depth, leaf.token_count) == (SummaryKind.LEAF, 0, 80)
        assert (leaf.earliest_at, leaf.latest_at) == (START, START + timedelta(minutes=7))
        assert (leaf.descendant_count, leaf.descendant_token_count, leaf.source_message_token_count) == (0, 0, 400)
        assert (leaf.origin, leaf.level, leaf.model) == (SummaryOrigin.MODEL, EscalationLevel.NORMAL, "fake/model")

    async def test_a_condensed_summary_adds_up_its_children(self, project: ProjectStorage) -> None:
        """Three leaves of 8 messages become one summary of depth 1."""
        conversation_id, messages = await start_session(project, 28)

        result = await sweep(project, conversation_id, FakeSummarizer(), SMALL)

        assert await shape(project, conversation_id) == "1mmmm"
        condensed = (await project.summaries.list_summaries(conversation_id))[-1]
        assert (condensed.kind, condensed.depth) == (SummaryKind.CONDENSED, 1)
        assert (condensed.descendant_count, condensed.descendant_token_count) == (3, 240)
        assert condensed.source_message_token_count == 1200
        assert (condensed.earliest_at, condensed.latest_at) == (START, START + timedelta(minutes=23))
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert (result.summaries_created, result.tokens_before) == (4, 1400)

    async def test_each_leaf_is_given_the_one_before(self, project: ProjectStorage) -> None:
        """The text of the preceding summary goes along, and the source has time lines."""
        conversation_id, _ = await start_session(project, 20)
        summarizer = FakeSummarizer()

        await sweep(project, conversation_id, summarizer)

        first, second = (request.source for request in summarizer.requests)
        assert first.previous is None
        assert second.previous == text_of(80, "Summary 1.")
        assert first.text.startswith("[2026-02-17 07:37 UTC] user\nmessage 0 xx")
        assert (second.depth, second.target_tokens) == (0, 80)

    async def test_grows_a_deep_summary_graph_over_a_long_session(self, project: ProjectStorage) -> None:
        """2,000 messages end as few summaries of growing depth; each message is below exactly one, in order."""
        conversation_id, messages = await start_session(project, 2000)
        policy = replace(
            SMALL, fresh_tail_count=8, leaf_chunk_tokens=4000, leaf_target_tokens=1200, condensed_target_tokens=900
        )

        result = await sweep(project, conversation_id, FakeSummarizer(), policy)

        depths = await project.context.list_depths(conversation_id)
        assert max(depths) >= 2
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert result.stop_reason is StopReason.DONE
        assert result.tokens_after == await project.context.count_tokens(conversation_id) < 8000

    async def test_carries_large_files_to_the_top(self, project: ProjectStorage) -> None:
        """A file named in a message is named by its leaf and by the summary above that."""
        conversation_id, _ = await start_session(project, 28)
        extra = await project.conversations.append_messages(
            conversation_id, [make_message("see file_00000000000000aa")]
        )
        await project.context.insert_messages_after(conversation_id, None, ids(extra))

        await sweep(project, conversation_id, FakeSummarizer(), SMALL)

        summaries = await project.summaries.list_summaries(conversation_id)
        assert [each.depth for each in summaries if each.file_ids == ("file_00000000000000aa",)] == [0, 1]

    async def test_a_second_sweep_finds_nothing(self, project: ProjectStorage) -> None:
        """What is compacted stays; no call is made."""
        conversation_id, _ = await start_session(project, 20)
        await sweep(project, conversation_id, FakeSummarizer())
        summarizer = FakeSummarizer()

        result = await sweep(project, conversation_id, summarizer)

        assert (result.stop_reason, result.action_taken) == (StopReason.NOTHING_TO_COMPACT, False)
        assert (result.tokens_before, result.tokens_after, result.passes) == (360, 360, 0)
        assert summarizer.requests == []

    async def test_goes_on_where_the_session_grew(self, project: ProjectStorage) -> None:
        """New messages push old ones out of the tail."""
        conversation_id, messages = await start_session(project, 20)
        await sweep(project, conversation_id, FakeSummarizer())
        messages += await append_session(project, conversation_id, range(20, 28))

        await sweep(project, conversation_id, FakeSummarizer())

        assert await shape(project, conversation_id) == "000mmmm"
        assert await shown_message_ids(project, conversation_id) == ids(messages)

    async def test_an_unknown_conversation_is_an_error(self, project: ProjectStorage) -> None:
        """Nothing is reported about what does not exist."""
        with pytest.raises(UnknownConversation):
            await sweep(project, 99, FakeSummarizer())

    async def test_reports_progress_after_each_pass(self, project: ProjectStorage) -> None:
        """Two passes, two reports with the tokens of the context."""
        conversation_id, _ = await start_session(project, 20)
        reports: list[SweepProgress] = []

        compactor = Compactor(FakeSummarizer(), LEAVES_ONLY, unscrubbed, progress=reports.append)
        await sweep_conversation(compactor, project, conversation_id)

        assert reports == [SweepProgress(1, 1, 1000, 680), SweepProgress(2, 2, 1000, 360)]

    async def test_hard_condenses_with_fewer_summaries(self, project: ProjectStorage) -> None:
        """Two leaves are condensed when space is short."""
        conversation_id, _ = await start_session(project, 20)

        compactor = Compactor(FakeSummarizer(), SMALL, unscrubbed)
        await sweep_conversation(compactor, project, conversation_id, hard=True)

        assert await shape(project, conversation_id) == "1mmmm"


class TestLimits:
    async def test_stops_at_the_pass_limit(self, project: ProjectStorage) -> None:
        """One pass is stored, the rest waits for the next sweep."""
        conversation_id, messages = await start_session(project, 20)

        result = await sweep(project, conversation_id, FakeSummarizer(), replace(LEAVES_ONLY, max_passes=1))

        assert (result.stop_reason, result.summaries_created) == (StopReason.PASS_LIMIT, 1)
        assert await shape(project, conversation_id) == "0" + "m" * 12
        assert await shown_message_ids(project, conversation_id) == ids(messages)

    async def test_a_limit_just_reached_is_no_reason_when_all_is_done(self, project: ProjectStorage) -> None:
        """Two passes of two are done."""
        conversation_id, _ = await start_session(project, 20)

        result = await sweep(project, conversation_id, FakeSummarizer(), replace(LEAVES_ONLY, max_passes=2))

        assert result.stop_reason is StopReason.DONE

    async def test_stops_at_the_time_limit(self, project: ProjectStorage) -> None:
        """A clock that moves 40 seconds a look allows one pass in a minute."""
        conversation_id, _ = await start_session(project, 20)

        policy = replace(LEAVES_ONLY, max_seconds=60)
        compactor = Compactor(FakeSummarizer(), policy, unscrubbed, clock=_clock_by(timedelta(seconds=40)))
        result = await sweep_conversation(compactor, project, conversation_id)

        assert (result.stop_reason, result.summaries_created) == (StopReason.TIME_LIMIT, 1)

    async def test_a_summary_that_saves_too_little_is_not_stored(self, project: ProjectStorage) -> None:
        """A text only 5 % shorter leaves the context alone; the call stays in the ledger."""
        conversation_id, _ = await start_session(project, 20)

        async def too_long(_request: SummaryRequest) -> str:
            return text_of(380, "Long.")

        result = await sweep(project, conversation_id, FakeSummarizer(too_long))

        assert await shape(project, conversation_id) == "m" * 20
        assert await project.summaries.list_summaries(conversation_id) == []
        assert (result.stop_reason, result.action_taken) == (StopReason.NO_PROGRESS, False)
        assert (result.passes, result.model_calls, result.tokens_after) == (1, 1, 1000)

    async def test_a_small_chunk_that_saves_nothing_does_not_stop_the_rest(self, project: ProjectStorage) -> None:
        """A remnant below the leaf target is passed over; the messages behind the next summary are compacted."""
        conversation_id, _ = await start_session(project, 1, tokens=250)
        await _append_summary(project, conversation_id)
        await append_session(project, conversation_id, range(1, 13))

        async def barely(request: SummaryRequest) -> str:
            return text_of(240 if request.source.token_count < 300 else 80, "Text.")

        result = await sweep(project, conversation_id, FakeSummarizer(barely), LARGER_TARGET)

        assert await shape(project, conversation_id) == "m00mmmm"
        assert (result.stop_reason, result.passes, result.summaries_created) == (StopReason.DONE, 2, 1)

    async def test_a_remnant_that_no_summary_could_shorten_costs_no_call(self, project: ProjectStorage) -> None:
        """One message of 50 tokens before a summary stays; the messages behind the summary are compacted."""
        conversation_id, _ = await start_session(project, 1)
        await _append_summary(project, conversation_id)
        await append_session(project, conversation_id, range(1, 13))

        result = await sweep(project, conversation_id, FakeSummarizer())

        assert await shape(project, conversation_id) == "m00mmmm"
        assert (result.stop_reason, result.passes, result.model_calls) == (StopReason.DONE, 1, 1)

    async def test_condensing_without_gain_ends_the_sweep(self, project: ProjectStorage) -> None:
        """Leaves stay when their condensation saves too little."""
        conversation_id, _ = await start_session(project, 28)

        async def leaf_only(request: SummaryRequest) -> str:
            return text_of(80 if request.depth == 0 else 235, "Text.")

        result = await sweep(project, conversation_id, FakeSummarizer(leaf_only), SMALL)

        assert await shape(project, conversation_id) == "000mmmm"
        assert (result.stop_reason, result.summaries_created) == (StopReason.NO_PROGRESS, 3)


class TestUnavailable:
    async def test_keeps_the_passes_before(self, project: ProjectStorage) -> None:
        """The first leaf stays, the failure is told with its own sentence, and the next sweep finishes the work."""
        conversation_id, messages = await start_session(project, 20)

        async def second_fails(request: SummaryRequest) -> str:
            if request.source.previous is not None:
                raise SummarizerUnavailable("The provider fake cannot be reached.")
            return text_of(80, "One.")

        result = await sweep(project, conversation_id, FakeSummarizer(second_fails))

        assert result.stop_reason is StopReason.SUMMARIZER_UNAVAILABLE
        assert result.message == "The provider fake cannot be reached."
        assert (result.summaries_created, result.model_calls, result.cost_micros) == (1, 2, 7)
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert (await sweep(project, conversation_id, FakeSummarizer())).stop_reason is StopReason.DONE
        assert await shape(project, conversation_id) == "00mmmm"

    async def test_calls_are_in_the_ledger(self, project: ProjectStorage) -> None:
        """An answered and a failed call, as the result counts them."""
        conversation_id, _ = await start_session(project, 20)
        script = _answers(text_of(80, "One."), SummarizerUnavailable("No."))

        await sweep(project, conversation_id, FakeSummarizer(script))

        calls = await project.model_calls.list_calls(conversation_id)
        assert sorted(call.outcome.status for call in calls) == [CallStatus.ANSWERED, CallStatus.FAILED]

    async def test_an_unknown_price_makes_the_sum_unknown(self, project: ProjectStorage) -> None:
        """Cost is None, never a guess."""
        conversation_id, _ = await start_session(project, 20)

        result = await sweep(project, conversation_id, FakeSummarizer(cost_micros=None))

        assert (result.model_calls, result.cost_micros) == (2, None)

    async def test_an_offline_summarizer_makes_no_calls(self, project: ProjectStorage) -> None:
        """Its work costs nothing and is labelled extractive."""
        conversation_id, _ = await start_session(project, 20)
        offline = FakeSummarizer(model="offline", origin=SummaryOrigin.EXTRACTIVE, is_remote=False)

        result = await sweep(project, conversation_id, offline)

        assert (result.summaries_created, result.model_calls, result.cost_micros) == (2, 0, 0)
        assert {each.origin for each in await project.summaries.list_summaries(conversation_id)} == {"extractive"}

    async def test_a_useless_model_is_replaced_by_labelled_truncation(self, project: ProjectStorage) -> None:
        """Answers larger than the source end as truncated text that still saves."""
        conversation_id, messages = await start_session(project, 20, tokens=300)

        async def echo(request: SummaryRequest) -> str:
            return request.source.text + " and more of it"

        policy = replace(LEAVES_ONLY, leaf_chunk_tokens=2400)
        result = await sweep(project, conversation_id, FakeSummarizer(echo), policy)

        assert (result.stop_reason, result.summaries_created, result.model_calls) == (StopReason.DONE, 2, 4)
        assert {each.origin for each in await project.summaries.list_summaries(conversation_id)} == {"truncated"}
        assert await shown_message_ids(project, conversation_id) == ids(messages)


class TestChangedContext:
    async def test_two_sweeps_at_once_double_nothing(self, project: ProjectStorage) -> None:
        """Both read the same context; each message ends below one summary and no summary is left over."""
        conversation_id, messages = await start_session(project, 60)

        results = await asyncio.gather(*(sweep(project, conversation_id, FakeSummarizer(), SMALL) for _ in range(2)))

        created = await project.summaries.list_summaries(conversation_id)
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert sum(result.summaries_created for result in results) == len(created)
        assert {result.stop_reason for result in results} <= {StopReason.DONE, StopReason.CONTEXT_CHANGED}

    async def test_two_processes_double_nothing(self, project: ProjectStorage, home: Path) -> None:
        """The same holds for another scope on the same file."""
        conversation_id, messages = await start_session(project, 60)
        second = SqliteFactory(home)
        other = await second.open_project("/home/user/project")

        results = await asyncio.gather(
            *(sweep(each, conversation_id, FakeSummarizer(), SMALL) for each in (project, other))
        )
        await second.close()

        created = await project.summaries.list_summaries(conversation_id)
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert sum(result.summaries_created for result in results) == len(created)

    async def test_the_slower_one_reports_the_change(self, project: ProjectStorage) -> None:
        """When another sweep did all the work during the call, the result is discarded and nothing is left."""
        conversation_id, _ = await start_session(project, 20)

        async def overtaken(_request: SummaryRequest) -> str:
            await sweep(project, conversation_id, FakeSummarizer())
            return text_of(80, "Late.")

        result = await sweep(project, conversation_id, FakeSummarizer(overtaken))

        assert (result.stop_reason, result.action_taken) == (StopReason.CONTEXT_CHANGED, False)
        assert (result.tokens_before, result.tokens_after, result.model_calls) == (1000, 360, 1)
        assert await shape(project, conversation_id) == "00mmmm"

    async def test_a_late_record_in_the_chunk_is_taken_in(self, project: ProjectStorage) -> None:
        """A message put between the sources during the call discards the result; the next try covers it."""
        conversation_id, messages = await start_session(project, 20)
        extra = await project.conversations.append_messages(conversation_id, [make_message("late")])

        async def disturbed(_request: SummaryRequest) -> str:
            if not await project.context.find_place(conversation_id, extra[0].message_id):
                after = ItemRef(message_id=messages[3].message_id)
                await project.context.insert_messages_after(conversation_id, after, ids(extra))
            return text_of(80, "Text.")

        result = await sweep(project, conversation_id, FakeSummarizer(disturbed))

        assert (result.stop_reason, result.passes) == (StopReason.DONE, 3)
        assert sorted(await shown_message_ids(project, conversation_id)) == sorted(ids(messages) + ids(extra))

    async def test_a_chunk_that_lost_a_message_costs_no_call(self, project: ProjectStorage) -> None:
        """A message of the second chunk is deleted during the first call; the chunk is read again before its own."""
        conversation_id, messages = await start_session(project, 20)

        async def deleting(_request: SummaryRequest) -> str:
            await project.conversations.delete_messages([messages[12].message_id])
            return text_of(80, "Text.")

        result = await sweep(project, conversation_id, FakeSummarizer(deleting))

        assert (result.stop_reason, result.passes, result.model_calls) == (StopReason.DONE, 3, 2)
        assert await shown_message_ids(project, conversation_id) == ids([*messages[:12], *messages[13:]])

    async def test_a_remnant_that_saved_nothing_is_not_tried_again(self, project: ProjectStorage) -> None:
        """After a re-read the remnant below the leaf target is still passed over."""
        conversation_id, _ = await start_session(project, 1, tokens=250)
        await _append_summary(project, conversation_id)
        await append_session(project, conversation_id, range(1, 21))
        extra = await project.conversations.append_messages(conversation_id, [make_message("late")])

        async def disturbed(request: SummaryRequest) -> str:
            if request.source.token_count < 300:
                return text_of(240, "Text.")
            place = await project.context.find_place(conversation_id, extra[0].message_id)
            if place is None:
                items = await project.context.list_items(conversation_id)
                await project.context.insert_messages_after(conversation_id, items[4].ref, ids(extra))
            return text_of(80, "Text.")

        summarizer = FakeSummarizer(disturbed)
        result = await sweep(project, conversation_id, summarizer, LARGER_TARGET)

        assert result.stop_reason is StopReason.DONE
        assert len([each for each in summarizer.requests if "message 0 " in each.source.text]) == 1

    async def test_messages_that_arrive_meanwhile_change_nothing(self, project: ProjectStorage) -> None:
        """Appending during a call does not disturb the sweep; the new messages stay."""
        conversation_id, messages = await start_session(project, 20)
        numbers = count(20)

        async def growing(_request: SummaryRequest) -> str:
            number = next(numbers)
            messages.extend(await append_session(project, conversation_id, range(number, number + 1)))
            return text_of(80, "Text.")

        result = await sweep(project, conversation_id, FakeSummarizer(growing))

        assert (result.stop_reason, result.passes) == (StopReason.DONE, 2)
        assert await shape(project, conversation_id) == "00mmmmmm"
        assert await shown_message_ids(project, conversation_id) == ids(messages)

    async def test_leaves_the_work_to_a_faster_one(self, project: ProjectStorage) -> None:
        """Who is overtaken three times in a row stops instead of paying for every pass twice."""
        conversation_id, messages = await start_session(project, 80)
        one_pass = replace(LEAVES_ONLY, max_passes=1)

        async def overtaken(_request: SummaryRequest) -> str:
            await sweep(project, conversation_id, FakeSummarizer(), one_pass)
            return text_of(80, "Late.")

        result = await sweep(project, conversation_id, FakeSummarizer(overtaken))

        assert (result.stop_reason, result.passes, result.summaries_created) == (StopReason.CONTEXT_CHANGED, 3, 0)
        assert await shown_message_ids(project, conversation_id) == ids(messages)

    async def test_sources_that_cannot_be_replaced_are_an_error(self, project: ProjectStorage) -> None:
        """A message in context and below a summary at once is a fault to repair, not a change to retry for ever."""
        conversation_id, messages = await start_session(project, 20)
        stray = await project.summaries.insert_summary(make_summary(conversation_id))
        await project.summaries.link_messages(stray.summary_key, ids(messages[:1]))

        with pytest.raises(IdentityConflict):
            await sweep(project, conversation_id, FakeSummarizer())

        assert await shape(project, conversation_id) == "m" * 20


class TestCancellation:
    @pytest.mark.parametrize("finished", [0, 1, 2, 3])
    async def test_leaves_whole_passes_and_can_go_on(self, project: ProjectStorage, finished: int) -> None:
        """Cancelled between a model's answer and its storing, the pass is as if it had never begun."""
        conversation_id, messages = await start_session(project, 28)
        answered = count()

        async def cancelled_after(_request: SummaryRequest) -> str:
            if next(answered) == finished:
                cancel_this()
            return text_of(80, "Text.")

        running = asyncio.ensure_future(sweep(project, conversation_id, FakeSummarizer(cancelled_after), SMALL))
        with pytest.raises(asyncio.CancelledError):
            await running

        assert len(await project.summaries.list_summaries(conversation_id)) == finished
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert (await sweep(project, conversation_id, FakeSummarizer(), SMALL)).stop_reason is StopReason.DONE
        assert await shape(project, conversation_id) == "1mmmm"

    @pytest.mark.parametrize("step", ["require_range", "insert_summary", "insert_links", "replace", "store"])
    async def test_inside_the_transaction_leaves_the_old_or_the_new_context(
        self, project: ProjectStorage, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        """Cancelled behind any of its steps, a stored pass is there as a whole or not at all."""
        conversation_id, messages = await start_session(project, 12)

        with monkeypatch.context() as faults:
            faults.setattr(PassStorage, step, then_cancel(getattr(PassStorage, step)))
            with pytest.raises(asyncio.CancelledError):
                await asyncio.ensure_future(sweep(project, conversation_id, FakeSummarizer()))

        stored = await project.summaries.list_summaries(conversation_id)
        assert await shape(project, conversation_id) == ("0mmmm" if stored else "m" * 12)
        await sweep(project, conversation_id, FakeSummarizer())
        assert await shape(project, conversation_id) == "0mmmm"
        assert await shown_message_ids(project, conversation_id) == ids(messages)


class TestPlanSweep:
    async def test_counts_leaf_chunks_and_writes_nothing(self, project: ProjectStorage) -> None:
        """Two chunks of eight messages, no condensation yet, and the context as before."""
        conversation_id, _ = await start_session(project, 20)
        before = await project.conversations.get_conversation(conversation_id)

        plan = await plan_sweep(project, conversation_id, SMALL)

        assert (plan.context_tokens, plan.leaf_chunks, plan.leaf_messages, plan.leaf_tokens) == (1000, 2, 16, 800)
        assert (plan.condensations, plan.condensation_tokens, plan.is_empty) == (0, 0, False)
        assert await project.conversations.get_conversation(conversation_id) == before

    async def test_counts_condensations_of_what_exists(self, project: ProjectStorage) -> None:
        """Three leaves in context are one condensation."""
        conversation_id, _ = await start_session(project, 28)
        await sweep(project, conversation_id, FakeSummarizer())

        plan = await plan_sweep(project, conversation_id, SMALL)

        assert (plan.leaf_chunks, plan.condensations, plan.condensation_tokens) == (0, 1, 240)

    async def test_is_empty_where_a_sweep_would_do_nothing(self, project: ProjectStorage) -> None:
        """A session that is all tail needs nothing."""
        conversation_id, _ = await start_session(project, 4)

        assert (await plan_sweep(project, conversation_id, SMALL)).is_empty


def _clock_by(step: timedelta) -> Clock:
    """A clock that moves on by `step` each time it is asked."""
    numbers = count()
    return lambda: START + next(numbers) * step


def _answers(*outcomes: str | SummarizerUnavailable) -> Script:
    """A script that answers or fails in this order."""
    remaining = iter(outcomes)

    async def script(_request: SummaryRequest) -> str:
        outcome = next(remaining)
        if isinstance(outcome, SummarizerUnavailable):
            raise outcome
        return outcome

    return script


async def _append_summary(project: ProjectStorage, conversation_id: int) -> None:
    summary = await project.summaries.insert_summary(make_summary(conversation_id))
    await project.context.append_summary(conversation_id, summary.summary_key)
