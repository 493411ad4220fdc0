"""The Codex parser over lines: sessions, envelopes, the bare form, times, unused and damaged records, resumption."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import MessageRecord, ParsedItem, SessionFact, SkippedLine, Thread, UnusedRecord
from lcm.transcripts.parse.codex import CodexParser

AT = "2026-05-11T08:26:55.042Z"
Record = dict[str, Any]


def envelope(kind: str, payload: object, at: object = AT) -> Record:
    return {"timestamp": at, "type": kind, "payload": payload}


def message(text: str, role: str = "user") -> Record:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def meta(session_id: str, **more: object) -> Record:
    return envelope("session_meta", {"id": session_id, "timestamp": AT, **more})


def parse(*records: Record, parser: CodexParser | None = None, first_line: int = 0) -> list[ParsedItem]:
    reader = parser or CodexParser(fallback_session_id="from-name")
    return [item for line, record in enumerate(records, first_line) for item in reader.feed(line, record)]


def messages(*records: Record) -> list[MessageRecord]:
    return [item for item in parse(*records) if isinstance(item, MessageRecord)]


def facts(*records: Record) -> list[SessionFact]:
    return [item for item in parse(*records) if isinstance(item, SessionFact)]


class TestSession:
    def test_first_meta_names_the_thread_and_its_cwd(self) -> None:
        """The first session_meta gives the session id of itself and of what follows."""
        items = parse(meta("s1", cwd="/w/app"), envelope("response_item", message("hi")))

        assert items[0] == SessionFact(0, Thread("s1"), cwd="/w/app")
        assert isinstance(items[1], MessageRecord)
        assert items[1].thread == Thread("s1")

    def test_later_meta_of_a_fork_is_unused(self) -> None:
        """A fork's copy of its parent's session_meta changes nothing."""
        items = parse(meta("s2", cwd="/w"), meta("s1", cwd="/other"), envelope("response_item", message("hi")))

        assert items[1] == UnusedRecord(1, "session_meta")
        assert isinstance(items[2], MessageRecord)
        assert items[2].thread == Thread("s2")

    def test_fallback_serves_before_and_without_an_id(self) -> None:
        """A session_meta without an id leaves the id taken from the file name."""
        assert facts(envelope("session_meta", {"cwd": "/w"})) == [SessionFact(0, Thread("from-name"), cwd="/w")]

    def test_spawned_thread_has_a_parent_session(self) -> None:
        """A subagent's rollout is its own thread; who spawned it goes before what it was forked from."""
        source = {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}

        assert facts(meta("s2", source=source, forked_from_id="p0")) == [
            SessionFact(0, Thread("s2"), parent_session_id="p1")
        ]

    @pytest.mark.parametrize("name", ["forked_from_id", "parent_thread_id"])
    def test_fork_has_a_parent_session(self, name: str) -> None:
        """A fork names the session it came from at the top of its meta."""
        assert facts(meta("s2", source="cli", **{name: "p0"}))[0].parent_session_id == "p0"

    def test_own_id_is_no_parent(self) -> None:
        """A session is not its own parent."""
        assert facts(meta("s1", forked_from_id="s1"))[0].parent_session_id is None

    def test_subagent_task_is_no_prompt(self) -> None:
        """Nobody typed the task of a subagent, also when its source is a plain word."""
        task = messages(meta("s2", source={"subagent": "review"}), envelope("response_item", message("review it")))[0]

        assert (task.is_prompt, task.exclusion) == (False, None)

    def test_cwd_comes_from_the_turn_context_when_meta_has_none(self) -> None:
        """turn_context gives the fact and is still counted as unused."""
        assert parse(meta("s1"), envelope("turn_context", {"cwd": "/w"}))[1:] == [
            SessionFact(1, Thread("s1"), cwd="/w"),
            UnusedRecord(1, "turn_context"),
        ]

    def test_cwd_is_told_once(self) -> None:
        """A later cwd does not move the session."""
        context = message("<environment_context>\n  <cwd>/c</cwd>\n</environment_context>")
        told = facts(meta("s1", cwd="/a"), envelope("turn_context", {"cwd": "/b"}), envelope("response_item", context))

        assert [fact.cwd for fact in told] == ["/a"]


