"""Claude Code records one by one: what each kind becomes, and what bad ones become."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import (
    Block,
    HistoryNeeded,
    JsonObject,
    MessageRecord,
    ParsedItem,
    SessionFact,
    SkippedLine,
    SubagentLink,
    Thread,
    UnusedRecord,
)
from lcm.transcripts.parse.claude import CLIENT, ClaudeParser, subagent_link_from_meta

SESSION = "11111111-2222-4333-8444-555555555555"
TASK: JsonObject = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "count files"}}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = [
    "type",
    "subtype",
    "uuid",
    "parentUuid",
    "sessionId",
    "isSidechain",
    "agentId",
    "isMeta",
    "message",
    "content",
]
_MORE_FIELDS = ["attachment", "operation", "timestamp", "cwd", "forkedFrom", "toolUseResult", "origin", "customTitle"]
_KINDS = st.sampled_from(["user", "assistant", "system", "attachment", "custom-title", "queue-operation", "progress"])
_BLOCK_KINDS = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "document", "x_tool_result"])
_BLOCK = st.dictionaries(st.sampled_from(["text", "input", "id", "name", "content", "source", "tool_use_id"]), _JSON)
_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]) | _JSON},
    optional={
        "content": _JSON | st.lists(st.builds(lambda block, kind: {**block, "type": kind}, _BLOCK, _BLOCK_KINDS))
    },
)
_RECORD = st.builds(
    lambda fields, known: {**fields, **known},
    st.dictionaries(st.sampled_from(_FIELDS + _MORE_FIELDS), _JSON),
    st.fixed_dictionaries({}, optional={"type": _KINDS, "message": _MESSAGE}),
)


def user(content: Any = "hello", **fields: Any) -> JsonObject:
    return {"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": content}, **fields}


def assistant(*blocks: JsonObject, **fields: Any) -> JsonObject:
    message = {"id": "msg_1", "role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "sessionId": SESSION, "message": message, **fields}


def queued(prompt: Any, **fields: Any) -> JsonObject:
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **fields}
    return {"type": "attachment", "sessionId": SESSION, "attachment": attachment}


def text(value: str) -> JsonObject:
    return {"type": "text", "text": value}


def tool_result(call_id: str = "t1") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "done"}


def parse(*records: JsonObject) -> list[ParsedItem]:
    parser = ClaudeParser(fallback_session_id="stem")
    return [item for line, record in enumerate(records) for item in parser.feed(line, record)]


def message(*records: JsonObject) -> MessageRecord:
    """The message of the last record."""
    item = parse(*records)[-1]
    assert isinstance(item, MessageRecord)
    return item


class TestMessages:
    def test_a_prompt_has_all_its_facts(self) -> None:
        """Identity, time, role and the typed flag of a plain prompt."""
        record = user("hi", uuid="AAAAAAAA-0000-4000-8000-000000000001", timestamp="2026-01-02T03:04:05.678Z")

        assert parse(record) == [
            MessageRecord(
                line=0,
                thread=Thread(SESSION),
                role=Role.USER,
                blocks=(Block(PartType.TEXT, "hi"),),
                occurred_at=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
                item_type="user",
                native_uuid="aaaaaaaa-0000-4000-8000-000000000001",
                is_prompt=True,
            )
        ]

    def test_an_answer_carries_the_api_message_and_its_first_call(self) -> None:
        """Lines of one API message share its id; the call id is the first of the record."""
        answer = message(assistant(text("Look."), TASK, {**TASK, "id": "t2"}))

        assert (answer.role, answer.api_message_id, answer.call_id) == (Role.ASSISTANT, "msg_1", "t1")
        assert answer.is_prompt is False

    def test_a_record_of_tool_results_speaks_for_the_tools(self) -> None:
        """Only results: role tool; with text beside them: user, and still no prompt."""
        with_text = message(user([tool_result(), text("and this")]))

        assert message(user([tool_result("t7")])).role is Role.TOOL
        assert message(user([tool_result("t7")])).call_id == "t7"
        assert (with_text.role, with_text.is_prompt) == (Role.USER, False)

    def test_the_clients_copy_of_a_result_is_ignored(self) -> None:
        """toolUseResult adds no text."""
        assert message(user([tool_result()], toolUseResult={"stdout": "done again"})).blocks[0].text == "done"

    def test_an_error_made_by_the_client_is_in_context(self) -> None:
        """A synthetic API error is what the person saw."""
        assert message(assistant(text("API Error: 500"), isApiErrorMessage=True)).exclusion is None

    def test_a_copied_record_names_the_session_it_was_forked_from(self) -> None:
        """forkedFrom.sessionId is kept."""
        assert message(user(forkedFrom={"sessionId": "other", "messageUuid": "m"})).forked_from == "other"

    @pytest.mark.parametrize("value", ["u1", "[trimmed for fixture]", "{aaaaaaaa-0000-4000-8000-00000000000}", None, 7])
    def test_a_placeholder_is_no_identity(self, value: Any) -> None:
        """Only a well-formed UUID identifies a record."""
        assert message(user(uuid=value)).native_uuid is None

    @pytest.mark.parametrize(
        "value", ["yesterday", "1999-12-31T23:59:59Z", "2101-01-01T00:00:00Z", 1767322800, None, ""]
    )
    def test_an_impossible_time_is_none(self, value: Any) -> None:
        """Not a date, not of this era, or not a string."""
        assert message(user(timestamp=value)).occurred_at is None

    def test_a_time_of_another_zone_is_utc(self) -> None:
        """Times are aware UTC."""
        assert message(user(timestamp="2026-01-02T01:00:00+02:00")).occurred_at == datetime(2026, 1, 1, 23, tzinfo=UTC)


class TestPrompts:
    @pytest.mark.parametrize(
        "content",
        [
            "<command-name>/clear</command-name>",
            "<command-message>init</command-message>\n<command-name>/init</command-name>",
            "<local-command-stdout></local-command-stdout>",
            "<bash-input>ls</bash-input>",
            "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
            "[Request interrupted by user]",
            "[Request interrupted by user for tool use]",
            "<task-notification>done</task-notification>",
            " \n",
        ],
    )
    def test_what_nobody_typed_is_in_context_but_no_prompt(self, content: str) -> None:
        """Echoes, output, markers and notes are ordinary messages."""
        echo = message(user([text(content)]))

        assert (echo.is_prompt, echo.exclusion) == (False, None)

    @pytest.mark.parametrize(
        "content",
        [
            "fix it",
            [text("<ide_opened_file>a.py</ide_opened_file>"), text("fix it")],
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}],
            "why [Request interrupted by user]?",
        ],
    )
    def test_what_a_person_gave_is_a_prompt(self, content: Any) -> None:
        """Text, text beside injected text, or an image alone."""
        assert message(user(content)).is_prompt is True

    @pytest.mark.parametrize("fields", [{"origin": {"kind": "task-notification"}}, {"turnCompanion": True}])
    def test_the_client_can_say_that_no_person_wrote_it(self, fields: JsonObject) -> None:
        """The origin of a record counts more than its text."""
        assert message(user("Task 3 is done", **fields)).is_prompt is False

    def test_a_subagents_task_is_no_prompt(self) -> None:
        """The model wrote it."""
        assert message(user("count files", isSidechain=True, agentId="a1")).is_prompt is False


class TestExclusions:
    @pytest.mark.parametrize(
        ("record", "exclusion"),
        [
            (user("skill text", isMeta=True), Exclusion.META),
            (user([text("skill text")], isMeta=True), Exclusion.META),
            (
                user("Caveat: The messages below were generated by the user while running local commands."),
                Exclusion.META,
            ),
            (user("<local-command-caveat>x</local-command-caveat>"), Exclusion.META),
            (user("This session is being continued", isCompactSummary=True), Exclusion.CLIENT_SUMMARY),
            (user("old prompt", isSidechain=True, agentId="acompact-70d8e7"), Exclusion.CLIENT_SUMMARY),
            (assistant(text("summary"), isSidechain=True, agentId="acompact-70d8e7"), Exclusion.CLIENT_SUMMARY),
        ],
    )
    def test_what_is_kept_outside_the_context(self, record: JsonObject, exclusion: Exclusion) -> None:
        """Meta records and the client's own summaries are stored, not shown to the model, and no prompts."""
        stored = message(record)

        assert (stored.exclusion, stored.is_prompt) == (exclusion, False)

    def test_a_meta_record_with_a_result_stays_in_context(self) -> None:
        """Without it the call would have no answer."""
        assert message(user([tool_result()], isMeta=True)).exclusion is None


