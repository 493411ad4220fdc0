from __future__ import annotations

from dataclasses import replace

from lcm.compaction.repair import repair_conversation
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.domain.summaries import SummaryOrigin
from lcm.errors import SummarizerUnavailable
from lcm.integrity.verify import verify_project
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.unit.compaction.sweeping import (
    SMALL,
    FakeSummarizer,
    ids,
    shape,
    shown_message_ids,
    start_session,
    text_of,
    unscrubbed,
)

#: Leaves of 2,400 tokens, so that a truncation is smaller than its source.
POLICY = replace(SMALL, leaf_chunk_tokens=2400, condensed_target_tokens=900)


async def echo(request: SummaryRequest) -> str:
    return request.source.text + " and more of it" * 200


async def truncated_session(project: ProjectStorage) -> tuple[int, list[int]]:
    """28 messages of 300 tokens, compacted by a useless model: three truncated leaves under one truncated summary."""
    conversation_id, messages = await start_session(project, 28, tokens=300)
    await sweep_conversation(Compactor(FakeSummarizer(echo), POLICY, unscrubbed), project, conversation_id)
    return conversation_id, ids(messages)


async def repair(project: ProjectStorage, conversation_id: int, summarizer: FakeSummarizer) -> CompactionResult:
    return await repair_conversation(Compactor(summarizer, POLICY, unscrubbed), project, conversation_id)


async def origins(project: ProjectStorage, conversation_id: int) -> list[tuple[int, str]]:
    listed = await project.summaries.list_summaries(conversation_id)
    return [(each.depth, each.origin.value) for each in listed if each.superseded_by_key is None]


class TestRepairConversation:
    async def test_every_fallback_gets_a_text(self, project: ProjectStorage) -> None:
        """Same shape, same messages below, new texts, and everything is whole."""
        conversation_id, messages = await truncated_session(project)
        before = await shape(project, conversation_id)
        assert {origin for _, origin in await origins(project, conversation_id)} == {"truncated"}

        result = await repair(project, conversation_id, FakeSummarizer())

        assert {origin for _, origin in await origins(project, conversation_id)} == {"model"}
        assert result.stop_reason is StopReason.DONE
        assert result.summaries_created == len(await origins(project, conversation_id))
        assert await shape(project, conversation_id) == before
        assert await shown_message_ids(project, conversation_id) == messages
        assert result.tokens_after == await project.context.count_tokens(conversation_id)
        assert (await verify_project(project)).faults == ()

    async def test_a_condensed_one_is_written_from_repaired_children(self, project: ProjectStorage) -> None:
        """The least deep come first, so that the one above reads the new texts."""
        conversation_id, _ = await truncated_session(project)
        summarizer = FakeSummarizer()

        await repair(project, conversation_id, summarizer)

        deepest = summarizer.requests[-1]
        assert deepest.depth == 1
        assert "Summary 1." in deepest.source.text

    async def test_a_second_run_finds_nothing(self, project: ProjectStorage) -> None:
        """No call is made."""
        conversation_id, _ = await truncated_session(project)
        await repair(project, conversation_id, FakeSummarizer())
        summarizer = FakeSummarizer()

        result = await repair(project, conversation_id, summarizer)

        assert (result.stop_reason, summarizer.requests) == (StopReason.NOTHING_TO_COMPACT, [])

    async def test_a_model_that_is_still_useless_changes_nothing(self, project: ProjectStorage) -> None:
        """A truncation is not replaced by another."""
        conversation_id, _ = await truncated_session(project)
        before = await project.summaries.list_summaries(conversation_id)

        result = await repair(project, conversation_id, FakeSummarizer(echo))

        assert (result.stop_reason, result.summaries_created) == (StopReason.NO_PROGRESS, 0)
        assert await project.summaries.list_summaries(conversation_id) == before

    async def test_what_was_repaired_before_a_failure_stays(self, project: ProjectStorage) -> None:
        """The next run goes on with the rest."""
        conversation_id, _ = await truncated_session(project)
        calls = 0

        async def second_fails(_request: SummaryRequest) -> str:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise SummarizerUnavailable("The limit is used up.")
            return text_of(80, "One.")

        result = await repair(project, conversation_id, FakeSummarizer(second_fails))

        assert (result.stop_reason, result.summaries_created) == (StopReason.SUMMARIZER_UNAVAILABLE, 1)
        assert (0, SummaryOrigin.MODEL.value) in await origins(project, conversation_id)
        assert (await verify_project(project)).faults == ()