class TestBareForm:
    HEADER: ClassVar[Record] = {"id": "b1", "timestamp": "2025-09-10T07:08:09.500Z", "instructions": None}
    CONTEXT = message("<environment_context>\n  <cwd>/w/app</cwd>\n  <shell>zsh</shell>\n</environment_context>")

    def test_header_names_the_thread(self) -> None:
        """The first line gives the session id, a second one like it nothing."""
        assert parse(self.HEADER, {**self.HEADER, "id": "b2"}) == [
            SessionFact(0, Thread("b1")),
            UnusedRecord(1, "session_meta"),
        ]

    def test_cwd_is_read_from_the_environment_before_its_message(self) -> None:
        """The fact precedes the message that told it."""
        items = parse(self.HEADER, self.CONTEXT)

        assert items[1] == SessionFact(1, Thread("b1"), cwd="/w/app")
        assert isinstance(items[2], MessageRecord)
        assert items[2].exclusion is Exclusion.META

    def test_only_the_first_message_has_the_start_time(self) -> None:
        """A bare file knows one time; it serves the first message."""
        times = [record.occurred_at for record in messages(self.HEADER, self.CONTEXT, message("hi"))]

        assert times == [datetime(2025, 9, 10, 7, 8, 9, 500_000, UTC), None]

    def test_bare_items_are_read_like_payloads(self) -> None:
        """Items without an envelope give the same kinds of message."""
        call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1", "id": "fc_1"}
        result = {"type": "function_call_output", "call_id": "c1", "output": "ok"}

        assert [(m.item_type, m.call_id) for m in messages(self.HEADER, call, result)] == [
            ("function_call", "c1"),
            ("function_call_output", "c1"),
        ]

    def test_state_markers_and_unknown_items_are_unused(self) -> None:
        """Markers count as record_type/state, unknown bare items by their type."""
        assert parse({"record_type": "state"}, {"type": "ghost_snapshot", "ghost_commit": {}}) == [
            UnusedRecord(0, "record_type/state"),
            UnusedRecord(1, "ghost_snapshot"),
        ]


class TestMessages:
    def test_message_record_carries_the_items_place_and_ids(self) -> None:
        """Line, time, role, type and the payload's id come from the record; a Codex record has no UUID."""
        payload = {**message("hello"), "id": "msg_1"}
        record = parse(envelope("response_item", payload), first_line=7)[0]

        assert isinstance(record, MessageRecord)
        assert (record.line, record.role, record.item_type) == (7, Role.USER, "message/user")
        assert record.occurred_at == datetime(2026, 5, 11, 8, 26, 55, 42_000, UTC)
        assert (record.api_message_id, record.native_uuid, record.is_prompt) == ("msg_1", None, True)

    def test_compaction_answer_is_a_client_summary(self) -> None:
        """The answer of the summarising call is marked beside the payload and stays out of the context."""
        record = {
            **envelope("response_item", message("Summary.", "assistant")),
            "metadata": {"compaction_output": True},
        }

        assert messages(record)[0].exclusion is Exclusion.CLIENT_SUMMARY

    def test_compacted_keeps_the_summary_and_not_the_history(self) -> None:
        """The summary is one excluded user message; replacement_history is a copy and is not read."""
        payload = {"message": "Work so far.", "replacement_history": [message("old prompt")]}
        (record,) = messages(envelope("compacted", payload))

        assert (record.role, record.item_type, record.exclusion) == (Role.USER, "compacted", Exclusion.CLIENT_SUMMARY)
        assert [(block.part_type, block.text) for block in record.blocks] == [(PartType.TEXT, "Work so far.")]

    @pytest.mark.parametrize("text", ["", None, " \n"])
    def test_compacted_without_a_summary_is_unused(self, text: str | None) -> None:
        """A compaction done elsewhere leaves no text to keep."""
        assert parse(envelope("compacted", {"message": text, "replacement_history": []})) == [
            UnusedRecord(0, "compacted")
        ]


class TestTimes:
    @pytest.mark.parametrize(
        "at", [None, 17, "", "yesterday", "2026-05-11T08:26:55", "1999-12-31T23:59:59Z", "2101-01-01T00:00:00Z"]
    )
    def test_impossible_times_are_none(self, at: object) -> None:
        """No time is better than a wrong one."""
        assert messages(envelope("response_item", message("hi"), at))[0].occurred_at is None

    def test_the_year_is_judged_in_utc(self) -> None:
        """The last hour of 1999 west of Greenwich is already 2000; the edge of time does not overflow."""
        at = messages(envelope("response_item", message("hi"), "1999-12-31T23:00:00-02:00"))[0].occurred_at

        assert at == datetime(2000, 1, 1, 1, tzinfo=UTC)
        assert messages(envelope("response_item", message("hi"), "9999-12-31T23:59:59-10:00"))[0].occurred_at is None


class TestUnused:
    @pytest.mark.parametrize(
        ("record", "kind"),
        [
            (envelope("event_msg", {"type": "user_message", "message": "hi"}), "event_msg/user_message"),
            (envelope("event_msg", {"type": "agent_message", "message": "hi"}), "event_msg/agent_message"),
            (envelope("event_msg", {}), "event_msg/other"),
            (envelope("event_msg", None), "event_msg"),
            (envelope("world_state", {"full": True}), "world_state"),
            (envelope("token_usage_record", {"usage": {}}), "token_usage_record"),
            (envelope("response_item", {"type": "ghost_snapshot"}), "response_item/ghost_snapshot"),
            (envelope("response_item", {"type": "brand_new_call"}), "response_item/brand_new_call"),
            (envelope("response_item", {**message(""), "content": []}), "response_item/message"),
            (envelope("response_item", {"type": "reasoning", "summary": []}), "response_item/reasoning"),
            ({"type": "turn_context"}, "turn_context"),
            (envelope("a kind with\nspaces", {}), "other"),
            (envelope("k" * 41, {}), "other"),
        ],
    )
    def test_state_copies_and_unknown_kinds_are_counted(self, record: Record, kind: str) -> None:
        """What is no content is counted by a kind that never carries data."""
        assert parse(record) == [UnusedRecord(0, kind)]