class TestSystemRecords:
    def test_old_notices_and_local_commands_are_meta_messages(self) -> None:
        """Plain content without a subtype, and the local_command echo."""
        notice = message({"type": "system", "sessionId": SESSION, "content": "limit reached"})
        command = message(
            {"type": "system", "sessionId": SESSION, "subtype": "local_command", "content": "<command-name>"}
        )

        assert (notice.role, notice.exclusion, notice.blocks[0].text) == (Role.SYSTEM, Exclusion.META, "limit reached")
        assert (command.role, command.exclusion, command.item_type) == (Role.SYSTEM, Exclusion.META, "system")

    @pytest.mark.parametrize("subtype", ["compact_boundary", "api_error", "turn_duration"])
    def test_state_is_counted_by_subtype(self, subtype: str) -> None:
        """Boundaries, errors and durations are no messages."""
        record = {"type": "system", "subtype": subtype, "content": "Conversation compacted", "sessionId": SESSION}

        assert parse(record) == [UnusedRecord(0, f"system/{subtype}")]


class TestUnusedRecords:
    @pytest.mark.parametrize(
        ("record", "kind"),
        [
            ({"type": "summary", "summary": "Title of another leaf", "leafUuid": "x"}, "summary"),
            ({"type": "api-request-blob", "message": {"role": "user", "content": "copy"}}, "api-request-blob"),
            ({"type": "progress", "uuid": "p1", "data": {"type": "agent_progress"}}, "progress"),
            ({"type": "file-history-snapshot", "snapshot": {}}, "file-history-snapshot"),
            ({"type": "queue-operation", "operation": "enqueue", "content": "copy"}, "queue-operation"),
            ({"type": "attachment", "attachment": {"type": "skill_listing"}}, "attachment/skill_listing"),
            ({"type": "never-seen"}, "never-seen"),
            ({"no": "type"}, "other"),
            ({"type": "a secret\nand more"}, "other"),
            ({"type": ["user"]}, "other"),
            (user(""), "user/empty"),
        ],
    )
    def test_they_are_counted_by_kind(self, record: JsonObject, kind: str) -> None:
        """State, copies and unknown kinds give one item with their kind."""
        assert parse(record) == [UnusedRecord(0, kind)]


