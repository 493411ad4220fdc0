"""Codex content items, data URLs and every form of tool output; whose text it is and which cwd it tells."""

import pytest

from lcm.domain.messages import PartType
from lcm.domain.records import Block, Media
from lcm.errors import InvalidInput
from lcm.transcripts.parse.codex_content import ToolOutput, content_blocks, media_of_url, tool_output
from lcm.transcripts.parse.codex_context import Origin, origin_of, working_directory


class TestContentBlocks:
    @pytest.mark.parametrize("kind", ["input_text", "output_text", "text"])
    def test_texts(self, kind: str) -> None:
        """Every text kind is a TEXT block."""
        assert content_blocks([{"type": kind, "text": "x"}]) == (Block(PartType.TEXT, "x"),)

    def test_what_a_text_says_beside_itself_is_metadata(self) -> None:
        """Annotations stay with the text they belong to."""
        item = {"type": "output_text", "text": "x", "annotations": [{"url": "u"}]}

        assert content_blocks([item])[0].metadata == {"annotations": [{"url": "u"}]}

    @pytest.mark.parametrize("url", ["https://example.invalid/a.png", {"url": "https://example.invalid/a.png"}])
    def test_image_elsewhere_is_a_stub(self, url: object) -> None:
        """An image that is not in the file leaves its address."""
        assert content_blocks([{"type": "input_image", "image_url": url}]) == (
            Block(PartType.TEXT, "[image: https://example.invalid/a.png]"),
        )

    def test_image_of_an_mcp_result(self) -> None:
        """Bytes and type beside each other are a FILE block."""
        assert content_blocks([{"type": "image", "data": "AAAA", "mimeType": "image/gif"}]) == (
            Block(PartType.FILE, media=Media("image/gif", "AAAA")),
        )

    @pytest.mark.parametrize(
        ("item", "text"),
        [
            ({"type": "input_hologram", "depth": [1, 2]}, '{"type":"input_hologram","depth":[1,2]}'),
            ({"type": "input_image", "image_url": None}, '{"type":"input_image","image_url":null}'),
            ({"type": "input_text", "text": 5}, '{"type":"input_text","text":5}'),
            ({"type": ["text"], "text": "x"}, '{"type":["text"],"text":"x"}'),
            ("just text", "just text"),
            (7, "7"),
        ],
    )
    def test_unknown_items_are_their_json(self, item: object, text: str) -> None:
        """Nothing in a content list is dropped."""
        assert content_blocks([item]) == (Block(PartType.TEXT, text),)


class TestMediaOfUrl:
    @pytest.mark.parametrize(
        ("url", "media"),
        [
            ("data:image/png;base64,iVBORw0KGgo=", Media("image/png", "iVBORw0KGgo=")),
            ("DATA:image/SVG+xml;charset=utf-8;BASE64,AAAA", Media("image/svg+xml", "AAAA")),
            ("data:;base64,AAAA", Media("application/octet-stream", "AAAA")),
        ],
    )
    def test_base64_data_urls(self, url: str, media: Media) -> None:
        """The type is the URL's, lowercase; the data is untouched."""
        assert media_of_url(url) == media

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "https://example.invalid/,",
            "data:image/png,rawtext",
            "data:image/png;base64,[cut]",
            "data:image/png;base64",
        ],
    )
    def test_other_urls_have_no_bytes(self, url: str) -> None:
        """Plain, unencoded and cut data is no media."""
        assert media_of_url(url) is None


