"""Real Claude Code files of many versions: how many messages, calls and unused records each holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import (
    HistoryNeeded,
    MessageRecord,
    ParsedItem,
    Rewind,
    SessionFact,
    SkippedLine,
    SubagentLink,
    Thread,
    UnusedRecord,
)
from lcm.transcripts.lines import iter_lines
from lcm.transcripts.parse.claude import ClaudeParser

FOLDER = Path(__file__).parents[4].parent / "shared" / "data" / "transcripts"
GENERATED = "generated/claude-code-2.1.332/-home-user-project"
COMPACTED = f"{GENERATED}/7cfdb933-960b-4bcf-9bb0-6a3b9a7232dd.jsonl"
DELEGATED = f"{GENERATED}/25b97db6-5c88-4d86-ae03-0676305050f4.jsonl"
HELPER = f"{GENERATED}/25b97db6-5c88-4d86-ae03-0676305050f4/subagents/agent-a6f6e7f79b5a5a0b5.jsonl"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the transcript corpus is not beside the checkout"),
]


@dataclass(frozen=True)
class Expected:
    """Counts of one file: messages by role, typed prompts, calls, results, excluded messages."""

    user: int
    assistant: int
    tool: int
    prompts: int
    calls: int
    results: int
    excluded: int = 0


COUNTS = {
    "claude/resume-v1.0.56/original-session.jsonl": Expected(1, 1, 0, 1, 0, 0),
    "claude/resume-v1.0.56/resumed-session.jsonl": Expected(2, 3, 1, 2, 1, 1),
    "claude/inline-sidechain-v1.0.71.jsonl": Expected(2, 8, 3, 1, 3, 3),
    "claude/interrupted-v1.0.51.jsonl": Expected(2, 2, 1, 1, 1, 1),
    "claude/cjk-sidechain-v1.0.108.jsonl": Expected(4, 28, 21, 0, 21, 21, 1),
    "claude/long-lines-v2.0.5.jsonl": Expected(16, 143, 98, 15, 98, 98, 1),
    "claude/thinking-v2.0.24.jsonl": Expected(6, 75, 37, 3, 37, 37, 1),
    "claude/image-result-v2.0.26.jsonl": Expected(9, 16, 10, 4, 10, 10, 1),
    "claude/compacted-v2.0.76.jsonl": Expected(22, 132, 48, 15, 48, 48, 2),
    "claude/growing-v2.1.7/at-t1/session.jsonl": Expected(1, 16, 6, 1, 7, 6),
    "claude/growing-v2.1.7/at-t1/subagents/agent-a485154.jsonl": Expected(1, 23, 20, 0, 20, 20),
    "claude/growing-v2.1.7/at-t2/session.jsonl": Expected(1, 30, 14, 1, 14, 14),
    "claude/growing-v2.1.7/at-t2/subagents/agent-a485154.jsonl": Expected(1, 23, 20, 0, 20, 20),
    COMPACTED: Expected(8, 18, 7, 4, 7, 7, 2),
    DELEGATED: Expected(1, 3, 1, 1, 1, 1),
    HELPER: Expected(1, 3, 1, 0, 1, 1),
}

UNUSED = {
    "claude/resume-v1.0.56/resumed-session.jsonl": {"summary": 1},
    "claude/long-lines-v2.0.5.jsonl": {"file-history-snapshot": 33, "system/api_error": 5},
    "claude/compacted-v2.0.76.jsonl": {
        "file-history-snapshot": 18,
        "queue-operation": 1,
        "system/compact_boundary": 1,
    },
    "claude/growing-v2.1.7/at-t2/session.jsonl": {
        "file-history-snapshot": 2,
        "summary": 1,
        "system/stop_hook_summary": 1,
        "system/turn_duration": 1,
    },
    "claude/growing-v2.1.7/at-t2/subagents/agent-a485154.jsonl": {"progress": 1},
}


def parse(name: str) -> list[ParsedItem]:
    parser = ClaudeParser()
    lines = iter_lines(FOLDER / name)
    return [item for line in lines if line.record is not None for item in parser.feed(line.line, line.record)]


def messages(items: list[ParsedItem]) -> list[MessageRecord]:
    return [item for item in items if isinstance(item, MessageRecord)]


def call_ids(records: list[MessageRecord], part_type: PartType) -> list[str | None]:
    return [block.tool_call_id for record in records for block in record.blocks if block.part_type is part_type]


class TestRealFiles:
    @pytest.mark.parametrize("name", COUNTS)
    def test_counts(self, name: str) -> None:
        """Messages by role, prompts, calls, results and exclusions are those counted in the file."""
        records = messages(parse(name))
        roles = Counter(record.role for record in records)

        assert COUNTS[name] == Expected(
            user=roles[Role.USER],
            assistant=roles[Role.ASSISTANT],
            tool=roles[Role.TOOL],
            prompts=sum(record.is_prompt for record in records),
            calls=len(call_ids(records, PartType.TOOL_CALL)),
            results=len(call_ids(records, PartType.TOOL_RESULT)),
            excluded=sum(record.exclusion is not None for record in records),
        )

    @pytest.mark.parametrize("name", COUNTS)
    def test_every_record_has_identity_and_time_and_none_is_a_rewind(self, name: str) -> None:
        """Real records carry UUIDs (all but a queued text) and times; parallel results and compaction are no forks."""
        items = parse(name)
        odd = [item for item in items if isinstance(item, Rewind | HistoryNeeded | SkippedLine)]

        assert all(record.native_uuid or record.item_type == "queue-operation" for record in messages(items))
        assert all(record.occurred_at for record in messages(items))
        assert odd == []

    @pytest.mark.parametrize("name", [name for name in COUNTS if "at-t1/session" not in name])
    def test_every_call_has_its_result(self, name: str) -> None:
        """Calls and results are the same ids, each once."""
        records = messages(parse(name))

        assert Counter(call_ids(records, PartType.TOOL_CALL)) == Counter(call_ids(records, PartType.TOOL_RESULT))

    @pytest.mark.parametrize("name", UNUSED)
    def test_unused_records_by_kind(self, name: str) -> None:
        """State and copies are counted, not imported."""
        kinds = Counter(item.kind for item in parse(name) if isinstance(item, UnusedRecord))

        assert kinds == UNUSED[name]

    def test_a_file_that_is_not_line_json(self) -> None:
        """1,146 lines of pretty-printed JSON: three of them JSON by chance, none a record."""
        lines = list(iter_lines(FOLDER / "claude/pretty-printed-not-jsonl.jsonl"))

        assert Counter(line.skipped for line in lines) == {"not JSON": 1143, "JSON but not an object": 3}

    def test_requests_repeat_the_conversation_and_are_unused(self) -> None:
        """The newest client stores every request: ten requests, ten blobs, no message of them."""
        kinds = Counter(item.kind for item in parse(COMPACTED) if isinstance(item, UnusedRecord))

        assert (kinds["api-request"], kinds["api-request-blob"], kinds["api-request-shape"]) == (10, 10, 2)
        assert sum(kinds.values()) == 84

    def test_one_record_of_each_kind(self) -> None:
        """A list of record kinds with placeholder values: 24 messages, and nothing skipped."""
        items = parse("claude/record-types-v2.1.x.jsonl")
        exclusions = Counter(record.exclusion for record in messages(items) if record.exclusion)

        assert sum(isinstance(item, UnusedRecord) for item in items) == 64
        assert len(messages(items)) == 24
        assert exclusions == {Exclusion.CLIENT_SUMMARY: 1}
        assert not any(isinstance(item, SkippedLine | Rewind | HistoryNeeded) for item in items)

    def test_a_queued_text_that_came_as_no_record_is_a_message(self) -> None:
        """Typed while the agent worked (line 190) and taken over in mid-turn (line 193)."""
        [record] = [each for each in messages(parse("claude/compacted-v2.0.76.jsonl")) if each.line == 193]

        assert record.blocks[0].text == "no, add conversationId field, but set value from sessionId"
        assert record.occurred_at == datetime(2026, 1, 7, 21, 8, 38, 458000, tzinfo=UTC)
        assert (record.item_type, record.is_prompt, record.native_uuid) == ("queue-operation", True, None)


class TestRealThreads:
    def test_inline_sidechains_are_linked_to_their_calls(self) -> None:
        """Two Task calls ran; the one that failed at once started nothing."""
        links = [item for item in parse("claude/cjk-sidechain-v1.0.108.jsonl") if isinstance(item, SubagentLink)]

        assert [(link.line, link.agent.agent_id, link.tool_call_id) for link in links] == [
            (15, "6340ddef-f656-4b72-a065-82390f637678", "toolu_014YF9TXhDRR7BnpasNJ7gjC"),
            (25, "83e2917c-8940-4df6-a5a5-f2514f0d08c5", "toolu_01LKfUwrsnof18CpWZQcJH44"),
        ]

    @pytest.mark.parametrize(
        ("main", "agent_file", "agent_id"),
        [
            (
                "claude/growing-v2.1.7/at-t2/session.jsonl",
                "claude/growing-v2.1.7/at-t2/subagents/agent-a485154.jsonl",
                "a485154",
            ),
            (DELEGATED, HELPER, "a6f6e7f79b5a5a0b5"),
        ],
    )
    def test_a_subagents_file_is_the_thread_its_call_links(self, main: str, agent_file: str, agent_id: str) -> None:
        """The main file's link and the records of the agent's file name one thread."""
        [link] = [item for item in parse(main) if isinstance(item, SubagentLink)]

        assert {record.thread for record in messages(parse(agent_file))} == {link.agent}
        assert link.agent.agent_id == agent_id

    def test_a_resumed_copy_keeps_the_older_session(self) -> None:
        """The first record of the resumed file is of the old session, the rest of the new one."""
        records = messages(parse("claude/resume-v1.0.56/resumed-session.jsonl"))

        assert Counter(record.thread for record in records) == {
            Thread("93a9705e-bc6a-406d-8dce-8acc014dedbd"): 1,
            Thread("789e105f-ae33-486d-9271-0696266f072d"): 5,
        }

    def test_the_first_directory_stands_for_the_session(self) -> None:
        """The run changes into src/ later; one fact tells where it began."""
        facts = [item for item in parse(COMPACTED) if isinstance(item, SessionFact)]

        assert [(fact.line, fact.cwd) for fact in facts] == [(2, "/home/user/project")]


class TestRealMedia:
    def test_an_image_in_a_result_is_a_file_of_its_call(self) -> None:
        """The screenshot follows the empty output of the Read call."""
        records = messages(parse("claude/image-result-v2.0.26.jsonl"))
        [record] = [each for each in records if each.line == 15]

        assert [block.part_type for block in record.blocks] == [PartType.TOOL_RESULT, PartType.FILE]
        assert record.blocks[1].tool_call_id == record.call_id
        assert record.blocks[1].media is not None
        assert record.blocks[1].media.mime_type == "image/png"

    def test_thinking_and_its_signatures_are_kept(self) -> None:
        """31 thinking blocks, every one with its signature."""
        records = messages(parse("claude/thinking-v2.0.24.jsonl"))
        thoughts = [block for each in records for block in each.blocks if block.part_type is PartType.REASONING]

        assert len(thoughts) == 31
        assert all((thought.metadata or {}).get("signature") for thought in thoughts)