class TestSkippedRecords:
    @pytest.mark.parametrize(
        ("record", "reason"),
        [
            ({"type": "user"}, "a turn without a message"),
            ({"type": "assistant", "message": "text"}, "a turn without a message"),
            ({"type": "user", "message": {"content": "hi"}}, "a message without a usable role"),
            ({"type": "user", "message": {"role": ["user"], "content": "hi"}}, "a message without a usable role"),
            ({"type": "user", "message": {"role": "user"}}, "a message without usable content"),
            ({"type": "user", "message": {"role": "user", "content": 7}}, "a message without usable content"),
        ],
    )
    def test_a_broken_turn_has_a_reason(self, record: JsonObject, reason: str) -> None:
        """A user or assistant record without message, role or content is reported, not dropped silently."""
        assert parse(record) == [SkippedLine(0, reason)]

    def test_arguments_nested_beyond_reason_are_skipped(self) -> None:
        """What cannot be written as JSON again is reported; the next record is read."""
        value: Any = {}
        for _ in range(100_000):
            value = [value]
        call = {"type": "tool_use", "id": "t1", "name": "X", "input": value}

        assert parse(assistant(call), user())[0] == SkippedLine(0, "nested too deeply")

    @given(st.lists(_RECORD, max_size=4))
    def test_no_record_raises(self, records: list[JsonObject]) -> None:
        """Whatever JSON objects come, every line gives at least one item."""
        parser = ClaudeParser()

        assert all(list(parser.feed(line, record)) for line, record in enumerate(records))


class TestQueuedPrompts:
    def test_a_queued_prompt_is_a_prompt(self) -> None:
        """It may exist only as an attachment."""
        prompt = message(queued("also do this"))

        assert (prompt.role, prompt.is_prompt, prompt.exclusion) == (Role.USER, True, None)
        assert (prompt.item_type, prompt.blocks) == ("attachment", (Block(PartType.TEXT, "also do this"),))

    @pytest.mark.parametrize(
        "records",
        [
            (queued("again"), assistant(text("ok")), user("again")),
            (user([text("again")]), queued("again")),
            (queued([text("again")]), user("again")),
        ],
    )
    def test_the_second_copy_is_a_duplicate(self, records: tuple[JsonObject, ...]) -> None:
        """Attachment then user line, or the other way round."""
        copy = message(*records)

        assert (copy.exclusion, copy.is_prompt) == (Exclusion.DUPLICATE, False)

    @pytest.mark.parametrize(
        "records",
        [
            (user("go on"), user("go on")),
            (queued("go on"), queued("go on")),
            (queued("go on"), user("go on"), user("go on")),
            (queued("go on"), user("something else"), user("go on")),
            (queued("go on"), {**user("go on"), "sessionId": "other"}),
            (user("go on"), {"type": "queue-operation", "operation": "enqueue", "content": "go on"}, queued("go on")),
        ],
    )
    def test_the_same_words_said_again_are_no_copy(self, records: tuple[JsonObject, ...]) -> None:
        """Same kind, a third time, after another prompt, in another session, queued anew."""
        assert message(*records).exclusion is None

    @pytest.mark.parametrize("fields", [{"commandMode": "task-notification"}, {"origin": {"kind": "coordinator"}}])
    def test_a_queued_note_is_no_prompt(self, fields: JsonObject) -> None:
        """Not everything that waits was typed."""
        assert message(queued("task 3 is done", **fields)).is_prompt is False

    def test_without_text_it_is_unused(self) -> None:
        """An empty queue entry is no message."""
        assert parse(queued(None)) == [UnusedRecord(0, "attachment/queued_command")]


