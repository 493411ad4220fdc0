"""Codex response items as roles and blocks: messages, reasoning, calls and their results."""

from typing import Any

import pytest

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import Block, Media
from lcm.transcripts.parse.codex_items import ItemContent, read_item

Payload = dict[str, Any]
TURN = {"internal_chat_message_metadata_passthrough": {"turn_id": "t1"}, "metadata": {"turn_id": "t1"}}


def read(payload: Payload) -> ItemContent:
    content = read_item(payload)
    assert content is not None
    return content


def message(role: str, *items: object, **more: object) -> ItemContent:
    return read({"type": "message", "role": role, "content": list(items), **more})


def text(value: str) -> Payload:
    return {"type": "input_text", "text": value}


class TestMessage:
    @pytest.mark.parametrize("role", ["developer", "system"])
    def test_developer_and_system_are_system_meta(self, role: str) -> None:
        """Instructions of the client are stored, not shown."""
        content = message(role, text("Obey."))

        assert (content.role, content.exclusion, content.is_prompt) == (Role.SYSTEM, Exclusion.META, False)
        assert content.item_type == f"message/{role}"

    def test_assistant_text_keeps_its_phase(self) -> None:
        """The phase of an answer is metadata of its text; empty annotations say nothing."""
        item = {"type": "output_text", "text": "Done.", "annotations": []}
        content = message("assistant", item, phase="final_answer")

        assert content.role is Role.ASSISTANT
        assert content.blocks == (Block(PartType.TEXT, "Done.", metadata={"phase": "final_answer"}),)
        assert (content.exclusion, content.is_prompt) == (None, False)

    def test_plain_string_content_is_one_text(self) -> None:
        """Content given as a string is read as one text block."""
        content = read({"type": "message", "role": "user", "content": "hi"})

        assert content.blocks == (Block(PartType.TEXT, "hi"),)
        assert content.is_prompt

    def test_injected_only_message_is_meta(self) -> None:
        """AGENTS.md text and surroundings in one message stay out of the context."""
        content = message(
            "user",
            text("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
            text("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
        )

        assert (content.exclusion, content.is_prompt) == (Exclusion.META, False)

    def test_one_typed_text_keeps_the_message(self) -> None:
        """A typed text beside injected ones is still a prompt."""
        content = message("user", text("<environment_context></environment_context>"), text("fix it"))

        assert (content.exclusion, content.is_prompt) == (None, True)

    def test_reported_text_is_in_context_without_being_a_prompt(self) -> None:
        """A shell command that the person ran is part of the conversation."""
        content = message("user", text("<user_shell_command>\n<command>ls</command>\n</user_shell_command>"))

        assert (content.exclusion, content.is_prompt) == (None, False)

    def test_kinds_of_the_client_decide(self) -> None:
        """The newest versions name each item's kind: a typed text may begin like an injected one."""
        typed = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]}}
        added = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["environments.news"]}}

        assert message("user", text("<skill> what is this tag?"), **typed).is_prompt
        assert message("user", text("plain words"), **added).exclusion is Exclusion.META

    def test_image_prompt_holds_a_file(self) -> None:
        """A pasted image is a FILE block in its place."""
        image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
        content = message("user", text("look"), image)

        assert content.blocks[1] == Block(PartType.FILE, media=Media("image/png", "AAAA"), metadata={"detail": "auto"})
        assert content.is_prompt


class TestReasoning:
    def test_summary_and_content_are_one_block(self) -> None:
        """Texts are joined by an empty line; the encrypted form is metadata."""
        content = read(
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "**Plan**"}, {"type": "summary_text", "text": "Look."}],
                "content": [{"type": "reasoning_text", "text": "Hm."}],
                "encrypted_content": "gAAA",
                **TURN,
            }
        )

        assert content == ItemContent(
            Role.ASSISTANT,
            (Block(PartType.REASONING, "**Plan**\n\nLook.\n\nHm.", metadata={"encrypted_content": "gAAA"}),),
            "reasoning",
        )

    def test_encrypted_only_reasoning_is_kept(self) -> None:
        """A reasoning without readable text is still needed to rebuild the conversation."""
        content = read({"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAA"})

        assert content.blocks == (Block(PartType.REASONING, "", metadata={"encrypted_content": "gAAA"}),)


class TestAgentMessage:
    def test_text_and_encrypted_part(self) -> None:
        """A message between agents is assistant text; who wrote to whom and the hidden part are metadata."""
        hidden = {"type": "encrypted_content", "encrypted_content": "gAAA"}
        payload = {
            "type": "agent_message",
            "id": "m",
            "author": "/a",
            "recipient": "/b",
            "content": [text("go"), hidden],
        }

        assert read(payload) == ItemContent(
            Role.ASSISTANT,
            (Block(PartType.TEXT, "go", metadata={"author": "/a", "recipient": "/b", "encrypted": [hidden]}),),
            "agent_message",
        )

    def test_hidden_message_keeps_its_place(self) -> None:
        """A wholly encrypted message is one empty text with metadata."""
        hidden = {"type": "encrypted_content", "encrypted_content": "gAAA"}

        assert read({"type": "agent_message", "content": [hidden]}).blocks == (
            Block(PartType.TEXT, "", metadata={"encrypted": [hidden]}),
        )


