"""From a record to a message: layout, spans after redaction, large files and media, tokens."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.messages import MessagePart, PartType, Role
from lcm.domain.records import Block, MessageRecord, Thread
from lcm.domain.records import Media as MediaBytes
from lcm.engine.prepare import PreparedMessage, Preparer
from lcm.redaction.scrub import MARK, Scrubber
from lcm.tokens import estimate_tokens

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
PREPARER = Preparer(Scrubber(), 100)
PARTS = (PartType.TEXT, PartType.REASONING, PartType.TOOL_CALL, PartType.TOOL_RESULT)


def prepare(*blocks: Block) -> PreparedMessage:
    return PREPARER.prepare(
        MessageRecord(
            line=0, thread=Thread("s"), role=Role.ASSISTANT, blocks=blocks, occurred_at=None, item_type="assistant"
        )
    )


def text(value: str, **fields: Any) -> Block:
    return Block(PartType.TEXT, value, **fields)


def call(arguments: str, tool: str | None = "Bash") -> Block:
    return Block(PartType.TOOL_CALL, arguments, tool_call_id="t1", tool_name=tool)


def media(data: bytes, mime_type: str = "image/png", name: str | None = None) -> Block:
    return Block(PartType.FILE, media=MediaBytes(mime_type, base64.b64encode(data).decode(), name))


class TestLayout:
    def test_blocks_stand_in_order_and_reasoning_apart(self) -> None:
        """A part is a span of the content, or has a text of its own, never both."""
        prepared = prepare(Block(PartType.REASONING, "hm"), text("Look."), call('{"a":1}'))

        assert prepared.content == 'Look.\nBash {"a":1}'
        assert [(part.content_start, part.content_end, part.text) for part in prepared.parts] == [
            (None, None, "hm"), (0, 5, None), (11, 18, None),
        ]  # fmt: skip

    def test_a_call_without_a_name_has_its_arguments_alone(self) -> None:
        """Nothing is made up."""
        assert prepare(call("{}", None)).content == "{}"

    def test_tokens_count_the_content_and_the_reasoning(self) -> None:
        """What the model sees."""
        prepared = prepare(Block(PartType.REASONING, "x" * 40), text("y" * 80))

        assert prepared.token_count == estimate_tokens("y" * 80) + estimate_tokens("x" * 40)

    def test_what_else_a_block_carried_is_metadata(self) -> None:
        """As compact JSON."""
        assert (
            prepare(text("x", metadata={"phase": "final", "n": [1]})).parts[0].metadata == '{"phase":"final","n":[1]}'
        )


class TestRedaction:
    def test_spans_move_with_what_was_replaced(self) -> None:
        """Every part still reads its own text."""
        prepared = prepare(text(f"use {KEY} now"), text("after"))

        assert texts(prepared) == [f"use {MARK} now", "after"]
        assert prepared.redactions == {"built_in": 1}

    def test_a_secret_over_two_blocks_is_gone_from_both(self) -> None:
        """Their spans meet at the mark."""
        prepared = prepare(text("-----BEGIN " + "PRIVATE KEY-----"), text("MIIE" + KEY[4:] * 2))

        assert KEY[4:] not in prepared.content
        assert all(KEY[4:] not in each for each in texts(prepared))

    def test_arguments_stay_json(self) -> None:
        """Secrets are replaced inside their values."""
        prepared = prepare(call(json.dumps({"command": f'curl -H "X: {KEY}"', "n": 1}, separators=(",", ":"))))

        assert json.loads(texts(prepared)[0]) == {"command": f'curl -H "X: {MARK}"', "n": 1}

    def test_arguments_that_are_no_json_are_redacted_as_text(self) -> None:
        """A patch, for example."""
        assert prepare(call(f"*** key {KEY}")).content == f"Bash *** key {MARK}"

    @pytest.mark.parametrize(
        "block",
        [
            Block(PartType.REASONING, f"the key is {KEY}"),
            text("x", metadata={"citation": KEY}),
            text("x", metadata={KEY: 1}),
            media(f"key={KEY}".encode(), "text/plain"),
            media(b"\xff", name=f"{KEY}.png"),
            media(b"\xff", mime_type=f"image/{KEY}"),
            text(f'<file name="{KEY}">{"word " * 200}</file>'),
            text(f'<file name="a">{KEY} {"word " * 200}</file>'),
        ],
    )
    def test_no_part_nor_file_keeps_one(self, block: Block) -> None:
        """Reasoning, metadata, media that is text, names and kinds of files."""
        prepared = prepare(block)

        assert KEY not in repr(prepared.parts) + prepared.content + repr(prepared.files)
        assert prepared.redactions == {"built_in": 1}

    @given(st.lists(st.tuples(st.sampled_from(PARTS), st.text(max_size=20) | st.just(f"a {KEY} b"))))
    def test_every_part_reads_its_redacted_text(self, blocks: list[tuple[PartType, str]]) -> None:
        """Spans lie inside the content, in order, whatever was replaced."""
        prepared = prepare(*(Block(kind, value, tool_name="T") for kind, value in blocks))
        spans = [each.content_start for each in prepared.parts if each.content_start is not None]

        assert spans == sorted(spans)
        assert KEY not in prepared.content + "".join(texts(prepared))
        assert all(_is_inside(part, prepared.content) for part in prepared.parts)


def texts(prepared: PreparedMessage) -> list[str]:
    return [part.text_in(prepared.content) for part in prepared.parts]


def _is_inside(part: MessagePart, content: str) -> bool:
    if part.content_start is None or part.content_end is None:
        return part.text is not None
    return part.text is None and 0 <= part.content_start <= part.content_end <= len(content)


class TestLargeFiles:
    def test_a_file_block_over_the_threshold_leaves_a_reference(self) -> None:
        """The text around it stays; a small one beside it stays whole."""
        small = '<file name="b.py">x = 1</file>'
        prepared = prepare(text(f'see <file name="a.py" mime="text/x-python">{"word " * 200}</file> and {small}'))
        [file] = prepared.files

        reference = f"[lcm file {file.file_id} | a.py | text/x-python | 1000 bytes]"
        assert prepared.content == f"see {reference} and {small}"
        assert file.data == b"word " * 200

    def test_media_leave_a_reference_and_their_bytes(self) -> None:
        """Bytes that are no text are kept as they are."""
        prepared = prepare(media(b"\x89PNG\xff", name="shot.png"))
        [file] = prepared.files

        assert prepared.content == f"[lcm file {file.file_id} | shot.png | image/png | 5 bytes]"
        assert (file.data, prepared.parts[0].file_id, prepared.parts[0].metadata) == (
            b"\x89PNG\xff",
            file.file_id,
            None,
        )

    def test_media_that_are_not_base64_lose_nothing(self) -> None:
        """The text is kept as bytes."""
        broken = Block(PartType.FILE, media=MediaBytes("image/png", "not base64!"))

        assert prepare(broken).files[0].data == b"not base64!"

    def test_a_tools_output_can_leave_too(self) -> None:
        """A call's input cannot: it must be given back as it was."""
        block = f"<file>{'word ' * 200}</file>"

        assert len(prepare(Block(PartType.TOOL_RESULT, block)).files) == 1
        assert prepare(call(json.dumps({"content": block}))).files == ()

    def test_equal_bytes_have_one_id(self) -> None:
        """Whatever they are called."""
        first, second = prepare(media(b"\xff1", name="a.png")), prepare(media(b"\xff1", name="b.png"))

        assert first.files[0].file_id == second.files[0].file_id


class TestSecretsInStructures:
    """What a key says of a value counts wherever the value stands."""

    @pytest.mark.parametrize(
        "arguments",
        [
            '{"password":["Hunter2secret!x"]}',
            '{"password":{"value":"Hunter2secret!x"}}',
            '{"db":{"password":"Hunter2secret!x"}}',
        ],
    )
    def test_values_under_secret_keys(self, arguments: str) -> None:
        """A list or object under a secret key is redacted, and the arguments stay JSON."""
        prepared = prepare(call(arguments))

        assert "Hunter2" not in prepared.content
        json.loads(prepared.parts[0].text_in(prepared.content))

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
    def test_media_that_is_text(self, encoding: str) -> None:
        """Text in another encoding than UTF-8 is redacted before its bytes are kept."""
        secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
        prepared = prepare(media(f"clé: {secret}\n".encode(encoding), "text/plain"))

        assert secret not in prepared.files[0].data.decode(encoding)
        assert "clé" in prepared.files[0].data.decode(encoding)
