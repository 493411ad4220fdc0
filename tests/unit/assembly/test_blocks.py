from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lcm.assembly.blocks import Draft, message_draft
from lcm.domain.messages import IdentityKind, Message, MessagePart, PartType, Role


def stored(role: Role, content: str) -> Message:
    at = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)
    return Message(
        message_id=5,
        conversation_id=1,
        seq=4,
        role=role,
        content=content,
        token_count=1,
        occurred_at=at,
        created_at=at,
        ingest_key=bytes(32),
        identity_kind=IdentityKind.TEXT,
        identity_occurrence=0,
        api_message_id=None,
        source_ordinal=None,
        exclusion=None,
        content_sha256=bytes(32),
    )


def rebuild(role: Role, content: str, *parts: MessagePart) -> Draft:
    return message_draft(stored(role, content), parts)


def part(kind: PartType, text: str = "", **fields: Any) -> MessagePart:
    return MessagePart(0, kind, text=text, **fields)


class TestMessageDraft:
    def test_text_parts_are_spans_of_the_content(self) -> None:
        """Two text parts give two text blocks, cut out by code points."""
        parts = (MessagePart(0, PartType.TEXT, 0, 2), MessagePart(1, PartType.TEXT, 3, 5))

        draft = message_draft(stored(Role.USER, "a😀\nbc"), parts)

        assert draft.blocks == ({"type": "text", "text": "a😀"}, {"type": "text", "text": "bc"})
        assert draft.ref == "1:4"

    def test_message_without_parts_is_its_content(self) -> None:
        """Plain content becomes one text block."""
        assert rebuild(Role.ASSISTANT, "hi").blocks == ({"type": "text", "text": "hi"},)

    def test_blank_text_is_left_out(self) -> None:
        """Texts of white space only, which the API refuses, make no block."""
        assert rebuild(Role.ASSISTANT, "", part(PartType.TEXT, "\n\n")).blocks == ()

    def test_thinking_keeps_its_signature(self) -> None:
        """Reasoning carries the signature of its metadata, even when its text is empty."""
        thinking = part(PartType.REASONING, "", metadata='{"signature": "c2ln"}')

        assert rebuild(Role.ASSISTANT, "", thinking).blocks == (
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
        )

    def test_redacted_thinking_is_its_data(self) -> None:
        """Reasoning that the provider encrypted goes back as it came."""
        hidden = part(PartType.REASONING, "", metadata='{"data": "ZW5j", "kind": "redacted_thinking"}')

        assert rebuild(Role.ASSISTANT, "", hidden).blocks == ({"type": "redacted_thinking", "data": "ZW5j"},)

    def test_call_arguments_are_parsed(self) -> None:
        """JSON object arguments become the input."""
        call = part(PartType.TOOL_CALL, '{"path":"a.py"}', tool_call_id="t1", tool_name="Read")

        assert rebuild(Role.ASSISTANT, "", call).blocks == (
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}},
        )

    def test_free_text_arguments_are_kept_under_input(self) -> None:
        """Arguments that are no JSON object are kept as text: the API takes objects only."""
        patch = part(PartType.TOOL_CALL, "*** Begin Patch", tool_call_id="t1", tool_name="apply_patch")
        numbers = part(PartType.TOOL_CALL, "[1]", tool_call_id="t2", tool_name="sum")

        inputs = [block["input"] for block in rebuild(Role.ASSISTANT, "", patch, numbers).blocks]

        assert inputs == [{"input": "*** Begin Patch"}, {"input": "[1]"}]

    def test_failed_result_says_so(self) -> None:
        """A result is kept apart from the blocks, with its id and failure."""
        failed = part(PartType.TOOL_RESULT, "no such file", tool_call_id="t1", is_error=True)

        draft = rebuild(Role.TOOL, "", failed)

        assert draft.blocks == ()
        assert draft.results == (
            {"type": "tool_result", "tool_use_id": "t1", "content": "no such file", "is_error": True},
        )

    def test_media_of_a_result_are_told_in_it(self) -> None:
        """A file stub behind a result under its id is part of that result's text."""
        output = part(PartType.TOOL_RESULT, "page 1", tool_call_id="t1")
        image = part(PartType.FILE, "[LCM File: file_1]", tool_call_id="t1", file_id="file_1")

        assert rebuild(Role.TOOL, "", output, image).results[0]["content"] == "page 1\n[LCM File: file_1]"

    def test_result_without_an_id_becomes_text(self) -> None:
        """An output that names no call is still read, as text."""
        assert rebuild(Role.TOOL, "", part(PartType.TOOL_RESULT, "42")).blocks == ({"type": "text", "text": "42"},)

    def test_file_without_a_stub_names_its_id(self) -> None:
        """A file part without text is shown as a reference."""
        blocks = rebuild(Role.USER, "", part(PartType.FILE, "", file_id="file_ab")).blocks

        assert blocks == ({"type": "text", "text": "[file file_ab]"},)
