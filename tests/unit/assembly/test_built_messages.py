from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lcm.assembly.blocks import Draft, JsonBlock, summary_draft
from lcm.assembly.messages import AssembledMessage, BuiltMessages, FoundResult, build_messages
from lcm.domain.messages import Role


def text(words: str) -> JsonBlock:
    return {"type": "text", "text": words}


def thinking(words: str = "hm") -> JsonBlock:
    return {"type": "thinking", "thinking": words, "signature": "s"}


def call(call_id: str) -> JsonBlock:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}


def result(call_id: str, content: str = "ok") -> JsonBlock:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def user(ref: str, *blocks: JsonBlock) -> Draft:
    return Draft(Role.USER, ref, blocks)


def assistant(ref: str, *blocks: JsonBlock, api: str | None = None) -> Draft:
    return Draft(Role.ASSISTANT, ref, blocks, api_message_id=api)


def tool(ref: str, *results: JsonBlock) -> Draft:
    return Draft(Role.TOOL, ref, (), results)


def built(*drafts: Draft) -> list[tuple[str, list[Any]]]:
    return [(message.role, list(message.content)) for message in build_messages(drafts, {}).messages]


IDS = st.sampled_from("abcd")
DRAFTS = st.lists(
    st.one_of(
        st.builds(lambda ref: user(ref, text("go")), st.text("0123", min_size=1)),
        st.builds(
            lambda ids, api, think: assistant("r", *[thinking()] * think, *map(call, ids), api=api),
            st.lists(IDS, max_size=3),
            st.sampled_from([None, "m1", "m2"]),
            st.booleans(),
        ),
        st.builds(lambda ids: tool("t", *map(result, ids)), st.lists(IDS, max_size=3)),
        st.just(summary_draft("sum_1", "<summary/>")),
    ),
    max_size=12,
)


class TestBuildMessages:
    def test_records_of_one_api_message_are_one_message(self) -> None:
        """Thinking, text and two calls come back in order; both results follow in one user message."""
        messages = built(
            user("1:0", text("go")),
            assistant("1:1", thinking(), api="m1"),
            assistant("1:2", text("I look."), api="m1"),
            assistant("1:3", call("a"), api="m1"),
            tool("1:4", result("a")),
            assistant("1:5", call("b"), api="m1"),
            tool("1:6", result("b")),
        )

        assert messages == [
            ("user", [text("go")]),
            ("assistant", [thinking(), text("I look."), call("a"), call("b")]),
            ("user", [result("a"), result("b")]),
        ]

    def test_results_follow_their_call_before_a_prompt_typed_meanwhile(self) -> None:
        """The prompt that was typed while the tool ran comes after the result."""
        messages = built(assistant("1:0", call("a")), user("1:1", text("stop")), tool("1:2", result("a")))

        assert messages == [("assistant", [call("a")]), ("user", [result("a")]), ("user", [text("stop")])]

    def test_text_beside_a_result_stays(self) -> None:
        """A user record with result and text gives both, the result behind its call."""
        both = Draft(Role.USER, "1:1", (text("and now?"),), (result("a"),))

        messages = built(assistant("1:0", call("a")), both)

        assert messages == [("assistant", [call("a")]), ("user", [result("a")]), ("user", [text("and now?")])]

    def test_unanswered_call_is_dropped_and_its_text_stays(self) -> None:
        """No failure is invented for a call without a result; what was said beside it is kept."""
        answer = build_messages([assistant("1:0", text("I try."), call("a"))], {})

        assert answer == BuiltMessages((AssembledMessage("assistant", (text("I try."),), ("1:0",)),), ("a",), ())

    def test_result_without_its_call_is_dropped(self) -> None:
        """A result whose call was dropped by the budget goes too, and is told."""
        answer = build_messages([tool("1:0", result("a")), assistant("1:1", text("done"))], {})

        assert [message.content for message in answer.messages] == [(text("done"),)]
        assert answer.dropped_results == ("a",)

    def test_reasoning_without_its_call_is_dropped(self) -> None:
        """When the call goes, reasoning that nothing follows goes with it."""
        assert built(assistant("1:0", thinking(), api="m1"), assistant("1:1", call("a"), api="m1")) == []

    def test_reasoning_with_its_call_stays(self) -> None:
        """The provider demands the reasoning beside a tool call."""
        messages = built(assistant("1:0", thinking(), call("a")), tool("1:1", result("a")))

        assert messages == [("assistant", [thinking(), call("a")]), ("user", [result("a")])]

    def test_found_result_answers_its_call(self) -> None:
        """A result from elsewhere in the store is put behind the call, with its own place."""
        found = {"a": FoundResult(result("a", "from afar"), "9:3")}

        messages = build_messages([assistant("1:0", call("a"))], found).messages

        assert messages[1] == AssembledMessage("user", (result("a", "from afar"),), ("9:3",))

    def test_second_result_of_a_call_is_left_out(self) -> None:
        """A call is answered once, by its first result."""
        messages = built(assistant("1:0", call("a")), tool("1:1", result("a")), tool("1:2", result("a", "again")))

        assert messages == [("assistant", [call("a")]), ("user", [result("a")])]

    def test_call_id_used_twice_is_shown_once(self) -> None:
        """The API refuses two calls with one id; the first answered one is shown."""
        messages = built(
            assistant("1:0", call("a")), tool("1:1", result("a")), assistant("1:2", call("a")), tool("1:3", result("a"))
        )

        assert messages == [("assistant", [call("a")]), ("user", [result("a")])]

    def test_summary_is_a_user_message_with_its_id(self) -> None:
        """A summary keeps its id beside its text."""
        messages = build_messages([summary_draft("sum_1", "<summary/>")], {}).messages

        assert messages == (AssembledMessage("user", (text("<summary/>"),), ("sum_1",), "sum_1"),)

    @given(DRAFTS)
    def test_every_call_is_answered_by_the_next_message(self, drafts: list[Draft]) -> None:
        """Whatever was cut off: no orphan block, every id once, results directly behind their calls, in their order."""
        messages = build_messages(drafts, {}).messages
        calls = [[block["id"] for block in each.content if block["type"] == "tool_use"] for each in messages]
        answers = [[x["tool_use_id"] for x in each.content if x["type"] == "tool_result"] for each in messages]

        assert calls[-1:] in ([], [[]])
        assert answers[:1] in ([], [[]])
        assert calls[:-1] == answers[1:]
        shown = [call_id for group in calls for call_id in group]
        assert len(shown) == len(set(shown))
        assert all(each.content for each in messages)