def operation(name: str, **fields: Any) -> JsonObject:
    return {"type": "queue-operation", "operation": name, "sessionId": SESSION, **fields}


class TestQueueOperations:
    def test_a_removed_text_that_never_came_is_a_prompt(self) -> None:
        """The client handed it to the model in mid-turn and wrote no other record of it."""
        taken = parse(operation("enqueue", content="also this", timestamp="2026-01-02T03:04:05Z"), operation("remove"))

        assert taken[1] == MessageRecord(
            line=1,
            thread=Thread(SESSION),
            role=Role.USER,
            blocks=(Block(PartType.TEXT, "also this"),),
            occurred_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            item_type="queue-operation",
            is_prompt=True,
        )

    @pytest.mark.parametrize(
        "records",
        [
            (operation("enqueue", content="this"), queued("this"), operation("remove")),
            (operation("enqueue", content="this"), user([text("this")]), operation("remove")),
            (operation("enqueue", content="this"), operation("dequeue"), operation("remove")),
            (operation("enqueue", content="this"), operation("popAll"), operation("remove")),
            (operation("enqueue", content="this", sessionId="other"), operation("remove")),
            (operation("enqueue", content="this"), operation("remove", content="that")),
            (operation("enqueue", content="<task-notification>x</task-notification>"), operation("remove")),
            (operation("enqueue"), operation("remove")),
        ],
    )
    def test_what_came_or_went_back_is_none(self, records: tuple[JsonObject, ...]) -> None:
        """Delivered, dequeued, back in the input box, of another session, another text, or nothing typed."""
        assert isinstance(parse(*records)[-1], UnusedRecord)

    def test_of_two_texts_the_delivered_one_is_removed_first(self) -> None:
        """The other one waits on."""
        first, second = (operation("enqueue", content=content) for content in ("one", "two"))
        items = parse(first, second, queued("two"), operation("remove"), operation("remove"))

        assert isinstance(items[3], UnusedRecord)
        assert isinstance(items[4], MessageRecord)
        assert items[4].blocks[0].text == "one"

    def test_a_record_that_comes_after_the_removal_is_the_copy(self) -> None:
        """The text stands in the context once."""
        copy = message(operation("enqueue", content="this"), operation("remove"), queued("this"))

        assert copy.exclusion is Exclusion.DUPLICATE

    def test_a_text_queued_before_the_state_needs_history(self) -> None:
        """The state holds no text: what was typed may be a secret."""
        first = ClaudeParser()
        list(first.feed(0, operation("enqueue", content="my words")))
        state = json.dumps(first.state())

        assert "my words" not in state
        assert list(ClaudeParser(json.loads(state)).feed(1, operation("remove"))) == [HistoryNeeded(1)]


class TestThreads:
    def test_a_subagents_record_belongs_to_the_agent(self) -> None:
        """In its own file it carries the parent's session id and its agent id."""
        assert message(user(isSidechain=True, agentId="a485154")).thread == Thread(SESSION, "a485154")

    def test_an_inline_sidechain_is_named_by_its_root(self) -> None:
        """Every line of it, tool results too, belongs to the uuid of its first line."""
        root = user("task", uuid="r", parentUuid=None, isSidechain=True)
        answer = assistant(text("x"), uuid="s", parentUuid="r", isSidechain=True)
        result = user([tool_result()], uuid="t", parentUuid="s", isSidechain=True)

        assert message(root, answer, user("main"), result).thread == Thread(SESSION, "r")

    def test_a_sidechain_line_with_an_absent_parent_is_a_root(self) -> None:
        """A cut file starts in the middle of a sidechain."""
        assert message(user("x", uuid="s", parentUuid="gone", isSidechain=True)).thread == Thread(SESSION, "s")

    def test_every_record_keeps_its_own_session(self) -> None:
        """A resumed file begins with copies of an older session."""
        assert message(user(), {**user(), "sessionId": "newer"}).thread == Thread("newer")

    def test_a_record_without_session_belongs_to_the_last_thread(self) -> None:
        """Or to the fallback when nothing came before."""
        nameless = {"type": "user", "message": {"role": "user", "content": "hi"}}

        assert message(nameless).thread == Thread("stem")
        assert message(user(isSidechain=True, agentId="a1"), nameless).thread == Thread(SESSION, "a1")


