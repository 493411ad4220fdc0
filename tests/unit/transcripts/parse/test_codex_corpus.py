"""What the Codex parser makes of real rollouts, as literal counts taken from the files by other means."""

import json
from collections import Counter
from pathlib import Path

import pytest

from lcm.domain.messages import Exclusion, PartType
from lcm.domain.records import Block, MessageRecord, ParsedItem, SessionFact, SkippedLine, UnusedRecord
from lcm.transcripts.parse.codex import CodexParser

pytestmark = pytest.mark.corpus

TRANSCRIPTS = Path(__file__).parents[4] / "../shared/data/transcripts"
NEWEST = (
    "generated/codex-0.171.0/sessions/2026/12/01/rollout-2026-12-01T16-01-47-01a23257-3bf4-7481-b1b1-76d5485adf6d.jsonl"
)

MESSAGES: dict[str, dict[str, int]] = {
    "codex/rollout-v0.47.0.jsonl": {"user": 3, "user meta": 1, "assistant": 41, "tool": 18},
    "codex/rollout-v0.66.0.jsonl": {"user": 2, "user meta": 1, "assistant": 13, "tool": 5},
    "codex/rollout-v0.125.0.jsonl": {"user": 2, "user meta": 1, "system meta": 1, "assistant": 143, "tool": 102},
    "codex/growing-v0.129.0/turn-1.jsonl": {"user": 1, "user meta": 1, "system meta": 1, "assistant": 2},
    "codex/growing-v0.129.0/turn-2.jsonl": {"user": 2, "user meta": 2, "system meta": 2, "assistant": 4},
    "codex/record-types-v0.146.jsonl": {
        "user": 1,
        "user client_summary": 5,
        "system meta": 1,
        "assistant": 13,
        "tool": 6,
    },
    NEWEST: {
        "user": 3,
        "user meta": 1,
        "user client_summary": 1,
        "system meta": 1,
        "assistant": 9,
        "assistant client_summary": 1,
        "tool": 6,
    },
}
#: file: calls, results, results whose call is in the file, failed, succeeded
TOOLS: dict[str, tuple[int, int, int, int, int]] = {
    "codex/rollout-v0.47.0.jsonl": (18, 18, 18, 0, 13),
    "codex/rollout-v0.66.0.jsonl": (5, 5, 5, 2, 3),
    "codex/rollout-v0.125.0.jsonl": (105, 102, 102, 4, 42),
    "codex/growing-v0.129.0/turn-1.jsonl": (0, 0, 0, 0, 0),
    "codex/growing-v0.129.0/turn-2.jsonl": (0, 0, 0, 0, 0),
    "codex/record-types-v0.146.jsonl": (8, 6, 6, 0, 0),
    NEWEST: (6, 6, 6, 1, 4),
}
UNUSED: dict[str, dict[str, int]] = {
    "codex/rollout-v0.47.0.jsonl": {
        "event_msg/agent_message": 3,
        "event_msg/agent_reasoning": 20,
        "event_msg/token_count": 42,
        "event_msg/user_message": 3,
        "turn_context": 21,
    },
    "codex/rollout-v0.66.0.jsonl": {
        "event_msg/agent_message": 2,
        "event_msg/agent_reasoning": 6,
        "event_msg/token_count": 14,
        "event_msg/user_message": 2,
        "response_item/ghost_snapshot": 2,
        "turn_context": 7,
    },
    "codex/rollout-v0.125.0.jsonl": {
        "event_msg/agent_message": 13,
        "event_msg/exec_command_end": 43,
        "event_msg/patch_apply_end": 3,
        "event_msg/task_complete": 2,
        "event_msg/task_started": 2,
        "event_msg/token_count": 66,
        "event_msg/user_message": 2,
        "event_msg/web_search_end": 3,
        "turn_context": 2,
    },
    "codex/growing-v0.129.0/turn-2.jsonl": {
        "event_msg/agent_message": 2,
        "event_msg/task_complete": 2,
        "event_msg/task_started": 2,
        "event_msg/token_count": 4,
        "event_msg/user_message": 2,
        "turn_context": 2,
    },
    NEWEST: {
        "event_msg/item_completed": 13,
        "event_msg/task_complete": 3,
        "event_msg/task_started": 3,
        "event_msg/thread_settings_applied": 4,
        "event_msg/token_count": 12,
        "token_usage_record": 10,
        "turn_context": 4,
        "world_state": 2,
    },
}
SESSIONS = {
    "codex/rollout-v0.47.0.jsonl": ("019a085e-04c1-7f81-a09e-9555f6a1fb40", "/Users/dev/dev/pomodoro/codex"),
    "codex/rollout-v0.66.0.jsonl": ("019b04ae-b1c6-7c72-a134-a4c2de66058c", "/Users/dev/agent-sample"),
    "codex/rollout-v0.125.0.jsonl": (
        "019e1625-789d-76c0-80ab-3724b5ddb799",
        "/Users/dev/repos/codemie-ai/codemie-code",
    ),
    "codex/growing-v0.129.0/turn-1.jsonl": ("a1b2c3d4-e5f6-7890-abcd-ef1234567890", "/home/dev/project"),
    "codex/record-types-v0.146.jsonl": ("019fc8be-3658-7ca3-9e29-000000000000", "/tmp/repo"),
    NEWEST: ("01a23257-3bf4-7481-b1b1-76d5485adf6d", "/home/user/project"),
}


