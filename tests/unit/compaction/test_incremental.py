from __future__ import annotations

from dataclasses import replace

import pytest

from lcm.compaction.incremental import compact_incrementally, is_leaf_pass_due
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor
from lcm.errors import SummarizerUnavailable
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.unit.compaction.items import POLICY, context, raw, summary
from tests.unit.compaction.sweeping import (
    SMALL,
    FakeSummarizer,
    append_session,
    ids,
    shape,
    shown_message_ids,
    start_session,
    unscrubbed,
)


async def increment(
    project: ProjectStorage,
    conversation_id: int,
    *,
    max_depth: int = 0,
    summarizer: FakeSummarizer | None = None,
    policy: CompactionPolicy = SMALL,
) -> CompactionResult:
    compactor = Compactor(summarizer or FakeSummarizer(), policy, unscrubbed)
    return await compact_incrementally(compactor, project, conversation_id, max_depth=max_depth)


class TestIsLeafPassDue:
    @pytest.mark.parametrize(("tokens", "is_due"), [(49, False), (50, True)])
    def test_when_the_messages_outside_the_tail_fill_a_chunk(self, tokens: int, is_due: bool) -> None:
        """Two messages and the tail of two: due at exactly 100 tokens."""
        assert is_leaf_pass_due(context(raw(tokens), raw(50), raw(500), raw(500)), POLICY) is is_due

    def test_summaries_do_not_count(self) -> None:
        """Only raw messages are what a leaf pass takes."""
        assert not is_leaf_pass_due(context(summary(500), raw(), raw(), raw()), POLICY)


class TestCompactIncrementally:
    async def test_makes_one_leaf_however_much_is_due(self, project: ProjectStorage) -> None:
        """Of three chunks the oldest is taken."""
        conversation_id, messages = await start_session(project, 28)

        result = await increment(project, conversation_id)

        assert await shape(project, conversation_id) == "0" + "m" * 20
        assert (result.stop_reason, result.passes, result.summaries_created) == (StopReason.DONE, 1, 1)
        assert await shown_message_ids(project, conversation_id) == ids(messages)

    async def test_does_nothing_before_a_chunk_is_full(self, project: ProjectStorage) -> None:
        """Seven messages of 50 tokens are below the chunk of 400; no model is asked."""
        conversation_id, _ = await start_session(project, 11)
        summarizer = FakeSummarizer()

        result = await increment(project, conversation_id, max_depth=-1, summarizer=summarizer)

        assert (result.stop_reason, result.passes) == (StopReason.NOTHING_TO_COMPACT, 0)
        assert summarizer.requests == []

    @pytest.mark.parametrize(("max_depth", "expected"), [(0, "000"), (1, "1"), (-1, "1")])
    async def test_condenses_up_to_the_depth(self, project: ProjectStorage, max_depth: int, expected: str) -> None:
        """Three leaves: 0 leaves them alone, 1 and unlimited merge them."""
        conversation_id, _ = await start_session(project, 12)
        for start in (12, 20, 28):
            await increment(project, conversation_id, max_depth=max_depth)
            await append_session(project, conversation_id, range(start, start + 8))

        assert (await shape(project, conversation_id)).rstrip("m") == expected

    async def test_a_depth_limit_holds_for_deeper_summaries(self, project: ProjectStorage) -> None:
        """With 1 the summaries of depth 1 stay side by side; unlimited merges them too."""
        policy = replace(SMALL, condensed_target_tokens=60)
        shapes = {}
        for max_depth in (1, -1):
            conversation_id, _ = await start_session(project, 12)
            for start in range(12, 12 + 8 * 6, 8):
                await increment(project, conversation_id, max_depth=max_depth, policy=policy)
                await append_session(project, conversation_id, range(start, start + 8))
            shapes[max_depth] = (await shape(project, conversation_id)).rstrip("m")

        assert shapes == {1: "11", -1: "2"}

    async def test_a_failing_model_changes_nothing(self, project: ProjectStorage) -> None:
        """Best effort: the result says so, and the context is what it was."""
        conversation_id, messages = await start_session(project, 28)

        async def fails(_request: SummaryRequest) -> str:
            raise SummarizerUnavailable("No.")

        result = await increment(project, conversation_id, summarizer=FakeSummarizer(fails))

        assert (result.stop_reason, result.message) == (StopReason.SUMMARIZER_UNAVAILABLE, "No.")
        assert await shown_message_ids(project, conversation_id) == ids(messages)
        assert await shape(project, conversation_id) == "m" * 28