class TestSkipped:
    @pytest.mark.parametrize(
        ("record", "reason"),
        [
            ({}, "A record without a type."),
            ({"type": 3, "payload": {}}, "A record without a type."),
            ({"id": "", "timestamp": AT}, "A record without a type."),
            ({"type": "session_meta"}, "A record without a payload."),
            (envelope("response_item", ["x"]), "A record without a payload."),
            (envelope("compacted", None), "A record without a payload."),
            (envelope("compacted", {"message": ["x"]}), "A compaction whose message is no text."),
            (envelope("response_item", {"role": "user"}), "A response item without a type."),
            (envelope("response_item", {**message("x"), "role": "robot"}), "A message without a known role."),
            (envelope("response_item", {**message("x"), "role": ["user"]}), "A message without a known role."),
            (envelope("response_item", {**message("x"), "content": None}), "A message without content."),
            (envelope("response_item", {"type": "agent_message"}), "An agent message without content."),
            (
                envelope("response_item", {"type": "reasoning", "summary": "x"}),
                "A reasoning item whose summary or content is no list.",
            ),
            (envelope("response_item", {"type": "function_call", "call_id": "c"}), "A tool call without a name."),
            (
                envelope("response_item", {"type": "function_call_output", "output": "x"}),
                "A tool result without a call id.",
            ),
            (
                envelope("response_item", {"type": "function_call_output", "call_id": "c", "output": 5}),
                "A tool result whose output is no text, list or object.",
            ),
        ],
    )
    def test_malformed_records_have_a_reason(self, record: Record, reason: str) -> None:
        """A known kind in an impossible shape is skipped with one sentence that tells nothing of its text."""
        assert parse(record) == [SkippedLine(0, reason)]

    def test_endless_nesting_is_skipped(self) -> None:
        """A structure too deep to write as JSON costs one line, not the file."""
        deep: Any = []
        for _ in range(20_000):
            deep = [deep]
        record = envelope("response_item", {"type": "web_search_call", "action": deep})

        assert parse(record) == [SkippedLine(0, "A record nested too deeply.")]


RECORDS = [
    meta("s1", cwd="/w"),
    meta("s2", source={"subagent": {"thread_spawn": {"parent_thread_id": "s1"}}}),
    TestBareForm.HEADER,
    TestBareForm.CONTEXT,
    {"record_type": "state"},
    envelope("turn_context", {"cwd": "/t"}),
    envelope("response_item", message("typed")),
    envelope("response_item", message("answer", "assistant"), None),
    envelope("compacted", {"message": "summary"}, "never"),
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
    envelope("response_item", {"type": "function_call_output", "call_id": "c1", "output": "ok"}),
    {},
]
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        -1.5,
        "",
        "user",
        '{"output":1,"exit_code":',
        [],
        ["x", None, 3],
        [{"type": "input_text"}, {"type": "input_image", "image_url": {}}, {"type": ["text"]}],
        {},
        {"type": "encrypted_content"},
        {"content": [{"text": "x"}], "isError": "no"},
        {"subagent": {"thread_spawn": []}},
    ]
)
FIELDS = ("role", "content", "summary", "name", "arguments", "call_id", "id", "output", "result", "phase", "source")
KINDS = ["message", "agent_message", "reasoning", "function_call", "image_generation_call", "mcp_tool_call_output"]
PAYLOADS = st.fixed_dictionaries({"type": st.sampled_from(KINDS)}, optional=dict.fromkeys(FIELDS, VALUES))


class TestLaws:
    @given(st.lists(st.sampled_from(RECORDS), max_size=12), st.integers(0, 12))
    def test_a_resumed_parser_goes_on_as_the_first_would(self, records: list[Record], stop: int) -> None:
        """State after k lines, through JSON, and the rest give what one parser over the whole gives."""
        first = CodexParser(fallback_session_id="from-name")
        head = parse(*records[:stop], parser=first)
        second = CodexParser(json.loads(json.dumps(first.state())), fallback_session_id="from-name")

        assert head + parse(*records[stop:], parser=second, first_line=len(records[:stop])) == parse(*records)

    @given(PAYLOADS, st.sampled_from(["response_item", "session_meta", "compacted", "turn_context", "event_msg"]))
    def test_every_object_gives_something_and_never_an_error(self, payload: Record, kind: str) -> None:
        """Whatever stands in a payload, the line is accounted for."""
        assert parse(envelope(kind, payload))
        assert parse(payload)
