from __future__ import annotations

import pytest

from lcm.summarizer.cues import decision_weight, is_code, is_error, is_open


class TestDecisionWeight:
    @pytest.mark.parametrize(
        ("sentence", "weight"),
        [
            ("We decided on WAL because it is safe.", 4),
            ("Never log the content.", 2),
            ("The queue is never empty.", 0),
            ("Keep the file open.", 1),
            ("Should we use this instead?", 0),
            ("因为旧的太慢。", 2),
        ],
    )
    def test_words_of_deciding_count(self, sentence: str, weight: int) -> None:
        """Deciding counts two a word, advising one; a question and a mere description are no decision."""
        assert decision_weight(sentence) == weight


class TestIsOpen:
    @pytest.mark.parametrize("sentence", ["TODO: check", "What remains is the port.", "[ ] docs", "下一步测试"])
    def test_what_remains_is_open(self, sentence: str) -> None:
        """Words for what is left to do mark an open item."""
        assert is_open(sentence)

    @pytest.mark.parametrize(
        "sentence", ["I make a todo list.", "10 seconds remain on the clock", "filter pending | 216 | next step"]
    )
    def test_mere_mentions_are_not_open(self, sentence: str) -> None:
        """The same words in a description or a row of a table mark nothing."""
        assert not is_open(sentence)


class TestIsError:
    @pytest.mark.parametrize("line", ["ValueError: x", "fatal: no repository", "sh: foo: command not found"])
    def test_messages_of_tools_are_errors(self, line: str) -> None:
        """Lines that begin as error messages do are found."""
        assert is_error(line)

    @pytest.mark.parametrize("line", ["error: handle,", "The error is gone.", "errors = 0"])
    def test_code_and_talk_about_errors_are_none(self, line: str) -> None:
        """Code that names an error and prose about one are no messages."""
        assert not is_error(line)


class TestIsCode:
    @pytest.mark.parametrize(
        "line",
        [
            "const a = 1;",
            '"recordType": "delta"',
            '{"status":"pending"}',
            "def parse(line):",
            "import os from 'os';",
            "</div>",
            "created: writeOps,",
            "@@ -1,2 +1,2 @@",
            "100 10432 0 10432 0 0 17982 0 --:--:-- --:--:-- 17982 100 1306k 0 1306k 0 0 831k 0 --:--:-- 0:00:01 -:-:-",
        ],
    )
    def test_code_data_and_figures_are_code(self, line: str) -> None:
        """Statements, JSON, markup, diffs and progress bars are code."""
        assert is_code(line)

    @pytest.mark.parametrize(
        "line",
        ["For now we keep it (see above).", "[Request interrupted by user]", "`foo()` is slow", "из файла, потом"],
    )
    def test_prose_is_not_code(self, line: str) -> None:
        """Sentences with parentheses, brackets or names in backticks are prose."""
        assert not is_code(line)
