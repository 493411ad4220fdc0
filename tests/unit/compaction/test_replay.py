from __future__ import annotations

from lcm.compaction.batch import discover
from lcm.compaction.replay import replay_project
from lcm.compaction.result import CompactionResult
from lcm.compaction.run import Compactor
from lcm.domain.compaction_state import CompactionMode
from lcm.domain.model_calls import CallStatus
from lcm.errors import SummarizerUnavailable
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.unit.compaction.sweeping import SMALL, FakeSummarizer, append_session, start_session, text_of, unscrubbed


async def start_sessions(project: ProjectStorage, count: int) -> list[int]:
    """Conversations of two leaves each, one after the other in time."""
    made = []
    for number in range(count):
        conversation_id, _ = await start_session(project, 0)
        await append_session(project, conversation_id, range(number * 20, number * 20 + 20))
        made.append(conversation_id)
    return made


async def replay(project: ProjectStorage, summarizer: FakeSummarizer) -> list[CompactionResult]:
    compactor = Compactor(summarizer, SMALL, unscrubbed)
    candidates = await discover(project, compactor, mode=CompactionMode.REPLAY)
    return await replay_project(project, compactor, candidates)


def limited(calls: int) -> FakeSummarizer:
    """A provider whose usage limit is reached after so many answers; each answer names its number."""
    answered = 0

    async def answer(_request: SummaryRequest) -> str:
        nonlocal answered
        if answered == calls:
            raise SummarizerUnavailable("The usage limit is reached.")
        answered += 1
        return text_of(80, f"Answer {answered}.")

    return FakeSummarizer(answer)


def previous(summarizer: FakeSummarizer) -> list[str]:
    """The first two words of what each request continued."""
    return [" ".join((request.source.previous or "-").split()[:2]) for request in summarizer.requests]


class TestReplayProject:
    async def test_each_conversation_continues_the_one_before(self, project: ProjectStorage) -> None:
        """The first leaf is given the last summary of the conversation before, every other its own predecessor."""
        await start_sessions(project, 3)
        summarizer = FakeSummarizer()

        results = await replay(project, summarizer)

        assert [result.stop_reason.value for result in results] == ["done", "done", "done"]
        assert previous(summarizer) == ["-", "Summary 1.", "Summary 2.", "Summary 3.", "Summary 4.", "Summary 5."]

    async def test_goes_on_where_a_usage_limit_ended_it(self, project: ProjectStorage) -> None:
        """The limit comes in the middle of the third of five; no stored summary is asked for again."""
        conversations = await start_sessions(project, 5)
        first, second = limited(5), FakeSummarizer()

        results = await replay(project, first)
        rest = await replay(project, second)

        assert [result.stop_reason.value for result in results] == [
            "done",
            "done",
            "summarizer_unavailable",
            "not_tried",
            "not_tried",
        ]
        assert [result.summaries_created for result in results] == [2, 2, 1, 0, 0]
        assert [result.summaries_created for result in rest] == [0, 0, 1, 2, 2]
        assert previous(second)[0] == "Answer 5."
        calls = [call for each in conversations for call in await project.model_calls.list_calls(each)]
        answered = sum(call.outcome.status is CallStatus.ANSWERED for call in calls)
        stored = [summary for each in conversations for summary in await project.summaries.list_summaries(each)]
        assert (answered, len(stored), len(calls)) == (10, 10, 11)

    async def test_the_chain_survives_a_limit_between_two_conversations(self, project: ProjectStorage) -> None:
        """The second run hands the last summary of the first run on."""
        await start_sessions(project, 3)
        second = FakeSummarizer()

        await replay(project, limited(4))
        await replay(project, second)

        assert previous(second) == ["Answer 4.", "Summary 1."]

    async def test_a_finished_replay_asks_nothing(self, project: ProjectStorage) -> None:
        """Every conversation is through."""
        await start_sessions(project, 2)
        await replay(project, FakeSummarizer())
        summarizer = FakeSummarizer()

        results = await replay(project, summarizer)

        assert summarizer.requests == []
        assert [result.stop_reason.value for result in results] == ["nothing_to_compact", "nothing_to_compact"]

    async def test_a_conversation_without_summaries_hands_on_what_it_was_given(self, project: ProjectStorage) -> None:
        """A short conversation in between does not break the chain, in this run or the next."""
        (first,) = await start_sessions(project, 1)
        short, _ = await start_session(project, 0)
        await append_session(project, short, range(30, 33))
        last, _ = await start_session(project, 0)
        await append_session(project, last, range(60, 80))
        summarizer = FakeSummarizer()

        await replay(project, limited(2))
        await replay(project, summarizer)

        assert previous(summarizer)[0] == "Answer 2."
        assert len(await project.summaries.list_summaries(first)) == 2

    async def test_new_messages_are_taken_in(self, project: ProjectStorage) -> None:
        """A conversation that grew since it was through has work again."""
        first, _second = await start_sessions(project, 2)
        await replay(project, FakeSummarizer())
        await append_session(project, first, range(200, 208))

        results = await replay(project, FakeSummarizer())

        assert [(result.conversation_id == first, result.action_taken) for result in results] == [
            (True, True),
            (False, False),
        ]
