from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from lcm.compaction.batch import compact_batch, discover
from lcm.compaction.limits import RunLimits
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import plan_sweep, sweep_conversation
from lcm.domain.compaction_state import CompactionMode
from lcm.errors import StorageUnavailable, SummarizerUnavailable
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.unit.compaction.sweeping import (
    SMALL,
    FakeSummarizer,
    append_session,
    shape,
    start_session,
    text_of,
    unscrubbed,
)

REPLAY = CompactionMode.REPLAY


def compactor(summarizer: FakeSummarizer | None = None, policy: CompactionPolicy = SMALL) -> Compactor:
    return Compactor(summarizer or FakeSummarizer(), policy, unscrubbed)


async def batch(
    project: ProjectStorage, using: Compactor | None = None, *, max_concurrency: int = 1
) -> dict[int, CompactionResult]:
    using = using or compactor()
    candidates = await discover(project, using)
    results = await compact_batch(project, using, candidates, max_concurrency=max_concurrency)
    return {result.conversation_id: result for result in results}


def reasons(results: dict[int, CompactionResult]) -> dict[int, str]:
    return {number: result.stop_reason.value for number, result in sorted(results.items())}


class TestDiscover:
    async def test_the_tail_alone_is_up_to_date(self, project: ProjectStorage) -> None:
        """Four protected messages are no work, however large they are."""
        await start_session(project, 4, tokens=100_000)

        (found,) = await discover(project, compactor())

        assert (found.is_due, found.reason) == (False, StopReason.NOTHING_TO_COMPACT)

    async def test_messages_outside_the_tail_are_work(self, project: ProjectStorage) -> None:
        """Four more messages are worth a leaf; the largest context comes first."""
        small, _ = await start_session(project, 8)
        large, _ = await start_session(project, 20)

        found = await discover(project, compactor())

        assert [(each.conversation.conversation_id, each.is_due) for each in found] == [(large, True), (small, True)]

    async def test_small_contexts_are_left_out(self, project: ProjectStorage) -> None:
        """Exactly the least is enough."""
        conversation_id, _ = await start_session(project, 20)

        assert [each.reason for each in await discover(project, compactor(), min_tokens=1000)] == [None]
        (found,) = await discover(project, compactor(), min_tokens=1001)
        assert (found.reason, found.conversation.conversation_id) == (StopReason.BELOW_MIN_TOKENS, conversation_id)

    async def test_summaries_that_can_be_condensed_are_work(self, project: ProjectStorage) -> None:
        """A sweep that ended between its phases is found, without any raw message outside the tail."""
        await start_session(project, 28)
        await batch(project, compactor(policy=replace(SMALL, leaf_min_fanout=1000)))

        for mode in CompactionMode.SWEEP, REPLAY:
            (found,) = await discover(project, compactor(), mode=mode)
            assert (found.is_due, found.plan.leaf_chunks, found.plan.condensations) == (True, 0, 1)

    async def test_a_replay_takes_the_oldest_first(self, project: ProjectStorage) -> None:
        """By the time of the first message, not by size or order of storing."""
        young, _ = await start_session(project, 20)
        old, _ = await start_session(project, 0)
        await append_session(project, old, range(-60, -40))

        found = await discover(project, compactor(), mode=REPLAY)

        assert [each.conversation.conversation_id for each in found] == [old, young]

    async def test_what_saved_nothing_is_remembered(self, project: ProjectStorage) -> None:
        """The same context is not paid for again, until it grows, another model or another policy comes."""
        conversation_id, _ = await start_session(project, 20)

        async def long(_request: SummaryRequest) -> str:
            return text_of(390, "Long.")

        useless = compactor(FakeSummarizer(long))
        assert reasons(await batch(project, useless)) == {conversation_id: "no_progress"}

        assert [each.reason for each in await discover(project, useless)] == [StopReason.NO_PROGRESS]
        other_model = compactor(FakeSummarizer(long, model="fake/better"))
        assert [each.is_due for each in await discover(project, other_model)] == [True]
        other_policy = compactor(policy=replace(SMALL, leaf_chunk_tokens=800))
        assert [each.is_due for each in await discover(project, other_policy)] == [True]
        await append_session(project, conversation_id, range(20, 22))
        assert [each.is_due for each in await discover(project, useless)] == [True]

    async def test_longer_limits_are_no_other_policy(self, project: ProjectStorage) -> None:
        """How long a run may take does not make a settled conversation new."""
        await start_session(project, 20)
        await batch(project)

        patient = compactor(policy=replace(SMALL, max_passes=7, max_seconds=7))
        assert [each.is_due for each in await discover(project, patient)] == [False]

    async def test_agrees_with_a_sweep(self, project: ProjectStorage) -> None:
        """Of 25 conversations of all shapes none that is chosen ends as a no-op, and no other has work."""
        await require_agreement(project, 25)

    @pytest.mark.long
    async def test_agrees_with_a_sweep_on_very_many(self, project: ProjectStorage) -> None:
        """The same for 200 conversations."""
        await require_agreement(project, 200)


