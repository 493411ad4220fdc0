"""Whole compactions by the command line: depth, budget, order, and every message within reach afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from lcm.assembly.assembler import AssembledContext, assemble
from lcm.domain.summaries import SummaryOrigin
from tests.conftest import CORPUS
from tests.engine.context_proofs import (
    expanded_places,
    import_file,
    opened,
    reached_message_ids,
    require_true_figures,
    unexcluded_messages,
)
from tests.engine.lcm_processes import ANTHROPIC, DEEP, OPENAI, LcmHome, summarizes
from tests.engine.long_sessions import session_records, write_transcript
from tests.model_server import ModelServer

GENERATED = "generated"
COMPACTED = "claude/compacted-v2.0.76.jsonl"
OFFLINE = "offline"

SOURCES = [
    pytest.param((GENERATED, OPENAI), id="generated-openai"),
    pytest.param((GENERATED, OFFLINE), id="generated-offline"),
    pytest.param((COMPACTED, ANTHROPIC), id="corpus-anthropic", marks=pytest.mark.corpus),
    pytest.param((COMPACTED, OFFLINE), id="corpus-offline", marks=pytest.mark.corpus),
]
each_source = pytest.mark.parametrize("compacted", SOURCES, indirect=True)


@dataclass(frozen=True)
class Compacted:
    """An imported and compacted session: contexts as message ids before compaction, and what the command printed."""

    home: LcmHome
    origin: SummaryOrigin
    before: dict[int, list[int]]
    results: list[dict[str, Any]]

    @property
    def longest(self) -> int:
        """The conversation with the longest context before."""
        return max(self.before, key=lambda each: len(self.before[each]))


def contexts(home: Path) -> dict[int, list[int]]:
    """Message ids in context by conversation, as the rows say."""
    (database,) = home.glob("projects/*/db.sqlite")
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        found = connection.execute(
            "SELECT conversation_id, message_id FROM context_items ORDER BY conversation_id, position"
        )
        return {key: [row[1] for row in rows] for key, rows in groupby(found, key=lambda row: int(row[0]))}


def compact_source(home: LcmHome, name: str, model: str) -> Compacted:
    """Import a session and compact it, each by a process of its own."""
    if name == GENERATED:
        path = write_transcript(home.home.parent / "session.jsonl", session_records(2000))
    else:
        path = CORPUS / "transcripts" / name
    asyncio.run(import_file(home.home, path))
    before = contexts(home.home)
    if model == OFFLINE:
        results = home.run("compact")["conversations"]
        return Compacted(home, SummaryOrigin.EXTRACTIVE, before, results)
    with ModelServer(summarizes) as server:
        results = home.with_model(server, model).run("compact")["conversations"]
    return Compacted(home, SummaryOrigin.MODEL, before, results)


@pytest.fixture(scope="session")
def compacted_sources() -> dict[tuple[str, str], Compacted]:
    """What was compacted already: a session is compacted once, however the tests are ordered."""
    return {}


@pytest.fixture
def compacted(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    compacted_sources: dict[tuple[str, str], Compacted],
) -> Compacted:
    name, model = request.param
    if name != GENERATED:
        request.getfixturevalue("corpus")
    if request.param not in compacted_sources:
        settings = {**DEEP, "LCM_SUMMARY_PROVIDER": OFFLINE}
        home = LcmHome(tmp_path_factory.mktemp("compacted") / "home", settings)
        compacted_sources[request.param] = compact_source(home, name, model)
    return compacted_sources[request.param]


class TestLongSession:
    @each_source
    async def test_grows_a_deep_graph(self, compacted: Compacted) -> None:
        """With small chunks the context of a long session ends two levels deep or more, by the summarizer named."""
        async with opened(compacted.home.home) as project:
            depths = await project.context.list_depths(compacted.longest)
            summaries = await project.summaries.list_summaries(compacted.longest)

        assert max(depths) >= 2
        assert {summary.origin for summary in summaries} <= {compacted.origin, SummaryOrigin.TRUNCATED}

    @each_source
    async def test_the_command_tells_what_happened(self, compacted: Compacted) -> None:
        """Stop reason, numbers and token sums printed are those of the stored contexts."""
        async with opened(compacted.home.home) as project:
            for result in compacted.results:
                conversation_id = result["conversation_id"]
                stored = await project.summaries.list_summaries(conversation_id)
                assert result["stop_reason"] in {"done", "no_progress", "nothing_to_compact"}
                assert result["summaries_created"] == len(stored)
                assert result["tokens_after"] == await project.context.count_tokens(conversation_id)
                assert result["model_calls"] == len(await project.model_calls.list_calls(conversation_id))

    @each_source
    async def test_every_message_is_reached_once_and_in_order(self, compacted: Compacted) -> None:
        """What the contexts stand for, summaries opened down to the messages, is what they showed before."""
        async with opened(compacted.home.home) as project:
            for conversation_id, before in compacted.before.items():
                unexcluded = await unexcluded_messages(project, conversation_id)

                assert await reached_message_ids(project, conversation_id) == before
                assert {message.message_id for message in unexcluded} <= set(before)

    @each_source
    async def test_expand_gives_every_message(self, compacted: Compacted) -> None:
        """The public expand of what is in context gives each message that is not excluded, once."""
        async with opened(compacted.home.home) as project:
            for conversation_id, before in compacted.before.items():
                shown = await project.conversations.list_messages_by_id(before)
                expected = sorted((message.conversation_id, message.seq) for message in shown)

                assert await expanded_places(project, conversation_id) == expected

    @each_source
    async def test_figures_of_summaries_are_true(self, compacted: Compacted) -> None:
        """Depths, counts, sums and times of every summary are those of what lies below it."""
        async with opened(compacted.home.home) as project:
            for conversation_id in compacted.before:
                await require_true_figures(project, conversation_id)

    @each_source
    @pytest.mark.parametrize("budget", [2_000, 3_000, 5_000, 10_000, 30_000, 100_000, 200_000])
    async def test_the_context_keeps_to_its_budget(self, compacted: Compacted, budget: int) -> None:
        """Only the fresh tail alone may be over the budget, and then nothing else is included."""
        async with opened(compacted.home.home) as project:
            context = await assemble(project, compacted.longest, budget=budget, fresh_tail_count=8)

        assert context.token_count <= budget or context.items_included == context.tail_items
        assert context.over_budget == (context.token_count > budget)
        assert context.tail_items >= 8
        calls, results = tool_ids(context)
        assert calls == results

    @each_source
    async def test_times_of_the_context_ascend(self, compacted: Compacted) -> None:
        """Summaries first, then messages, each no older than the one before."""
        async with opened(compacted.home.home) as project:
            items = await project.context.list_items(compacted.longest)

        kinds = [item.is_message for item in items]
        assert kinds == sorted(kinds)


def tool_ids(context: AssembledContext) -> tuple[list[str], list[str]]:
    blocks = [block for message in context.messages for block in message.content]
    calls = [str(block["id"]) for block in blocks if block["type"] == "tool_use"]
    return calls, [str(block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
