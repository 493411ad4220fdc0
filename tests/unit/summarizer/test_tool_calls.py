from __future__ import annotations

import pytest

from lcm.summarizer.tool_calls import Call, parse_call, parse_result


class TestParseCall:
    @pytest.mark.parametrize(
        ("line", "call"),
        [
            ('Read {"file_path":"/a.py","limit":5}', Call("Read", paths=("/a.py",))),
            ('Bash {"command":"npm test"}', Call("Bash", subject="npm test")),
            ('shell {"command":["git","log"]}', Call("shell", subject="git log")),
            ('Grep {"pattern":"TODO","path":"."}', Call("Grep", subject="TODO")),
            ('TodoWrite {"todos":[{"content":"a","status":"pending"},3]}', Call("TodoWrite", tasks=("a",))),
            ('update_plan {"plan":[{"step":"b","status":"completed"}]}', Call("update_plan", tasks=())),
        ],
    )
    def test_a_call_is_read(self, line: str, call: Call) -> None:
        """Paths, the subject or the unfinished tasks are found under the names that clients use."""
        assert parse_call(line) == call

    @pytest.mark.parametrize(
        "line", ["Use {braces}", 'Read {"file_path":', "Read the file.", 'Not a call {"a":1}', "X []"]
    )
    def test_other_lines_are_no_calls(self, line: str) -> None:
        """A call is one name and one JSON object."""
        assert parse_call(line) is None

    def test_longer_arguments_are_kept_but_not_what_is_replaced(self) -> None:
        """What was written is in `written`, the text an edit removes is not."""
        call = parse_call('Edit {"file_path":"/a","old_string":"x\\ny","edits":[{"new_string":"p\\nq"}]}')

        assert call is not None
        assert call.written == ("p\nq",)


class TestParseResult:
    @pytest.mark.parametrize(
        ("content", "outcome"),
        [
            ("", "ok"),
            ("clean", "clean"),
            ("a\nb", "2 lines"),
            ("x" * 200, "1 line"),
            ("FAILED test_a\n===== 3 failed, 2 passed in 0.1s =====", "3 failed, 2 passed in 0.1s"),
            ("Error: not found\nmore", "failed"),
            ("Chunk ID: 1\nProcess exited with code 1\nOutput:\nboom", "failed"),
            ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nfine", "fine"),
            ("Chunk ID: 1\nProcess running with session ID 9\nOutput:", "running"),
        ],
    )
    def test_the_outcome_is_a_few_words(self, content: str, outcome: str) -> None:
        """A tally of tests goes before all, then failure, the only line, or the number of lines."""
        assert parse_result(content, is_somebodys_text=False).outcome == outcome

    def test_an_error_in_somebodys_text_is_none(self) -> None:
        """Of what was read only the first line can be a complaint of the tool."""
        assert parse_result("def f():\nValueError: text", is_somebodys_text=True).errors == ()
        assert parse_result("Error: File does not exist.", is_somebodys_text=True).has_failed