class TestCall:
    @pytest.mark.parametrize(
        ("payload", "arguments", "name"),
        [
            (
                {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "namespace": None},
                '{"command": ["ls"]}',
                "shell",
            ),
            ({"type": "function_call", "name": "wait", "arguments": None}, "", "wait"),
            ({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin"}, "*** Begin", "apply_patch"),
            ({"type": "local_shell_call", "action": {"command": ["ls"]}}, '{"command":["ls"]}', "local_shell"),
            ({"type": "tool_search_call", "arguments": {"query": "é"}}, '{"query":"é"}', "tool_search"),
        ],
    )
    def test_arguments_and_names(self, payload: Payload, arguments: str, name: str) -> None:
        """Text stays as it is, objects become compact JSON, calls without a name have their kind's."""
        content = read({**payload, "call_id": "c1", "id": "fc_1", **TURN})

        assert content == ItemContent(
            Role.ASSISTANT,
            (Block(PartType.TOOL_CALL, arguments, tool_call_id="c1", tool_name=name),),
            payload["type"],
            "c1",
        )

    @pytest.mark.parametrize(
        ("namespace", "name", "full"),
        [
            ("mcp__memory", "search", "mcp__memory__search"),
            ("mcp__memory__", "search", "mcp__memory__search"),
            ("memory/", "search", "memory/search"),
            ("mcp__memory", "mcp__memory__search", "mcp__memory__search"),
        ],
    )
    def test_namespace_stands_before_the_name(self, namespace: str, name: str, full: str) -> None:
        """The name is what the model calls; the client's namespace is kept beside it."""
        payload = {"type": "function_call", "namespace": namespace, "name": name, "arguments": "{}", "call_id": "c1"}
        block = read(payload).blocks[0]

        assert (block.tool_name, block.metadata) == (full, {"namespace": namespace})

    def test_web_search_has_its_own_id_or_none(self) -> None:
        """A search by the provider has no call id and waits for no result."""
        payload = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}
        block = Block(
            PartType.TOOL_CALL,
            '{"type":"search","query":"x"}',
            tool_name="web_search",
            metadata={"status": "completed"},
        )

        assert read(payload) == ItemContent(Role.ASSISTANT, (block,), "web_search_call")
        assert read({**payload, "id": "ws_1"}).call_id == "ws_1"

    def test_generated_image_is_a_file(self) -> None:
        """The image of a generation call follows it as a FILE block."""
        payload = {"type": "image_generation_call", "id": "ig_1", "revised_prompt": "a cat", "result": "iVBORw0KGgo="}

        assert read({**payload, "status": "completed"}).blocks == (
            Block(
                PartType.TOOL_CALL,
                "a cat",
                tool_call_id="ig_1",
                tool_name="image_generation",
                metadata={"status": "completed"},
            ),
            Block(PartType.FILE, tool_call_id="ig_1", media=Media("image/png", "iVBORw0KGgo=")),
        )

    def test_result_that_is_no_base64_stays_metadata(self) -> None:
        """A placeholder where the image should be is kept as it is."""
        payload = {"type": "image_generation_call", "id": "ig_1", "result": "[cut]"}

        assert [block.metadata for block in read(payload).blocks] == [{"result": "[cut]"}]


class TestOutput:
    def test_plain_output(self) -> None:
        """A result is a tool message with the call's id; no verdict without a sign."""
        payload = {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "Plan updated", **TURN}

        assert read(payload) == ItemContent(
            Role.TOOL,
            (Block(PartType.TOOL_RESULT, "Plan updated", tool_call_id="c1"),),
            "function_call_output",
            "c1",
        )

    def test_shell_report_is_opened(self) -> None:
        """The old JSON in a string becomes its output, verdict and metadata."""
        output = '{"output":"no\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}'
        block = read({"type": "custom_tool_call_output", "call_id": "c1", "output": output}).blocks[0]

        assert (block.text, block.is_error) == ("no\n", True)
        assert block.metadata == {"metadata": {"exit_code": 2, "duration_seconds": 0.1}}

    def test_images_follow_with_the_calls_id(self) -> None:
        """Texts are joined, images come after the result."""
        image = {"type": "input_image", "image_url": "data:image/jpeg;base64,/9j/"}
        payload = {"type": "function_call_output", "call_id": "c1", "output": [text("a"), image, text("b")]}

        assert read(payload).blocks == (
            Block(PartType.TOOL_RESULT, "a\nb", tool_call_id="c1"),
            Block(PartType.FILE, tool_call_id="c1", media=Media("image/jpeg", "/9j/")),
        )

    def test_flag_of_the_record_goes_before_the_text(self) -> None:
        """An explicit success flag decides over what the text looks like."""
        output = "Exit code: 1\nWall time: 0 seconds\nOutput:\n"
        payload = {"type": "function_call_output", "call_id": "c1", "output": output, "success": True}

        assert read(payload).blocks[0].is_error is False

    def test_mcp_result(self) -> None:
        """An MCP result object gives its texts and its verdict."""
        output = {"content": [{"type": "text", "text": "denied"}], "isError": True, "structuredContent": None}

        assert read({"type": "mcp_tool_call_output", "call_id": "c1", "output": output}).blocks == (
            Block(PartType.TOOL_RESULT, "denied", tool_call_id="c1", is_error=True),
        )

    def test_found_tools_are_the_output(self) -> None:
        """A tool search answers with the tools it found, as JSON."""
        payload = {"type": "tool_search_output", "call_id": "c1", "status": "completed", "tools": [{"name": "t"}]}

        assert read(payload).blocks == (
            Block(PartType.TOOL_RESULT, '[{"name":"t"}]', tool_call_id="c1", metadata={"status": "completed"}),
        )
