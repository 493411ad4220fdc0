"""Generated transcripts of long coding sessions: parallel tool calls, CJK, long outputs; the same every time."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SESSION_ID = "5e551011-0000-4000-8000-000000000001"
_START = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)
_WORDS = ("parser", "ledger", "window", "budget", "branch", "token", "summary", "schema", "failing", "retry", "queue")
_CJK = "検索の結果を要約する。予算は二千トークンまで。다음 단계를 확인했다。数据库已经迁移完成。"

JsonRecord = dict[str, Any]


@dataclass
class _Transcript:
    """Records of one Claude Code session, each the child of the one before."""

    session_id: str
    seed: int
    cwd: str
    records: list[JsonRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def add(self, kind: str, content: Any, **message: Any) -> None:
        number = len(self.records)
        self.records.append(
            {
                "type": kind,
                "uuid": str(uuid.UUID(int=self.chance.getrandbits(128), version=4)),
                "parentUuid": self.records[-1]["uuid"] if self.records else None,
                "sessionId": self.session_id,
                "cwd": self.cwd,
                "timestamp": (_START + timedelta(seconds=20 * number)).isoformat(),
                "isSidechain": False,
                "message": {"role": kind, "content": content, **message},
            }
        )

    def text(self, words: int) -> str:
        if self.chance.random() < 0.1:
            return _CJK * max(1, words // 20)
        return " ".join(self.chance.choice(_WORDS) for _ in range(words))

    def add_turn(self) -> None:
        """A prompt, steps of one to three parallel calls with their results, and an answer."""
        self.add("user", self.text(self.chance.randint(5, 60)))
        for _ in range(self.chance.randint(1, 4)):
            self._add_step()
        api_id = f"msg_{len(self.records)}"
        self.add("assistant", [{"type": "text", "text": self.text(self.chance.randint(20, 120))}], id=api_id)

    def _add_step(self) -> None:
        api_id = f"msg_{len(self.records)}"
        if self.chance.random() < 0.5:
            self.add("assistant", [{"type": "text", "text": self.text(15)}], id=api_id)
        calls = [f"toolu_{self.seed}_{len(self.records)}_{n}" for n in range(self.chance.choice((1, 1, 1, 2, 3)))]
        for call_id in calls:
            command = {"command": f"grep -n {self.chance.choice(_WORDS)} src/{self.chance.choice(_WORDS)}.py"}
            self.add("assistant", [{"type": "tool_use", "id": call_id, "name": "Bash", "input": command}], id=api_id)
        self.chance.shuffle(calls)
        for call_id in calls:
            self.add("user", [{"type": "tool_result", "tool_use_id": call_id, "content": self._output()}])

    def _output(self) -> str:
        """Mostly short, now and then a long listing, rarely one larger than a whole leaf chunk."""
        lines = self.chance.choice((1, 3, 5, 8, 40)) if self.chance.random() < 0.99 else 600
        return "\n".join(f"{n}: {self.text(8)}" for n in range(lines))


def session_records(
    count: int, *, seed: int = 7, session_id: str = SESSION_ID, cwd: str = "/home/user/project"
) -> list[JsonRecord]:
    """Exactly `count` records; the last turn may be cut short."""
    transcript = _Transcript(session_id, seed, cwd)
    while len(transcript.records) < count:
        transcript.add_turn()
    return transcript.records[:count]


def records_of(
    *turns: tuple[str, Any], session_id: str = SESSION_ID, cwd: str = "/home/user/project"
) -> list[JsonRecord]:
    """Literal records as (user or assistant, content), in this order."""
    transcript = _Transcript(session_id, 1, cwd)
    for kind, content in turns:
        transcript.add(kind, content, **({"id": f"msg_{len(transcript.records)}"} if kind == "assistant" else {}))
    return transcript.records


def write_transcript(path: Path, records: list[JsonRecord]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_lines(records)), encoding="utf-8")
    return path


def append_transcript(path: Path, records: list[JsonRecord]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(_lines(records))


def _lines(records: list[JsonRecord]) -> Iterator[str]:
    return (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
