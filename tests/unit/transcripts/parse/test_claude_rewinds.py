"""Prompts taken back: what is a fork by the person, and what only looks like one; reading on from a state."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.records import HistoryNeeded, JsonObject, MessageRecord, ParsedItem, Rewind, Thread
from lcm.transcripts.parse.claude import ClaudeParser

THREAD = Thread("session")


def name(number: int) -> str:
    return str(uuid.UUID(int=number))


def record(number: int, parent: int | None, **fields: Any) -> JsonObject:
    parent_id = None if parent is None else name(parent)
    return {"uuid": name(number), "parentUuid": parent_id, "sessionId": "session", "isSidechain": False, **fields}


def prompt(number: int, parent: int | None, content: Any = None) -> JsonObject:
    message = {"role": "user", "content": content or f"prompt {number}"}
    return record(number, parent, type="user", message=message)


def answer(number: int, parent: int | None) -> JsonObject:
    content = [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}]
    return record(number, parent, type="assistant", message={"role": "assistant", "content": content})


def result(number: int, parent: int) -> JsonObject:
    return prompt(number, parent, [{"type": "tool_result", "tool_use_id": f"t{parent}", "content": "x"}])


def progress(number: int, parent: int) -> JsonObject:
    return record(number, parent, type="progress", data={})


def feed(parser: ClaudeParser, records: list[JsonObject]) -> list[ParsedItem]:
    return [item for line, each in enumerate(records) for item in parser.feed(line, each)]


def abandoned(*records: JsonObject) -> list[tuple[int, list[int]]]:
    """Line of each rewind and the numbers of what it abandons."""
    items = feed(ClaudeParser(), list(records))
    rewinds = [item for item in items if isinstance(item, Rewind)]
    assert all(rewind.thread == THREAD for rewind in rewinds)
    return [(rewind.line, [uuid.UUID(each).int for each in rewind.native_uuids]) for rewind in rewinds]


class TestRewind:
    def test_an_edited_prompt_abandons_the_branch_of_the_earlier_one(self) -> None:
        """The earlier prompt and everything below it, through results, but not what stood before."""
        records = [prompt(1, None), answer(2, 1), prompt(3, 2), answer(4, 3), result(5, 4), answer(6, 5), prompt(7, 2)]

        assert abandoned(*records) == [(6, [3, 4, 5, 6])]

    def test_the_branch_goes_through_lines_that_are_no_messages(self) -> None:
        """Progress and system lines carry the chain but are not named."""
        records = [answer(1, None), prompt(2, 1), progress(3, 2), answer(4, 3), prompt(5, 1)]

        assert abandoned(*records) == [(4, [2, 4])]

    def test_it_comes_before_the_new_prompt(self) -> None:
        """A reader knows what is gone when the prompt arrives."""
        items = feed(ClaudeParser(), [answer(1, None), prompt(2, 1), prompt(3, 1)])

        assert isinstance(items[-2], Rewind)
        assert isinstance(items[-1], MessageRecord)

    def test_nested_rewinds_name_all_that_is_below(self) -> None:
        """First the second prompt is edited, then the first: its rewind covers both inner branches."""
        records = [answer(1, None), prompt(2, 1), answer(3, 2), prompt(4, 3), prompt(5, 3), prompt(6, 1)]

        assert abandoned(*records) == [(4, [4]), (5, [2, 3, 4, 5])]

    def test_a_prompt_edited_twice(self) -> None:
        """The third version abandons the second; the first is named again, harmlessly."""
        assert abandoned(answer(1, None), prompt(2, 1), prompt(3, 1), prompt(4, 1)) == [(2, [2]), (3, [2, 3])]

    def test_upper_case_ids_are_the_same_ids(self) -> None:
        """Ids are compared and named in one spelling."""
        first, second = prompt(0xAB, 1), prompt(3, 1)
        first["uuid"] = first["uuid"].upper()

        assert abandoned(answer(1, None), first, second) == [(2, [0xAB])]


class TestNoRewind:
    def test_parallel_results_are_no_fork(self) -> None:
        """Two results, or a result and a prompt, below one call."""
        assert abandoned(answer(1, None), result(2, 1), result(3, 1), prompt(4, 1)) == []

    def test_roots_are_no_fork(self) -> None:
        """A session can start anew: clearing, compaction."""
        assert abandoned(prompt(1, None), answer(2, 1), prompt(3, None)) == []

    def test_a_second_copy_of_a_line_is_no_fork(self) -> None:
        """It is yielded again as a message and changes no chain."""
        records = [answer(1, None), prompt(2, 1), prompt(2, 1), prompt(2, None)]

        assert abandoned(*records) == []
        assert sum(isinstance(item, MessageRecord) for item in feed(ClaudeParser(), records)) == 4

    def test_echoes_and_markers_are_no_fork(self) -> None:
        """Nobody typed them."""
        marker = prompt(3, 1, "[Request interrupted by user]")

        assert abandoned(answer(1, None), prompt(2, 1), marker, prompt(4, 3)) == []

    def test_a_queued_prompt_and_its_copy_are_no_fork(self) -> None:
        """The second copy is a duplicate, not an edit."""
        attachment = {"type": "queued_command", "prompt": "also"}
        records = [answer(1, None), record(2, 1, type="attachment", attachment=attachment), prompt(3, 1, "also")]

        assert abandoned(*records) == []

    def test_sidechains_are_no_fork(self) -> None:
        """A model writes the tasks of its subagents."""
        tasks = [{**prompt(number, 1), "isSidechain": True, "agentId": "a1"} for number in (2, 3)]

        assert abandoned(answer(1, None), *tasks) == []

    def test_repeated_placeholder_ids_do_no_harm(self) -> None:
        """Lines that are their own parents end the search and give nothing to name."""
        placeholder = {**prompt(1, None), "uuid": "[trimmed]", "parentUuid": "[trimmed]"}

        assert abandoned(placeholder, placeholder, {**placeholder, "uuid": "u2"}) == []

    def test_a_copy_that_knows_its_parent_completes_the_chain(self) -> None:
        """Of two copies of a line the parent that is not null counts."""
        records = [answer(1, None), prompt(2, None), prompt(2, 1), answer(3, 2), prompt(4, 1)]

        assert abandoned(*records) == [(4, [2, 3])]


class TestResume:
    def resumed(self, *before: JsonObject) -> ClaudeParser:
        parser = ClaudeParser()
        feed(parser, list(before))
        return ClaudeParser(json.loads(json.dumps(parser.state())))

    def test_a_prompt_after_the_last_line_needs_no_history(self) -> None:
        """The usual case: the conversation just went on."""
        items = feed(self.resumed(prompt(1, None), answer(2, 1)), [prompt(3, 2), answer(4, 3), prompt(5, 4)])

        assert [type(item) for item in items] == [MessageRecord] * 3

    def test_a_prompt_below_an_older_line_needs_history(self) -> None:
        """It may take back what was read before."""
        items = feed(self.resumed(prompt(1, None), answer(2, 1), prompt(3, 2)), [prompt(4, 2)])

        assert items == [HistoryNeeded(0)]

    def test_a_fork_after_the_state_is_seen(self) -> None:
        """Both siblings came since."""
        items = feed(self.resumed(answer(1, None)), [prompt(2, 1), prompt(3, 1)])

        assert [type(item) for item in items] == [MessageRecord, Rewind, MessageRecord]

    def test_roots_need_no_history(self) -> None:
        """A cleared or compacted session starts anew."""
        assert isinstance(feed(self.resumed(prompt(1, None)), [prompt(2, None)])[0], MessageRecord)

    def test_the_state_stays_small(self) -> None:
        """Ten thousand lines, a third of them inline sidechains, leave less than 64 KB of state."""
        parser = ClaudeParser()
        for number in range(10_000):
            side = {"isSidechain": True} if number % 3 == 0 else {}
            list(parser.feed(number, {**prompt(number, None), "cwd": "/x", **side}))

        assert len(json.dumps(parser.state())) < 64_000


@dataclass(frozen=True)
class Step:
    """One generated line: its kind, how far back its parent is (0: none), and what else varies."""

    kind: str
    back: int
    number: int


_KINDS = [
    "prompt",
    "again",
    "queued",
    "enqueue",
    "answer",
    "task",
    "result",
    "side",
    "progress",
    "copy",
    "title",
    "bare",
]
_STEPS = st.lists(st.builds(Step, st.sampled_from(_KINDS), st.integers(0, 4), st.integers(0, 3)), max_size=14)


def transcript(steps: list[Step]) -> list[JsonObject]:
    """A small transcript: every step one line, chained to a line some steps back on its own side."""
    records: list[JsonObject] = []
    for number, step in enumerate(steps, start=1):
        is_side = step.kind == "side"
        earlier = [each for each in records if each.get("uuid") and each.get("isSidechain") is is_side]
        parent = earlier[-step.back]["uuid"] if 0 < step.back <= len(earlier) else None
        records.append(records[-1] if step.kind == "copy" and records else line_of(step, number, parent))
    return records


def line_of(step: Step, number: int, parent: str | None) -> JsonObject:
    base = {**prompt(number, None), "parentUuid": parent, "cwd": f"/{step.number}", "sessionId": f"s{step.number % 2}"}
    task = {"type": "tool_use", "id": f"t{step.number}", "name": "Task", "input": {"prompt": f"do {step.number}"}}
    outcome = {"type": "tool_result", "tool_use_id": f"t{step.number}", "content": "x"}
    said = {"role": "user", "content": f"do {step.number}"}
    variants: dict[str, JsonObject] = {
        "again": {"message": said},
        "side": {"message": said, "isSidechain": True},
        "queued": {"type": "attachment", "attachment": {"type": "queued_command", "prompt": f"do {step.number}"}},
        "enqueue": {"type": "queue-operation", "operation": "enqueue", "content": f"do {step.number}", "uuid": None},
        "answer": {"type": "assistant", "message": {"role": "assistant", "content": "fine"}},
        "task": {"type": "assistant", "message": {"role": "assistant", "content": [task]}},
        "result": {"message": {"role": "user", "content": [outcome]}},
        "progress": {"type": "progress"},
        "title": {"type": "ai-title", "aiTitle": f"Title {step.number}", "uuid": None},
        "bare": {"sessionId": None, "uuid": None},
    }
    return {**base, **variants.get(step.kind, {})}


class TestReadingOn:
    @given(steps=_STEPS, cut=st.integers(0, 14))
    def test_state_and_rest_equal_the_whole_or_ask_for_history(self, steps: list[Step], cut: int) -> None:
        """A parser made from the state after any line yields the same items, until it asks for the file's start."""
        records = transcript(steps)
        whole, first = ClaudeParser(), ClaudeParser()
        feed(first, records[:cut])
        feed(whole, records[:cut])
        resumed = ClaudeParser(json.loads(json.dumps(first.state(), sort_keys=True)))

        for line, each in enumerate(records[cut:], start=cut):
            items = list(resumed.feed(line, each))
            if items == [HistoryNeeded(line)]:
                return
            assert items == list(whole.feed(line, each))