class TestCompactBatch:
    async def test_each_conversation_has_its_result(self, project: ProjectStorage) -> None:
        """Compacted and unchanged ones, each under its id."""
        idle, _ = await start_session(project, 3)
        busy, _ = await start_session(project, 20)

        results = await batch(project)

        assert reasons(results) == {idle: "nothing_to_compact", busy: "done"}
        assert (results[busy].action_taken, results[idle].action_taken) == (True, False)

    async def test_conversations_run_side_by_side(self, project: ProjectStorage) -> None:
        """As many as allowed, and never more: the first three wait for each other."""
        for _ in range(4):
            await start_session(project, 8)
        running = most = 0
        full = asyncio.Event()

        async def counted(_request: SummaryRequest) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 3:
                full.set()
            await full.wait()
            running -= 1
            return text_of(20, "Text.")

        await batch(project, compactor(FakeSummarizer(counted)), max_concurrency=3)

        assert most == 3

    async def test_an_unavailable_model_ends_the_batch(self, project: ProjectStorage) -> None:
        """The largest fails; nothing else is tried, and a later run does it all."""
        small, _ = await start_session(project, 8)
        large, _ = await start_session(project, 20)

        async def fails(_request: SummaryRequest) -> str:
            raise SummarizerUnavailable("No.")

        assert reasons(await batch(project, compactor(FakeSummarizer(fails)))) == {
            small: "not_tried",
            large: "summarizer_unavailable",
        }
        assert reasons(await batch(project)) == {small: "done", large: "done"}

    async def test_a_limit_of_the_run_ends_the_batch(self, project: ProjectStorage) -> None:
        """One pass is allowed; the rest of the first conversation and the second wait."""
        small, _ = await start_session(project, 8)
        large, _ = await start_session(project, 20)
        limited = replace(compactor(), limits=RunLimits(max_passes=1))

        assert reasons(await batch(project, limited)) == {small: "not_tried", large: "pass_limit"}

    async def test_a_limit_of_one_conversation_does_not(self, project: ProjectStorage) -> None:
        """The policy allows one pass for each."""
        small, _ = await start_session(project, 8)
        large, _ = await start_session(project, 20)

        results = await batch(project, compactor(policy=replace(SMALL, max_passes=1)))

        assert reasons(results) == {small: "done", large: "pass_limit"}

    async def test_one_failing_storage_leaves_the_others(self, project: ProjectStorage) -> None:
        """A conversation whose pass meets a storage error is a failed result with its sentence."""
        small, _ = await start_session(project, 8)
        large, _ = await start_session(project, 20)

        async def refused(request: SummaryRequest) -> str:
            if request.source.conversation_id == large:
                raise StorageUnavailable("The database is busy.")
            return text_of(40, "Text.")

        results = await batch(project, compactor(FakeSummarizer(refused)))

        assert reasons(results) == {small: "done", large: "storage_failed"}
        assert results[large].message == "The database is busy."


async def require_agreement(project: ProjectStorage, count: int) -> None:
    """Discovery against what a sweep of the very same conversation then does."""
    chance = Random(20260217)
    for _ in range(count):
        await generated(project, chance)
    using = compactor()
    candidates = await discover(project, using)
    assert {each.is_due for each in candidates} == {True, False}
    for candidate in candidates:
        conversation_id = candidate.conversation.conversation_id
        before = await shape(project, conversation_id)
        result = await sweep_conversation(using, project, conversation_id)
        assert result.action_taken is candidate.is_due, before
        assert (await plan_sweep(project, conversation_id, SMALL)).is_empty


async def generated(project: ProjectStorage, chance: Random) -> None:
    """A conversation of any length and message size, perhaps compacted in part before."""
    conversation_id, _ = await start_session(
        project, chance.choice((0, 1, 3, 4, 5, 6, 9, 14, 30, 60)), tokens=_size(chance)
    )
    for policy in chance.sample(_EARLIER, chance.randint(0, len(_EARLIER))):
        await sweep_conversation(compactor(policy=policy), project, conversation_id)
        start = chance.choice((100, 101, 102, 103))
        await append_session(
            project, conversation_id, range(start, start + chance.choice((0, 1, 2, 7))), tokens=_size(chance)
        )


def _size(chance: Random) -> int:
    return chance.choice((10, 40, 50, 120, 450))


#: How a conversation may have been compacted before: leaves only, few passes, a longer tail.
_EARLIER: Sequence[CompactionPolicy] = (
    replace(SMALL, leaf_min_fanout=1000),
    replace(SMALL, max_passes=1),
    replace(SMALL, fresh_tail_count=9),
)
