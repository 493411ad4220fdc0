from __future__ import annotations

from datetime import timedelta

import pytest

from lcm.compaction.limits import RunLimits
from lcm.compaction.result import StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import START
from tests.unit.compaction.sweeping import SMALL, FakeSummarizer, start_session, unscrubbed


class TestReached:
    @pytest.mark.parametrize(
        ("limits", "reason"),
        [
            (RunLimits(), None),
            (RunLimits(max_passes=2, passes=1), None),
            (RunLimits(max_passes=2, passes=2), StopReason.PASS_LIMIT),
            (RunLimits(deadline=START + timedelta(seconds=1)), None),
            (RunLimits(deadline=START), StopReason.TIME_LIMIT),
            (RunLimits(max_tokens=100, tokens=99), None),
            (RunLimits(max_tokens=100, tokens=100), StopReason.TOKEN_LIMIT),
            (RunLimits(max_cost_micros=100, cost_micros=99), None),
            (RunLimits(max_cost_micros=100, cost_micros=100), StopReason.COST_LIMIT),
            (RunLimits(max_cost_micros=100, cost_micros=None), StopReason.UNKNOWN_COST),
            (RunLimits(cost_micros=None), None),
        ],
    )
    def test_names_the_limit(self, limits: RunLimits, reason: StopReason | None) -> None:
        """Each limit by its own name; a limit that is not set allows everything."""
        assert limits.reached(START) is reason


class TestUse:
    def test_adds_up_and_forgets_no_unknown_price(self) -> None:
        """One unknown price makes the sum unknown for good."""
        limits = RunLimits()
        limits.use(tokens=5, cost_micros=7)
        assert (limits.passes, limits.tokens, limits.cost_micros) == (1, 5, 7)
        limits.use(tokens=1, cost_micros=None)
        limits.use(tokens=1, cost_micros=3)

        assert (limits.passes, limits.tokens, limits.cost_micros) == (3, 7, None)


class TestOverConversations:
    async def test_a_limit_counts_over_all_conversations(self, project: ProjectStorage) -> None:
        """Three passes are allowed: two for the first conversation, one for the second."""
        first, _ = await start_session(project, 20)
        second, _ = await start_session(project, 20)
        limits = RunLimits(max_passes=3)
        compactor = Compactor(FakeSummarizer(), SMALL, unscrubbed, limits=limits)

        results = [await sweep_conversation(compactor, project, each) for each in (first, second)]

        assert [(each.stop_reason, each.passes) for each in results] == [
            (StopReason.DONE, 2),
            (StopReason.PASS_LIMIT, 1),
        ]

    async def test_money_ends_a_run_before_the_next_pass(self, project: ProjectStorage) -> None:
        """Calls cost 7 micro-units each: with a limit of 10 the second pass is the last."""
        conversation_id, _ = await start_session(project, 28)
        limits = RunLimits(max_cost_micros=10)
        compactor = Compactor(FakeSummarizer(), SMALL, unscrubbed, limits=limits)

        result = await sweep_conversation(compactor, project, conversation_id)

        assert (result.stop_reason, result.passes, limits.cost_micros) == (StopReason.COST_LIMIT, 2, 14)

    async def test_tokens_that_are_not_reported_count_as_reserved(self, project: ProjectStorage) -> None:
        """The fake provider reports none, so a pass costs what was set aside for it."""
        conversation_id, _ = await start_session(project, 28)
        limits = RunLimits(max_tokens=1)
        compactor = Compactor(FakeSummarizer(), SMALL, unscrubbed, limits=limits)

        result = await sweep_conversation(compactor, project, conversation_id)

        (call,) = await project.model_calls.list_calls(conversation_id)
        assert (result.stop_reason, result.passes) == (StopReason.TOKEN_LIMIT, 1)
        assert limits.tokens == call.reservation.reserved_tokens > 0
