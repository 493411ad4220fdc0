from __future__ import annotations

import json
from typing import Any

import pytest

from lcm.summarizer.normalize import describe_shape, normalize_answer


def chat(content: object, **message: object) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content, **message}}]}


class TestText:
    @pytest.mark.parametrize(
        "response",
        [
            chat("A summary."),
            chat([{"type": "text", "text": "A summary."}]),
            chat([{"type": "output_text", "text": "A summary."}]),
            chat([{"type": "text", "text": {"value": "A summary."}}]),
            chat([{"content": [{"summary": "A summary."}]}]),
            chat([{"type": ["text"], "text": "A summary."}]),
            chat([{"type": {}, "text": "A summary."}]),
            chat({"message": {"content": " A summary.\n"}}),
            {"choices": [{"text": "A summary.", "finish_reason": "stop"}]},
            {"content": [{"type": "text", "text": "A summary."}], "stop_reason": "end_turn"},
            {"output": [{"type": "message", "content": [{"type": "output_text", "text": "A summary."}]}]},
            {"output_text": "A summary.", "output": [{"type": "message", "content": [{"text": "A summary."}]}]},
            {"candidates": [{"content": {"parts": [{"text": "A summary."}]}}]},
            {"summary": "A summary."},
            chat("<think>What to say?</think>\nA summary."),
            chat("<think>What?</think>\n<thinking>Hm.</thinking>\nA summary."),
            chat("What to say?\n</think>\n\nA summary."),
            {"output": {"message": {"content": [{"text": "A summary."}]}}, "stopReason": "end_turn"},
            {"message": {"role": "assistant", "content": "A summary.", "thinking": "private"}, "done_reason": "stop"},
        ],
    )
    def test_every_shape_gives_the_same_text(self, response: dict[str, Any]) -> None:
        """Strings, blocks, nested content and the shapes of four APIs are one text."""
        assert normalize_answer(response).text == "A summary."

    def test_fragments_are_joined_by_newlines_each_once(self) -> None:
        """Equal fragments are kept once, in order of appearance."""
        blocks = [{"text": "one"}, {"text": "two"}, {"text": "one"}]

        assert normalize_answer(chat(blocks)).text == "one\ntwo"

    @pytest.mark.parametrize(
        "response",
        [
            chat("", reasoning_content="private"),
            chat([{"type": "thinking", "thinking": "private", "text": "private"}]),
            chat([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "private"}]}]),
            {"output": [{"type": "reasoning", "summary": [{"text": "private"}], "content": [{"text": "private"}]}]},
            {"candidates": [{"content": {"parts": [{"text": "private", "thought": True}]}}]},
            chat("<think>private, and never closed"),
            chat("private\n</think>\n"),
            {"output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "private"}]}]},
        ],
    )
    def test_reasoning_is_never_the_answer(self, response: dict[str, Any]) -> None:
        """Reasoning in any shape leaves the text empty, and the reason says so."""
        answer = normalize_answer(response)

        assert (answer.text, answer.reason_unusable) == ("", "reasoning_only")

    @pytest.mark.parametrize(
        "response", [{}, {"choices": []}, {"choices": "x"}, chat(None), chat(7), {"output": {"a": 1}}]
    )
    def test_what_holds_no_text_is_empty(self, response: dict[str, Any]) -> None:
        """Strange and empty answers give no text and the reason `empty`."""
        answer = normalize_answer(response)

        assert (answer.text, answer.reason_unusable) == ("", "empty")

    def test_endless_nesting_ends(self) -> None:
        """A deeply nested answer neither fails nor is followed to its bottom."""
        node: dict[str, Any] = {"text": "deep"}
        for _ in range(5000):
            node = {"content": node}

        assert normalize_answer(node).text == ""

    def test_a_summary_may_speak_of_reasoning_tags(self) -> None:
        """A tag within a line, or after an opening one, is a word of the summary."""
        text = "The parser drops a closing </think> tag.\nIt kept <think> and\n</think>\nas text."

        assert normalize_answer(chat(text)).text == text


class TestFinishReason:
    @pytest.mark.parametrize(
        "response",
        [
            {"choices": [{"finish_reason": "length", "message": {"content": "half"}}]},
            {"content": [{"type": "text", "text": "half"}], "stop_reason": "max_tokens"},
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output_text": "half"},
            {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"parts": [{"text": "half"}]}}]},
        ],
    )
    def test_an_answer_at_its_limit_is_cut(self, response: dict[str, Any]) -> None:
        """A length stop makes the answer unusable although it has text."""
        assert normalize_answer(response).reason_unusable == "cut"

    def test_a_filtered_answer_is_unusable(self) -> None:
        """What a content filter stopped is not a summary."""
        response = {"choices": [{"finish_reason": "content_filter", "message": {"content": "half"}}]}

        assert normalize_answer(response).reason_unusable == "filtered"


class TestUsage:
    @pytest.mark.parametrize(
        ("usage", "expected"),
        [
            ({"prompt_tokens": 7, "completion_tokens": 3}, (7, 3)),
            ({"input_tokens": 7, "output_tokens": 3}, (7, 3)),
            ({"prompt_tokens": True, "completion_tokens": -1}, (None, None)),
            (None, (None, None)),
        ],
    )
    def test_token_figures_are_safe_integers_or_none(
        self, usage: object, expected: tuple[int | None, int | None]
    ) -> None:
        """Both names are understood, and anything but a count is unknown."""
        answer = normalize_answer({"usage": usage})

        assert (answer.input_tokens, answer.output_tokens) == expected


class TestDescribeShape:
    def test_words_are_replaced_by_their_length(self) -> None:
        """The description names kinds and lengths, and no text."""
        shape = describe_shape(chat([{"type": "thinking", "thinking": "sk-secret"}]))

        assert json.loads(shape)["choices"][0]["message"] == {"role": "assistant", "content": "..."}
        assert "secret" not in shape

    def test_it_is_bounded(self) -> None:
        """Wide and deep answers stay within 8 items, 16 keys, 4 levels and 1,200 characters."""
        wide = {f"key{n}": [{"a": {"b": {"c": "x"}}}] * 50 for n in range(50)}
        flat = json.loads(describe_shape({"items": [1] * 50, **{f"k{n}": n for n in range(50)}}))

        assert len(describe_shape(wide)) <= 1200
        assert (len(flat), flat["items"]) == (16, [1] * 8)
        assert json.loads(describe_shape({"a": {"b": {"c": {"d": {"e": 1}}}}})) == {"a": {"b": {"c": {"d": "..."}}}}

    def test_a_key_that_is_no_name_is_not_shown(self) -> None:
        """Keys can hold content too."""
        assert json.loads(describe_shape({"my secret key": 1, "n": 2})) == {"key": 1, "n": 2}
