"""LoCoMo: ten long dialogues of two people, and questions with the turns that hold the answer."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_NAME = re.compile(r"D:?(\d+):(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one person said; `name` is (session, turn), both from 1."""

    name: tuple[int, int]
    is_first_speaker: bool
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it, all of which exist."""

    text: str
    category: str
    evidence: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The sessions of two people by number, and what is asked about them."""

    name: str
    sessions: dict[int, tuple[Turn, ...]]
    questions: tuple[Question, ...]

    @property
    def root(self) -> str:
        """The folder that stands for the dialogue's project."""
        return f"/locomo/{self.name}"

    def session_id(self, session: int) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.root}/{session}"))


def read_dialogues(path: Path) -> list[Dialogue]:
    """In the order of the file; questions without any evidence that exists are left out."""
    return [_dialogue(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def write_transcripts(dialogue: Dialogue, folder: Path) -> list[Path]:
    """One Claude Code transcript for each session: the first speaker as the user, the other as the assistant."""
    folder.mkdir(parents=True)
    paths = []
    for number, turns in dialogue.sessions.items():
        path = folder / f"{dialogue.session_id(number)}.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in _records(dialogue, number, turns)), "utf-8")
        paths.append(path)
    return paths


def _dialogue(sample: dict[str, Any]) -> Dialogue:
    conversation = sample["conversation"]
    numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
    sessions = {number: tuple(_turns(conversation, number)) for number in numbers}
    existing = {turn.name for turns in sessions.values() for turn in turns}
    questions = (_question(each, existing) for each in sample["qa"])
    return Dialogue(sample["sample_id"], sessions, tuple(each for each in questions if each.evidence))


def _turns(conversation: dict[str, Any], session: int) -> Iterator[Turn]:
    start = datetime.strptime(conversation[f"session_{session}_date_time"], _TIME).replace(tzinfo=UTC)
    for number, turn in enumerate(conversation[f"session_{session}"], 1):
        picture = f" [picture: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        yield Turn(
            (session, number),
            turn["speaker"] == conversation["speaker_a"],
            f"{turn['speaker']}: {turn['text']}{picture}",
            start + timedelta(seconds=20 * number),
        )


def _question(asked: dict[str, Any], existing: set[tuple[int, int]]) -> Question:
    named = {(int(session), int(turn)) for text in asked["evidence"] for session, turn in _NAME.findall(text)}
    return Question(asked["question"], CATEGORIES[asked["category"]], frozenset(named & existing))


def _records(dialogue: Dialogue, session: int, turns: tuple[Turn, ...]) -> Iterator[dict[str, Any]]:
    session_id, last = dialogue.session_id(session), None
    for turn in turns:
        own = str(uuid.uuid5(uuid.UUID(session_id), str(turn.name)))
        kind = "user" if turn.is_first_speaker else "assistant"
        yield {
            "type": kind,
            "uuid": own,
            "parentUuid": last,
            "sessionId": session_id,
            "cwd": dialogue.root,
            "timestamp": turn.at.isoformat().replace("+00:00", "Z"),
            "isSidechain": False,
            "message": {"role": kind, "content": [{"type": "text", "text": turn.text}]},
        }
        last = own
