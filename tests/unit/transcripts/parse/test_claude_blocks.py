"""The content of Claude Code messages as blocks."""

from __future__ import annotations

from typing import Any

import pytest

from lcm.domain.messages import PartType
from lcm.domain.records import Block, Media
from lcm.transcripts.parse.claude_blocks import read_blocks

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}


def only(item: Any) -> Block:
    [block] = read_blocks([item])
    return block


class TestTextBlocks:
    def test_a_string_is_one_text_block(self) -> None:
        """Content may be a plain string."""
        assert read_blocks("hello") == (Block(PartType.TEXT, "hello"),)

    def test_blank_texts_stay_and_empty_ones_go(self) -> None:
        """White space is content, nothing is not."""
        assert read_blocks([{"type": "text", "text": ""}, {"type": "text", "text": "\n\n"}]) == (
            Block(PartType.TEXT, "\n\n"),
        )
        assert read_blocks("") == ()

    def test_what_else_a_text_carries_is_metadata(self) -> None:
        """Citations of an answer are kept beside its text."""
        block = only({"type": "text", "text": "x", "citations": [{"url": "u"}]})

        assert block == Block(PartType.TEXT, "x", metadata={"citations": [{"url": "u"}]})


class TestReasoning:
    def test_a_thinking_block_keeps_its_signature(self) -> None:
        """The text is the reasoning, the signature metadata."""
        block = only({"type": "thinking", "thinking": "hm", "signature": "c2ln"})

        assert block == Block(PartType.REASONING, "hm", metadata={"signature": "c2ln"})

    def test_thinking_without_text_is_kept(self) -> None:
        """A signature alone is needed to go on."""
        block = only({"type": "thinking", "thinking": "", "signature": "c2ln"})

        assert block == Block(PartType.REASONING, "", metadata={"signature": "c2ln"})

    def test_redacted_thinking_keeps_its_data(self) -> None:
        """The opaque data and the kind are metadata."""
        block = only({"type": "redacted_thinking", "data": "xyz"})

        assert block == Block(PartType.REASONING, "", metadata={"data": "xyz", "kind": "redacted_thinking"})


class TestToolCalls:
    def test_arguments_are_compact_json_in_the_order_given(self) -> None:
        """Keys keep their order and other scripts stay readable."""
        block = only({"type": "tool_use", "id": "t1", "name": "Read", "input": {"z": "日本", "a": [1, 2]}})

        assert block == Block(PartType.TOOL_CALL, '{"z":"日本","a":[1,2]}', tool_call_id="t1", tool_name="Read")

    def test_a_call_of_the_server_is_a_call(self) -> None:
        """The kind is kept to rebuild it."""
        block = only({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}})

        assert (block.part_type, block.tool_call_id, block.metadata) == ("tool_call", "s1", {"kind": "server_tool_use"})

    def test_a_call_without_id_or_input_is_kept(self) -> None:
        """What is missing stays missing."""
        assert only({"type": "tool_use", "name": "Read"}) == Block(PartType.TOOL_CALL, "{}", tool_name="Read")


class TestToolResults:
    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ("out", "out"),
            (None, ""),
            ([], ""),
            ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
            ([{"type": "tool_reference", "tool_name": "X"}], '{"type":"tool_reference","tool_name":"X"}'),
            (
                [{"type": "image", "source": {"type": "url", "url": "https://e.org/i.png"}}],
                "[image: https://e.org/i.png]",
            ),
            (["plain", 7], "plain\n7"),
            ({"odd": True}, '{"odd":true}'),
        ],
    )
    def test_the_output_is_text(self, content: Any, text: str) -> None:
        """A string stays; texts of a list are joined by newlines; anything else is shown as JSON."""
        assert only({"type": "tool_result", "tool_use_id": "t1", "content": content}).text == text

    @pytest.mark.parametrize(("given", "expected"), [(True, True), (False, False), (None, None), ("yes", None)])
    def test_is_error_is_what_the_client_says(self, given: Any, expected: bool | None) -> None:
        """Only a boolean counts."""
        assert only({"type": "tool_result", "tool_use_id": "t1", "content": "", "is_error": given}).is_error is expected

    def test_media_follow_as_files_of_the_same_call(self) -> None:
        """A screenshot in a result is a FILE block after it."""
        item = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "shot"}, PNG]}

        assert read_blocks([item]) == (
            Block(PartType.TOOL_RESULT, "shot", tool_call_id="t1"),
            Block(PartType.FILE, tool_call_id="t1", media=Media("image/png", "iVBO")),
        )

    def test_a_result_of_a_server_tool_is_a_result(self) -> None:
        """So that every call finds its result."""
        block = only({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]})

        assert (block.part_type, block.tool_call_id, block.text) == ("tool_result", "s1", '{"url":"u"}')
        assert block.metadata == {"kind": "web_search_tool_result"}


class TestMedia:
    def test_base64_bytes_become_a_file(self) -> None:
        """The data stays exactly as written; a title names it."""
        source = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}

        assert only({"type": "document", "source": source, "title": "a.pdf"}).media == Media(
            "application/pdf", "JVBE", "a.pdf"
        )

    def test_a_url_becomes_a_stub(self) -> None:
        """Bytes elsewhere are named, not fetched."""
        block = only({"type": "image", "source": {"type": "url", "url": "https://e.org/i.png"}})

        assert block == Block(PartType.TEXT, "[image: https://e.org/i.png]", metadata={"kind": "image"})

    def test_a_text_document_is_text(self) -> None:
        """Its data is no base64."""
        source = {"type": "text", "media_type": "text/plain", "data": "hello"}

        assert only({"type": "document", "source": source}) == Block(
            PartType.TEXT, "hello", metadata={"kind": "document"}
        )

    def test_an_unknown_source_is_shown_as_json(self) -> None:
        """Nothing of it is lost."""
        block = only({"type": "image", "source": {"type": "file", "file_id": "f1"}})

        assert block.text == '{"type":"image","source":{"type":"file","file_id":"f1"}}'


class TestUnknownBlocks:
    @pytest.mark.parametrize(
        ("item", "text", "kind"),
        [
            ({"type": "fallback", "to": "m"}, '{"type":"fallback","to":"m"}', "fallback"),
            ({"type": ["x"]}, '{"type":["x"]}', None),
            ({"type": "text", "text": 7}, '{"type":"text","text":7}', "text"),
            (None, "null", None),
        ],
    )
    def test_they_become_text_with_their_kind(self, item: Any, text: str, kind: str | None) -> None:
        """Nothing of a block we do not know is lost."""
        assert only(item) == Block(PartType.TEXT, text, metadata={"kind": kind})
