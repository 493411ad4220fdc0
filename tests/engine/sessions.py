"""Made-up Claude Code sessions: single records for hand-written files, and whole files drawn by hypothesis."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Record = dict[str, Any]

SESSION = "11111111-2222-4333-8444-555555555555"
CWD = "/home/user/project"
_START = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)


def name(number: int) -> str:
    return str(uuid.UUID(int=number))


def at(number: int) -> str:
    return (_START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")


def record(number: int, role: str, content: Any, **fields: Any) -> Record:
    """A turn whose parent is the record numbered one below, and whose time is `number` seconds after the start."""
    return {
        "type": role,
        "uuid": name(number),
        "parentUuid": name(number - 1) if number > 1 else None,
        "sessionId": SESSION,
        "cwd": CWD,
        "timestamp": at(number),
        "isSidechain": False,
        "message": {"role": role, "content": content},
        **fields,
    }


def user(number: int, content: Any = None, **fields: Any) -> Record:
    return record(number, "user", content or f"prompt {number}", **fields)


def assistant(number: int, content: Any = None, **fields: Any) -> Record:
    return record(number, "assistant", [{"type": "text", "text": content or f"answer {number}"}], **fields)


def call(number: int, call_id: str, tool: str = "Read", **arguments: Any) -> Record:
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
    return record(number, "assistant", [block])


def result(number: int, call_id: str, output: str = "done", **fields: Any) -> Record:
    return record(number, "user", [{"type": "tool_result", "tool_use_id": call_id, "content": output}], **fields)


def dialogue(count: int, first: int = 1, **fields: Any) -> list[Record]:
    """Prompts and answers in turn, numbered from `first`."""
    numbers = range(first, first + count)
    return [(user if number % 2 else assistant)(number, **fields) for number in numbers]


def to_bytes(*records: Record | bytes) -> bytes:
    """One line each; bytes are lines as they stand."""
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in records]
    return b"".join(line + b"\n" for line in lines)


def write(path: Path, *records: Record | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_bytes(*records))
    return path


class Script:
    """A session as it is written, step by step; every step may use what came before."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._number = 0
        self._last: str | None = None
        self._prompts: list[str | None] = []
        self._queue: list[str] = []

    def text(self, which: int) -> str:
        """Few different texts, so that equal ones occur."""
        return ("go on", "again", "yes — 好", "look at /tmp/x")[which % 4]

    def add(self, kind: str, message: Record | None = None, **fields: Any) -> str:
        self._number += 1
        own = name(self._number)
        line: Record = {
            "type": kind,
            "uuid": own,
            "parentUuid": self._last,
            "sessionId": SESSION,
            "cwd": CWD,
            "timestamp": at(self._number // 2),
            "isSidechain": False,
            **({"message": message} if message else {}),
            **fields,
        }
        line = {key: value for key, value in line.items() if value is not ...}
        self.lines.append(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        if line.get("uuid") and not line.get("isSidechain"):
            self._last = own
        return own

    def state(self, kind: str, **fields: Any) -> None:
        """A line that is not part of the chain."""
        self._number += 1
        line = {"type": kind, "sessionId": SESSION, "timestamp": at(self._number // 2), **fields}
        self.lines.append(json.dumps(line).encode() + b"\n")

    # Steps

    def prompt(self, which: int) -> None:
        self._prompts.append(self._last)
        self.add("user", {"role": "user", "content": self.text(which)})

    def rewind(self, which: int) -> None:
        if self._prompts:
            parent = self._prompts[which % len(self._prompts)]
            self.add("user", {"role": "user", "content": f"instead {which}"}, parentUuid=parent)

    def answer(self, which: int) -> None:
        """Thinking and text of one API message on lines of their own."""
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": self.text(which)}]
        api_id = f"msg_{self._number}"
        for block in blocks[which % 2 :]:
            self.add("assistant", {"role": "assistant", "id": api_id, "content": [block]})

    def tools(self, which: int) -> None:
        """One to three parallel calls; results in another order, each below its own call."""
        api_id = f"msg_{self._number}"
        calls = []
        for place in range(1 + which % 3):
            call_id = f"toolu_{self._number}_{place}"
            block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": f"ls {place}"}}
            calls.append((call_id, self.add("assistant", {"role": "assistant", "id": api_id, "content": [block]})))
        for call_id, parent in calls[:: 1 if which % 2 else -1]:
            content = [{"type": "tool_result", "tool_use_id": call_id, "content": self.text(which)}]
            self.add("user", {"role": "user", "content": content}, parentUuid=parent)

    def sidechain(self, which: int) -> None:
        """A subagent inside the file, started by a call with the same prompt."""
        call_id, task = f"toolu_task_{self._number}", f"task {which}"
        block = {"type": "tool_use", "id": call_id, "name": "Task", "input": {"prompt": task}}
        self.add("assistant", {"role": "assistant", "content": [block]})
        parent = self.add("user", {"role": "user", "content": task}, isSidechain=True, parentUuid=None)
        for place in range(which % 3):
            said = [{"type": "text", "text": f"step {place}"}]
            parent = self.add("assistant", {"role": "assistant", "content": said}, isSidechain=True, parentUuid=parent)
        content = [{"type": "tool_result", "tool_use_id": call_id, "content": "done"}]
        self.add("user", {"role": "user", "content": content})

    def queued(self, which: int) -> None:
        """A text typed while the agent worked, and one of the ways it can go."""
        text = self.text(which)
        self.state("queue-operation", operation="enqueue", content=text)
        self._queue.append(text)

    def unqueued(self, which: int) -> None:
        operation = ("remove", "dequeue", "popAll", "remove")[which % 4]
        if self._queue and which % 3 == 0:
            attachment = {"type": "queued_command", "prompt": self._queue[0]}
            self.add("attachment", attachment=attachment)
        self.state("queue-operation", operation=operation)
        if self._queue and operation == "dequeue":
            self.add("user", {"role": "user", "content": self._queue[0]})
        self._queue = [] if operation == "popAll" else self._queue[1:]

    def meta(self, which: int) -> None:
        self.add("user", {"role": "user", "content": "injected"}, isMeta=True)

    def boundary(self, which: int) -> None:
        self.add("system", subtype="compact_boundary", content="Conversation compacted", parentUuid=None)
        self.add("user", {"role": "user", "content": "This session is being continued"}, isCompactSummary=True)

    def bare(self, which: int) -> None:
        """Without uuid; without time too every second time."""
        timestamp: Any = at(self._number // 4) if which % 2 else ...
        self.add("user", {"role": "user", "content": self.text(which // 2)}, uuid=..., timestamp=timestamp)

    def copy(self, which: int) -> None:
        """A line written twice at once."""
        if self.lines:
            self.lines.append(self.lines[-1])

    def other(self, which: int) -> None:
        """What is no message: state, progress in the chain, a blank line, a damaged one."""
        match which % 4:
            case 0:
                self.state("custom-title", customTitle=f"title {which}")
            case 1:
                self.add("progress", data={"type": "hook_progress"})
            case 2:
                self.lines.append(b"\n")
            case _:
                self.lines.append(b'{"type": "user", \n')


_STEPS: dict[str, Callable[[Script, int], None]] = {
    "prompt": Script.prompt,
    "answer": Script.answer,
    "tools": Script.tools,
    "rewind": Script.rewind,
    "sidechain": Script.sidechain,
    "queued": Script.queued,
    "unqueued": Script.unqueued,
    "meta": Script.meta,
    "boundary": Script.boundary,
    "bare": Script.bare,
    "copy": Script.copy,
    "other": Script.other,
}


def _written(steps: list[tuple[str, int]]) -> bytes:
    script = Script()
    script.prompt(0)
    for step, which in steps:
        _STEPS[step](script, which)
    return b"".join(script.lines)


#: A session with a step of every kind.
EVERY_STEP = _written(
    [
        ("tools", 2),
        ("queued", 1),
        ("answer", 0),
        ("unqueued", 0),
        ("queued", 2),
        ("tools", 1),
        ("unqueued", 7),
        ("sidechain", 2),
        ("bare", 2),
        ("bare", 2),
        ("bare", 1),
        ("meta", 0),
        ("prompt", 1),
        ("answer", 1),
        ("rewind", 1),
        ("copy", 0),
        ("queued", 3),
        ("unqueued", 1),
        ("boundary", 0),
        ("prompt", 2),
        ("rewind", 2),
        ("other", 0),
        ("bare", 2),
    ]
)
#: The bytes of a file.
session_files = st.lists(st.tuples(st.sampled_from(sorted(_STEPS)), st.integers(0, 11)), min_size=1, max_size=25).map(
    _written
)