def items_of(name: str) -> list[ParsedItem]:
    path = TRANSCRIPTS / name
    if not path.exists():
        pytest.skip("the real transcripts are not beside this checkout")
    parser = CodexParser(fallback_session_id="from-name")
    with path.open(encoding="utf-8") as lines:
        return [item for line, text in enumerate(lines) for item in parser.feed(line, json.loads(text))]


def messages_of(name: str) -> list[MessageRecord]:
    return [item for item in items_of(name) if isinstance(item, MessageRecord)]


def blocks_of(name: str, part_type: PartType) -> list[Block]:
    return [block for message in messages_of(name) for block in message.blocks if block.part_type is part_type]


class TestRealRollouts:
    @pytest.mark.parametrize("name", MESSAGES)
    def test_messages_by_role_and_exclusion(self, name: str) -> None:
        """Every response item and every non-empty compaction is one message."""
        found = Counter(f"{m.role} {m.exclusion or ''}".strip() for m in messages_of(name))

        assert dict(found) == MESSAGES[name]

    @pytest.mark.parametrize("name", TOOLS)
    def test_calls_and_results(self, name: str) -> None:
        """Calls, results, pairs and the verdicts the client gives."""
        calls, results = blocks_of(name, PartType.TOOL_CALL), blocks_of(name, PartType.TOOL_RESULT)
        ids = {block.tool_call_id for block in calls}
        verdicts = Counter(block.is_error for block in results)
        paired = sum(block.tool_call_id in ids for block in results)

        assert (len(calls), len(results), paired, verdicts[True], verdicts[False]) == TOOLS[name]

    @pytest.mark.parametrize("name", UNUSED)
    def test_unused_by_kind(self, name: str) -> None:
        """State and copies are counted, and every line is accounted for."""
        items = items_of(name)

        assert dict(Counter(item.kind for item in items if isinstance(item, UnusedRecord))) == UNUSED[name]
        assert not [item for item in items if isinstance(item, SkippedLine)]

    @pytest.mark.parametrize("name", SESSIONS)
    def test_session_and_cwd(self, name: str) -> None:
        """One fact at the head of each file: its session and where it worked."""
        facts = [item for item in items_of(name) if isinstance(item, SessionFact)]

        assert [(fact.thread.session_id, fact.cwd) for fact in facts] == [SESSIONS[name]]

    def test_record_types_are_all_accounted_for(self) -> None:
        """The file with one record of each kind: 118 lines, 26 messages, 1 fact, 91 unused, nothing skipped."""
        found = Counter(type(item) for item in items_of("codex/record-types-v0.146.jsonl"))

        assert found == {MessageRecord: 26, SessionFact: 1, UnusedRecord: 91}

    def test_prompts_of_a_real_session(self) -> None:
        """The typed prompts are found without the client's copies of them."""
        prompts = [(m.line, m.blocks[0].text[:12]) for m in messages_of("codex/rollout-v0.125.0.jsonl") if m.is_prompt]

        assert prompts == [(5, "show tools"), (21, "let's update")]

    def test_a_grown_file_begins_as_the_shorter_one(self) -> None:
        """The later copy of a growing file gives the earlier items and more."""
        early, late = items_of("codex/growing-v0.129.0/turn-1.jsonl"), items_of("codex/growing-v0.129.0/turn-2.jsonl")

        assert late[: len(early)] == early

    def test_newest_compaction_stands_apart(self) -> None:
        """The summarising answer and the summary are excluded; prompts around them are not."""
        excluded = [m.line for m in messages_of(NEWEST) if m.exclusion is Exclusion.CLIENT_SUMMARY]

        assert excluded == [45, 48]
        assert [m.line for m in messages_of(NEWEST) if m.is_prompt] == [7, 37, 67]
