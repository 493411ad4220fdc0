from __future__ import annotations

from dataclasses import replace

from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.until_under import compact_until_under
from lcm.errors import SummarizerUnavailable
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.unit.compaction.sweeping import (
    SMALL,
    FakeSummarizer,
    append_session,
    ids,
    shape,
    shown_message_ids,
    start_session,
    text_of,
    unscrubbed,
)


async def compact(
    project: ProjectStorage,
    conversation_id: int,
    target: int,
    summarizer: FakeSummarizer,
    *,
    policy: CompactionPolicy = SMALL,
    max_rounds: int = 10,
) -> CompactionResult:
    compactor = Compactor(summarizer, policy, unscrubbed)
    return await compact_until_under(compactor, project, conversation_id, target_tokens=target, max_rounds=max_rounds)


class TestCompactUntilUnder:
    async def test_a_context_under_the_target_is_left_alone(self, project: ProjectStorage) -> None:
        """No call, no change."""
        conversation_id, _ = await start_session(project, 20)
        summarizer = FakeSummarizer()

        result = await compact(project, conversation_id, 1001, summarizer)

        assert (result.stop_reason, result.passes, summarizer.requests) == (StopReason.TARGET_REACHED, 0, [])

    async def test_at_exactly_the_target_it_compacts(self, project: ProjectStorage) -> None:
        """The target is to be undercut."""
        conversation_id, messages = await start_session(project, 20)

        result = await compact(project, conversation_id, 1000, FakeSummarizer())

        assert (result.stop_reason, result.tokens_before) == (StopReason.TARGET_REACHED, 1000)
        assert result.tokens_after == await project.context.count_tokens(conversation_id) < 1000
        assert await shown_message_ids(project, conversation_id) == ids(messages)

    async def test_condenses_by_the_hard_fanout(self, project: ProjectStorage) -> None:
        """Two leaves are merged, which a sweep by itself would leave."""
        conversation_id, _ = await start_session(project, 20)

        await compact(project, conversation_id, 1000, FakeSummarizer())

        assert await shape(project, conversation_id) == "1mmmm"

    async def test_a_tail_over_the_target_is_told_and_remembered(self, project: ProjectStorage) -> None:
        """Four protected messages of 50 tokens can never be under 100; the second time no model is asked."""
        conversation_id, _ = await start_session(project, 20)
        first = await compact(project, conversation_id, 100, FakeSummarizer())
        summarizer = FakeSummarizer()

        again = await compact(project, conversation_id, 100, summarizer)

        assert first.stop_reason is again.stop_reason is StopReason.TAIL_OVER_TARGET
        assert (again.passes, summarizer.requests) == (0, [])
        assert (again.tokens_before, again.tokens_after) == (first.tokens_after, first.tokens_after)

    async def test_a_remembered_end_is_tried_again_when_something_changed(self, project: ProjectStorage) -> None:
        """New messages, another target or another policy make it worth a try."""
        conversation_id, _ = await start_session(project, 20)
        await compact(project, conversation_id, 100, FakeSummarizer())

        await append_session(project, conversation_id, range(20, 30))
        grown = await compact(project, conversation_id, 100, FakeSummarizer())
        untailed = await compact(
            project, conversation_id, 100, FakeSummarizer(), policy=replace(SMALL, fresh_tail_count=0)
        )

        assert (grown.stop_reason, grown.summaries_created > 0) == (StopReason.TAIL_OVER_TARGET, True)
        assert untailed.summaries_created > 0

    async def test_a_summary_that_does_not_shrink_ends_it(self, project: ProjectStorage) -> None:
        """The tail fits, but the rest saves nothing: no progress, remembered."""
        conversation_id, _ = await start_session(project, 20)

        async def long(_request: SummaryRequest) -> str:
            return text_of(390, "Long.")

        first = await compact(project, conversation_id, 300, FakeSummarizer(long))
        summarizer = FakeSummarizer(long)
        again = await compact(project, conversation_id, 300, summarizer)

        assert first.stop_reason is again.stop_reason is StopReason.NO_PROGRESS
        assert summarizer.requests == []

    async def test_stops_after_its_rounds(self, project: ProjectStorage) -> None:
        """One round is made where more would be needed."""
        conversation_id, _ = await start_session(project, 60)
        policy = replace(SMALL, condensed_min_fanout_hard=100)

        result = await compact(project, conversation_id, 300, FakeSummarizer(), policy=policy, max_rounds=1)

        assert result.stop_reason is StopReason.ROUND_LIMIT
        assert result.tokens_after < result.tokens_before

    async def test_a_failing_model_is_not_remembered(self, project: ProjectStorage) -> None:
        """The next call asks again."""
        conversation_id, _ = await start_session(project, 20)

        async def fails(_request: SummaryRequest) -> str:
            raise SummarizerUnavailable("No.")

        first = await compact(project, conversation_id, 900, FakeSummarizer(fails))
        again = await compact(project, conversation_id, 900, FakeSummarizer())

        assert first.stop_reason is StopReason.SUMMARIZER_UNAVAILABLE
        assert again.stop_reason is StopReason.TARGET_REACHED
