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
    return [entry.stamped for entry in entries if entry.section is section]


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

    def test_calls_tell_their_outcome(self) -> None:
        """A call is told with its argument and a short outcome; argument lists are joined."""
        calls = found(
            Section.COMMAND,
            message("assistant", call("Bash", command="npm test", timeout=5)),
            message("tool", "FAILED a\nFAILED b\n3 failed, 2 passed"),
            message("assistant", call("shell", command=["git", "status"])),
            message("tool", "clean"),
            message("assistant", call("Grep", pattern="TODO", path="/a")),
            message("tool", "a.py\nb.py"),
        )

        assert calls == [
            "02-17 07:37 Bash: npm test -> 3 failed, 2 passed",
            "02-17 07:37 shell: git status -> clean",
            "02-17 07:37 Grep: TODO -> 2 lines",
        ]

    def test_the_outcome_of_calls_answered_together_is_not_guessed(self) -> None:
        """When calls and results are not as many, no result is given to a call."""
        calls = found(
            Section.COMMAND,
            message("assistant", f"{call('Bash', command='ls')}\n{call('Bash', command='pwd')}"),
            message("tool", "a\nb\n/work"),
            message("assistant", "Done."),
        )

        assert calls == ["02-17 07:37 Bash: ls", "02-17 07:37 Bash: pwd"]

    def test_an_interrupted_call_has_no_outcome(self) -> None:
        """A call that the user interrupted does not take the result of the next one."""
        calls = found(
            Section.COMMAND,
            message("assistant", call("Bash", command="rm a")),
            message("user", "[Request interrupted by user]"),
            message("assistant", call("Bash", command="ls")),
            message("tool", "b.py"),
        )

        assert calls == ["02-17 07:37 Bash: rm a", "02-17 07:37 Bash: ls -> b.py"]

    def test_errors_are_verbatim(self) -> None:
        """The last error lines of a result are kept word for word; a bare word or a colon takes the next line along."""
        result = "Traceback (most recent call last):\n  File x\nValueError: bad value 'x'"

        assert found(Section.ERROR, message("tool", result), message("tool", "Error\nno such skill")) == [
            "02-17 07:37 Traceback (most recent call last): File x",
            "02-17 07:37 ValueError: bad value 'x'",
            "02-17 07:37 Error no such skill",
        ]

    def test_code_is_no_open_item_and_no_decision(self) -> None:
        """Code and data in an answer are notes of little worth, whatever words they hold."""
        answer = (
            'The filter:\n```\n{"status": "is pending"}\n// never use this instead\n```\nconst todo = next("TODO");'
        )

        assert found(Section.OPEN, message("assistant", answer)) == []
        assert found(Section.DECIDED, message("assistant", answer)) == []

    def test_a_finished_task_list_says_so(self) -> None:
        """When every task of the last list is done, no earlier task is left open."""
        lists = [
            call("TodoWrite", todos=[{"content": "ship", "status": status}]) for status in ("pending", "completed")
        ]

        assert found(Section.OPEN, *(message("assistant", text) for text in lists)) == [
            "Nothing is left of the task list."
        ]

    def test_wrappers_of_commands_are_no_requests(self) -> None:
        """A slash command is read without its tags, alone it is only a remark; reminders are dropped."""
        command = (
            "<command-name>/clear</command-name>\n <command-message>x</command-message> <command-args></command-args>"
        )
        review = "&lt;command-name&gt;/review&lt;/command-name&gt; &lt;command-args&gt;a.py&lt;/command-args&gt;"
        reminder = "<system-reminder>Never mind.</system-reminder>Go on with the parser."
        texts = [message("user", text) for text in (command, review, reminder)]

        assert found(Section.ASKED, *texts) == ["02-17 07:37 /review a.py", "02-17 07:37 Go on with the parser."]
        assert found(Section.NOTED, *texts) == ["02-17 07:37 /clear"]

    def test_the_question_at_the_end_of_a_long_request_is_a_request(self) -> None:
        """Of a pasted text with a question behind it, both the opening and the question are kept."""
        pasted = "\n".join(f"Line {number} of the log says nothing new." for number in range(12))

        asked = found(Section.ASKED, message("user", f"{pasted}\nWhy does the importer stop here?"))

        assert asked[1] == "02-17 07:37 Why does the importer stop here?"

    def test_what_tools_were_given_and_gave_is_quoted(self) -> None:
        """Longer texts in arguments and results are notes whose speaker is the tool."""
        content = "The importer reads one line at a time and counts the broken ones.\nIt never raises."
        texts = [
            message("assistant", call("Write", file_path="/a.md", content=content)),
            message("tool", "Written."),
            message("assistant", call("Bash", command="wc")),
            message("tool", "3 words here\n4 words there"),
        ]

        entries = extract_messages("\n\n".join(texts)).entries

        assert [(entry.speaker, entry.text) for entry in entries if entry.is_quoted] == [
            ("Write input", "The importer reads one line at a time and counts the broken ones."),
            ("Write input", "It never raises."),
            ("Bash output", "3 words here"),
            ("Bash output", "4 words there"),
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

    def test_the_last_answer_that_says_something_is_the_state(self) -> None:
        """What the assistant said last is the last state, without sentences that say nothing."""
        texts = [
            message("assistant", "Working on it."),
            message("assistant", "You're right! All 17 tests pass now.", minute=40),
            message("assistant", "Excellent point!", minute=41),
        ]

        assert found(Section.LAST, *texts) == ["02-17 07:40 All 17 tests pass now."]

    def test_an_answer_that_says_nothing_is_no_state(self) -> None:
        """A summary without any telling answer leaves the state to the one before."""
        assert found(Section.LAST, message("assistant", "Great!")) == []

    def test_every_sentence_is_noted(self) -> None:
        """All sentences of an answer are candidates, in any language; the first one is worth most."""
        entries = extract_messages(message("assistant", "好的。解析器现在可以处理长行了。其余照旧。")).entries
        noted = [entry for entry in entries if entry.section is Section.NOTED]

        assert [entry.text for entry in noted] == ["好的。", "解析器现在可以处理长行了。", "其余照旧。"]
        assert [entry.worth for entry in noted] == [150, 100, 130]

    def test_repeated_output_is_boilerplate(self) -> None:
        """A quoted line found three times stands once and is worth a third."""
        results = [message("tool", "Saved the list.\nGo on with the next task.") for _ in range(3)]
        entries = extract_messages("\n\n".join(results)).entries

        assert [(entry.text, entry.worth) for entry in entries] == [
            ("Saved the list.", 18),
            ("Go on with the next task.", 18),
        ]

    def test_text_without_headers_is_read_too(self) -> None:
        """A source in no known form still gives a state."""
        assert [entry.section for entry in extract_messages("free text of some length here").entries] == [
            Section.NOTED,
            Section.LAST,
        ]
