"""Transcripts as no client writes them: records of both clients mutated by structure and by byte, from a fixed seed."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.engine.long_sessions import session_records

Record = dict[str, Any]

#: Values that parsers do not expect where they find them.
_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**70,
    1e308,
    "",
    " ",
    "x",
    "\0",
    "\ud800",
    "\U0001f600 検索",
    "x" * 5000,
    "2026-99-99T99:99:99Z",
    "../../etc/passwd",
    [],
    {},
    [[[]]],
    [None, 3, {"type": "text"}],
    {"type": "tool_use"},
    {"type": "tool_result", "tool_use_id": 7, "content": {"a": [1]}},
    {"text": {"text": 1}},
)
_KEYS = ("type", "uuid", "parentUuid", "sessionId", "message", "content", "timestamp", "payload", "isSidechain", "role")
_BAD_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r",
    b"\n",
    b'"',
    b"\\",
    b"[" * 3000,
    b"9" * 6000,
    b"\xef\xbb\xbf",
)


def codex_records() -> list[Record]:
    """A short Codex session with every common kind of item."""
    items: list[Record] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the parser."}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look first."}], "encrypted_content": "x"},
        {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "call_1"},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": '{"output": "a.py", "metadata": {"exit_code": 0}}',
        },
        {
            "type": "local_shell_call",
            "call_id": "call_2",
            "status": "completed",
            "action": {"type": "exec", "command": ["pwd"]},
        },
        {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "call_3"},
        {"type": "custom_tool_call_output", "call_id": "call_3", "output": "Done"},
        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "sqlite"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    meta = {"id": "0190aaaa-0000-7000-8000-00000000c0de", "cwd": "/home/user/project", "originator": "codex_cli_rs"}
    lines = [("session_meta", meta), *(("response_item", item) for item in items)]
    lines.append(("event_msg", {"type": "token_count", "info": None}))
    return [
        {"timestamp": f"2026-02-17T07:37:{second:02}.000Z", "type": kind, "payload": payload}
        for second, (kind, payload) in enumerate(lines)
    ]


def seeds(corpus: Path | None = None) -> list[Record]:
    """What is mutated: generated records of both clients, and the real ones where they are at hand."""
    found = [*session_records(120), *codex_records() * 4]
    for path in sorted(corpus.rglob("*.jsonl")) if corpus is not None else ():
        found += list(_records_of(path))[:200]
    return found


def _records_of(path: Path) -> Iterator[Record]:
    for line in path.read_bytes().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and len(line) < 20_000:
            yield value


@dataclass
class Fuzzer:
    """An endless source of lines; the same seed gives the same lines."""

    records: Sequence[Record]
    chance: Random
    _written: list[bytes] = field(default_factory=list)

    def lines(self, count: int) -> bytes:
        """So many physical lines at least, as one file."""
        return b"".join(self._line() for _ in range(count))

    def _line(self) -> bytes:
        roll = self.chance.random()
        if roll < 0.03 and self._written:
            return self.chance.choice(self._written[-50:])
        record = self._renamed(self.chance.choice(self.records))
        if roll > 0.25:
            record = self._mutated(record)
        line = json.dumps(record, ensure_ascii=self.chance.random() < 0.5).encode("utf-8", "surrogatepass") + b"\n"
        if self.chance.random() < 0.1:
            line = self._torn(line)
        self._written.append(line)
        return line

    def _renamed(self, record: Record) -> Record:
        """Mostly a record of its own: another id and another second, as a longer session would have them."""
        if self.chance.random() < 0.3:
            return record
        day, hour = self.chance.randint(1, 28), self.chance.randint(0, 23)
        moment = f"2026-02-{day:02}T{hour:02}:37:00.{len(self._written) % 1_000_000:06}Z"
        own_id = {"uuid": str(uuid.UUID(int=self.chance.getrandbits(128), version=4))} if "uuid" in record else {}
        return {**record, **own_id, "timestamp": moment}

    def _mutated(self, record: Record) -> Record:
        mutated = copy.deepcopy(record)
        for _ in range(self.chance.choice((1, 1, 1, 2, 3, 8))):
            self.chance.choice(self._mutations())(mutated)
        return mutated

    def _mutations(self) -> tuple[Callable[[Record], None], ...]:
        return (self._replace, self._replace, self._remove, self._add, self._graft, self._repeat)

    def _replace(self, record: Record) -> None:
        container, key = self._place(record)
        if key is not None:
            container[key] = copy.deepcopy(self.chance.choice(_ODD))

    def _remove(self, record: Record) -> None:
        container, key = self._place(record)
        if key is not None:
            del container[key]

    def _add(self, record: Record) -> None:
        record[self.chance.choice(_KEYS)] = copy.deepcopy(self.chance.choice(_ODD))

    def _graft(self, record: Record) -> None:
        """A piece of another record where it does not belong."""
        container, key = self._place(record)
        donor, name = self._place(self.chance.choice(self.records))
        if key is not None and name is not None:
            container[key] = copy.deepcopy(donor[name])

    def _repeat(self, record: Record) -> None:
        """A list with its elements twice, or a value wrapped in a list."""
        container, key = self._place(record)
        if key is not None:
            value = container[key]
            container[key] = value + copy.deepcopy(value) if isinstance(value, list) else [value]

    def _place(self, record: Record) -> tuple[Any, Any]:
        """A container somewhere inside the record, and one of its keys; None when it is empty."""
        container: Any = record
        while True:
            keys: Sequence[Any] = list(container) if isinstance(container, dict) else range(len(container))
            if not keys:
                return container, None
            key = self.chance.choice(keys)
            if not isinstance(container[key], dict | list) or self.chance.random() < 0.4:
                return container, key
            container = container[key]

    def _torn(self, line: bytes) -> bytes:
        at = self.chance.randrange(len(line))
        match self.chance.randrange(4):
            case 0:
                return line[:at]
            case 1:
                return line[:at] + self.chance.choice(_BAD_BYTES) + line[at:]
            case 2:
                return line[:at] + bytes([self.chance.randrange(256)]) + line[at + 1 :]
        return line.rstrip(b"\n") + line
