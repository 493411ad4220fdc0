from __future__ import annotations

import json

import pytest

from lcm.summarizer.message_extract import extract_messages
from lcm.summarizer.sections import Section


def message(role: str, content: str, *, minute: int = 37) -> str:
    return f"[2026-02-17 07:{minute:02} UTC] {role}\n{content}"


def call(tool: str, **arguments: object) -> str:
    return f"{tool} {json.dumps(arguments, separators=(',', ':'), ensure_ascii=False)}"


def found(section: Section, *messages: str) -> list[str]:
    entries = extract_messages("\n\n".join(messages)).entries
    return [entry.text for entry in entries if entry.section is section]


class TestExtractMessages:
    def test_requests_keep_their_time(self) -> None:
        """A user's message is a request with month, day and minute."""
        assert found(Section.ASKED, message("user", "Fix the parser.")) == ["02-17 07:37 Fix the parser."]

    def test_the_range_of_time_is_that_of_the_headers(self) -> None:
        """The extract spans from the first to the last header."""
        extract = extract_messages(f"{message('user', 'a b')}\n\n{message('assistant', 'c', minute=59)}")

        assert (extract.earliest, extract.latest) == ("2026-02-17 07:37 UTC", "2026-02-17 07:59 UTC")

    @pytest.mark.parametrize(
        "sentence",
        [
            "We decided on msgspec.",
            "Take WAL instead of the journal.",
            "Never log the content.",
            "Wir nehmen das, weil es schneller geht.",
            "我们决定使用新的解析器。",
            "ロックは使わないことにした。",
        ],
    )
    def test_decisions_are_found_in_several_languages(self, sentence: str) -> None:
        """A sentence with a word of deciding is a decision, others are not."""
        assert found(Section.DECIDED, message("assistant", f"The weather is fine. {sentence}")) == [
            f"02-17 07:37 {sentence}"
        ]

    def test_files_are_listed_with_tools_and_outcome(self) -> None:
        """A path appears once, with each use and whether it succeeded."""
        files = found(
            Section.FILE,
            message("assistant", call("Read", file_path="/a/b.py")),
            message("tool", "print(1)\nValueError: is only text here"),
            message("assistant", call("Edit", file_path="/a/b.py", old_string="1", new_string="2")),
            message("tool", "Error: string not found"),
        )

        assert files == ["/a/b.py (Read ok, Edit failed)"]

    def test_a_patch_names_its_files(self) -> None:
        """Files of a free-text patch are found by its headers."""
        patch = "apply_patch *** Begin Patch\n*** Update File: lcm/a.py\n+x\n*** Add File: lcm/b.py\n*** End Patch"

        assert found(Section.FILE, message("assistant", patch)) == ["lcm/a.py (update)", "lcm/b.py (add)"]

    def test_commands_tell_their_outcome(self) -> None:
        """A command failed when its result holds an error line; argument lists are joined."""
        commands = found(
            Section.COMMAND,
            message("assistant", call("Bash", command="pytest -q")),
            message("tool", "1 failed\nFAILED tests/test_a.py"),
            message("assistant", call("shell", command=["git", "status"])),
            message("tool", "clean"),
        )

        assert commands == ["pytest -q (failed)", "git status (ok)"]

    def test_the_outcome_of_calls_answered_together_is_not_guessed(self) -> None:
        """Of several results in one message only the first can be told apart."""
        commands = found(
            Section.COMMAND,
            message("assistant", f"{call('Bash', command='ls')}\n{call('Bash', command='pwd')}"),
            message("tool", "a\nb\n/work"),
            message("assistant", "Done."),
        )

        assert commands == ["ls (ok)", "pwd"]

    def test_errors_are_verbatim(self) -> None:
        """The last error lines of a result are kept word for word; a bare word takes the next line along."""
        result = "Traceback (most recent call last):\n  File x\nValueError: bad value 'x'"

        assert found(Section.ERROR, message("tool", result), message("tool", "Error\nno such skill")) == [
            "02-17 07:37 Traceback (most recent call last):",
            "02-17 07:37 ValueError: bad value 'x'",
            "02-17 07:37 Error no such skill",
        ]

    def test_open_items_come_from_words_and_from_the_last_task_list(self) -> None:
        """A later task list replaces an earlier one; finished tasks are left out."""
        first = call("TodoWrite", todos=[{"content": "old task", "status": "pending"}])
        second = call(
            "TodoWrite",
            todos=[{"content": "write docs", "status": "in_progress"}, {"content": "ship", "status": "completed"}],
        )

        texts = [message("assistant", first), message("assistant", f"{second}\nTODO: check Windows.")]

        assert found(Section.OPEN, *texts) == ["02-17 07:37 TODO: check Windows.", "write docs"]

    def test_the_last_answer_is_the_state(self) -> None:
        """What the assistant said last is the last state."""
        texts = [message("assistant", "Working on it."), message("assistant", "All tests pass now.", minute=40)]

        assert found(Section.LAST, *texts) == ["02-17 07:40 All tests pass now."]

    def test_text_without_any_cue_is_noted_by_its_opening(self) -> None:
        """The first telling sentence of an answer is kept in any language."""
        assert found(Section.NOTED, message("assistant", "好的。解析器现在可以处理长行了。其余照旧。")) == [
            "02-17 07:37 解析器现在可以处理长行了。"
        ]

    def test_text_without_headers_is_read_too(self) -> None:
        """A source in no known form still gives a state."""
        assert [entry.section for entry in extract_messages("free text of some length here").entries] == [
            Section.NOTED,
            Section.LAST,
        ]