class TestToolOutput:
    @pytest.mark.parametrize(
        ("text", "is_error"),
        [
            ("Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok", False),
            ("Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code -9\nOutput:\n", True),
            ("Wall time: 0.1 seconds\nProcess exited with code 127\nOutput:\n", True),
            ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", True),
            ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\n", False),
            ("Chunk ID: a1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n", None),
            ("Wall time: 0.1 seconds\nOutput:\nProcess exited with code 1", None),
            ("grep says: Process exited with code 1", None),
            ("", None),
        ],
    )
    def test_text_reports(self, text: str, is_error: bool | None) -> None:
        """A report's head tells how the process ended; what the process printed does not."""
        assert tool_output(text) == ToolOutput(text, is_error=is_error)

    @pytest.mark.parametrize(
        "text",
        [
            '{"output":"x","metadata":{"exit_code":"0"}}',
            '{"output":"x","metadata":{"exit_code":true}}',
            '{"output":["x"],"metadata":{"exit_code":0}}',
            '{"output":"x","metadata":{"exit_code":0},"more":1}',
            '{"output":"x","metadata":{"exit_code":0}',
            '{"exit_code":0}',
            '{"output":"x"}',
        ],
    )
    def test_other_json_is_text(self, text: str) -> None:
        """JSON that a tool printed is not taken for the client's report."""
        assert tool_output(text) == ToolOutput(text)

    def test_report_as_an_object(self) -> None:
        """The report is understood outside a string as well."""
        output = {"output": "ok", "metadata": {"exit_code": 0}}

        assert tool_output(output) == ToolOutput("ok", is_error=False, metadata={"metadata": {"exit_code": 0}})

    @pytest.mark.parametrize(
        ("output", "expected"),
        [
            (None, ToolOutput("")),
            ([], ToolOutput("")),
            ({"type": "input_text", "text": "a\n", "detail": None}, ToolOutput("a\n")),
            ({"content": "bad", "success": False}, ToolOutput("bad", is_error=True)),
            ({"content": [{"type": "text", "text": "x"}], "is_error": False}, ToolOutput("x", is_error=False)),
            (
                {"content": [], "structuredContent": {"n": 1}},
                ToolOutput("", metadata={"structuredContent": {"n": 1}}),
            ),
            ({"anything": 1}, ToolOutput('{"anything":1}')),
        ],
    )
    def test_lists_and_objects(self, output: object, expected: ToolOutput) -> None:
        """Each other form of output has one reading."""
        assert tool_output(output) == expected

    def test_number_is_refused(self) -> None:
        """An output that is neither text nor structure is damaged."""
        with pytest.raises(InvalidInput, match="no text, list or object"):
            tool_output(1.5)


class TestOriginOf:
    @pytest.mark.parametrize(
        "text",
        [
            "<environment_context>\n</environment_context>",
            "<user_instructions>\n\nbe kind",
            "# AGENTS.md instructions for /w",
            "<permissions instructions>",
            "<skills_instructions>",
            " \n<ENVIRONMENT_CONTEXT>",
            '<codex_internal_context source="goal">',
        ],
    )
    def test_injected(self, text: str) -> None:
        """What the client adds is known by its beginning, in any case and after blanks."""
        assert origin_of(text) is Origin.INJECTED

    @pytest.mark.parametrize(
        "text", ["<user_shell_command>", "<subagent_notification>{}", '<hook_prompt hook_run_id="h">']
    )
    def test_reported(self, text: str) -> None:
        """News of the conversation is neither typed nor injected, whatever kind the client names."""
        assert origin_of(text) is Origin.REPORTED
        assert origin_of(text, "user.text") is Origin.REPORTED

    @pytest.mark.parametrize("text", ["fix it", "", "# Context from my IDE setup:\n", "what is <environment_context>?"])
    def test_typed(self, text: str) -> None:
        """Everything else was typed."""
        assert origin_of(text) is Origin.TYPED
        assert origin_of(text, "unknown") is Origin.TYPED


class TestWorkingDirectory:
    @pytest.mark.parametrize(
        ("text", "cwd"),
        [
            ("<environment_context>\n  <cwd>/w/my app</cwd>\n  <shell>zsh</shell>", "/w/my app"),
            ("<environment_context>\nCurrent working directory: /w\nApproval policy: never", "/w"),
            ("<environment_context>\n  <shell>zsh</shell>\n</environment_context>", None),
            ("<environment_context><cwd> </cwd>", None),
            ("please <cwd>/w</cwd>", None),
        ],
    )
    def test_cwd_of_an_environment_context(self, text: str, cwd: str | None) -> None:
        """Tags and the older prose are read, other texts are not."""
        assert working_directory(text) == cwd