class TestFacts:
    def test_the_first_directory_of_each_thread_is_told_before_the_message(self) -> None:
        """Later directories of a thread do not count; a record that is no message can tell it too."""
        snapshot = {"type": "attachment", "attachment": {"type": "x"}, "uuid": "a", "sessionId": SESSION, "cwd": "/one"}
        items = parse(snapshot, user(cwd="/two"), user(isSidechain=True, agentId="a1", cwd="/three"))

        assert [item for item in items if isinstance(item, SessionFact)] == [
            SessionFact(0, Thread(SESSION), cwd="/one"),
            SessionFact(2, Thread(SESSION, "a1"), cwd="/three"),
        ]
        assert isinstance(items[-1], MessageRecord)

    def test_a_title_is_told_when_it_changes(self) -> None:
        """The client repeats titles; a title of the person's own is not replaced by a generated one."""
        generated = {"type": "ai-title", "sessionId": SESSION, "aiTitle": "Fix add"}
        own = {"type": "custom-title", "sessionId": SESSION, "customTitle": "My title"}

        assert parse(generated, generated, own, generated) == [
            SessionFact(0, Thread(SESSION), title="Fix add"),
            UnusedRecord(1, "ai-title"),
            SessionFact(2, Thread(SESSION), title="My title"),
            UnusedRecord(3, "ai-title"),
        ]


class TestSubagentLinks:
    def test_a_result_that_names_its_agent_is_a_link(self) -> None:
        """The link comes before the message."""
        items = parse(user([tool_result("t9")], toolUseResult={"agentId": "a485154"}))

        assert items[0] == SubagentLink(0, Thread(SESSION), Thread(SESSION, "a485154"), "t9")
        assert isinstance(items[1], MessageRecord)

    def test_an_inline_sidechain_is_linked_by_the_equal_prompt(self) -> None:
        """The open call with the same text started it."""
        root = user("count files", uuid="r", isSidechain=True)

        assert parse(assistant(TASK), root)[1] == SubagentLink(1, Thread(SESSION), Thread(SESSION, "r"), "t1")

    def test_two_calls_with_one_prompt_are_linked_in_order(self) -> None:
        """The first sidechain belongs to the first call."""
        second = {**TASK, "id": "t2"}
        roots = [user("count files", uuid=uuid, isSidechain=True) for uuid in ("r1", "r2")]
        links = [item for item in parse(assistant(TASK), assistant(second), *roots) if isinstance(item, SubagentLink)]

        assert [(link.agent.agent_id, link.tool_call_id) for link in links] == [("r1", "t1"), ("r2", "t2")]

    def test_an_answered_call_starts_nothing_more(self) -> None:
        """A call that failed at once is not the start of a later sidechain."""
        items = parse(assistant(TASK), user([tool_result("t1")]), user("count files", uuid="r", isSidechain=True))

        assert not any(isinstance(item, SubagentLink) for item in items)

    def test_the_meta_file_names_the_call(self) -> None:
        """A subagent's own file can be linked by the file beside it, if the session itself started it."""
        agent = Thread(SESSION, "a1")

        assert subagent_link_from_meta({"toolUseId": "t1", "spawnDepth": 1}, agent) == SubagentLink(
            0, Thread(SESSION), agent, "t1"
        )
        assert subagent_link_from_meta({"toolUseId": "t1", "spawnDepth": 2}, agent) is None
        assert subagent_link_from_meta({"agentType": "x"}, agent) is None


class TestResumedSidechain:
    def test_a_known_root_is_remembered_and_an_unknown_one_asked_for(self) -> None:
        """The state holds the newest sidechain lines; an older parent needs the file from its start."""
        first = ClaudeParser()
        list(first.feed(0, user("task", uuid="r", isSidechain=True)))
        resumed = ClaudeParser(first.state())
        [known] = resumed.feed(1, user([tool_result()], uuid="s", parentUuid="r", isSidechain=True))

        assert isinstance(known, MessageRecord)
        assert known.thread == Thread(SESSION, "r")
        assert list(resumed.feed(2, user("x", uuid="t", parentUuid="gone", isSidechain=True))) == [HistoryNeeded(2)]


class TestClient:
    def test_the_client_is_called_claude(self) -> None:
        """The name is part of every ingest key."""
        assert CLIENT == "claude"
