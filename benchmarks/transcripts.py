"""Made-up transcripts of Claude Code: long texts, one message in three with a tool call and the next with its result.

Turns are of three records: a prompt, an answer that calls a tool, the tool's result. A record's content is about 780
bytes on average, its line about 1,285.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.zipf import Words

CWD = "/home/user/project"
_START = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)
_MARK = "the huge text"
_USAGE = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 1_432,
    "cache_read_input_tokens": 48_211,
    "output_tokens": 311,
}

Record = dict[str, Any]


class Session:
    """One session; its records are the same for the same seed, and go on where they ended."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._words = Words(seed)
        self._seed = seed
        self._count = 0
        self._last: str | None = None
        self._call = ""
        self.session_id = self._uuid()

    def lines(self, count: int) -> Iterator[str]:
        """The next records as lines of JSON."""
        for _ in range(count):
            yield json.dumps(self._next(), ensure_ascii=False, separators=(",", ":")) + "\n"

    def _next(self) -> Record:
        match self._count % 3:
            case 0:
                return self._record("user", self._text())
            case 1:
                return self._record("assistant", self._call_blocks(), requestId=f"req_{self._count:024d}")
            case _:
                result = {"tool_use_id": self._call, "type": "tool_result", "content": self._text()}
                return self._record("user", [result], toolUseResult={"interrupted": False})

    def _record(self, kind: str, content: object, **fields: object) -> Record:
        message: Record = {"role": kind, "content": content}
        if kind == "assistant":
            name = f"msg_{self._seed:012d}{self._count:012d}"
            message = {"id": name, "type": "message", "model": "claude-opus-4-5-20251101", **message, "usage": _USAGE}
        own, at = self._uuid(), _START + timedelta(hours=self._seed % 5_000, seconds=20 * self._count)
        record = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": CWD,
            "sessionId": self.session_id,
            "version": "2.1.20",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": own,
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **fields,
        }
        self._last = own
        self._count += 1
        return record

    def _call_blocks(self) -> list[Record]:
        self._call = f"toolu_{self._seed:012d}{self._count:012d}"
        arguments = {"command": f"rg -n {self._words.text(2)} src", "description": self._words.text(6)}
        call = {"type": "tool_use", "id": self._call, "name": "Bash", "input": arguments}
        return [{"type": "text", "text": self._text(least=10, most=226)}, call]

    def _text(self, *, least: int = 20, most: int = 247) -> str:
        return self._words.text(self._chance.randint(least, most))

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))


def write_sessions(folder: Path, messages: int, per_session: int, *, seed: int = 1) -> None:
    """A corpus: sessions of `per_session` messages in files of their own; the last one may be shorter."""
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, messages, per_session)):
        session = Session(seed * 100_000 + number)
        with (folder / f"{session.session_id}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(session.lines(min(per_session, messages - start)))


def write_huge_line(path: Path, size_bytes: int, *, seed: int = 9) -> None:
    """A session whose one prompt is an ASCII text of about this many bytes.

    Written piece by piece: who measures memory afterwards must not have held it.
    """
    [line] = Session(seed).lines(1)
    record = json.loads(line)
    record["message"]["content"] = _MARK
    before, after = json.dumps(record).split(_MARK)
    words = Words(seed)
    with path.open("w", encoding="utf-8") as file:
        file.write(before)
        while file.tell() < size_bytes:
            file.write(json.dumps(words.text(2_000) + " ")[1:-1])
        file.write(after + "\n")


def size_bytes(folder: Path) -> int:
    """Bytes of all transcripts of a corpus."""
    return sum(path.stat().st_size for path in folder.glob("*.jsonl"))
