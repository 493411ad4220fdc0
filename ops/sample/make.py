"""Writes the sample session as Claude Code keeps its sessions: one file, and one of its subagent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sample.material import make_material, make_picture, make_secrets
from sample.records import AGENT_ID, Record, Recording, record_story
from sample.screenplay import read_screenplay

_STORY = Path(__file__).with_name("story.txt")
_GAP = re.compile(r"^( *)\{\{([a-z ]+)\}\}$", re.MULTILINE)
#: The name that the client gives to the folder of a project.
_FOLDER = "-home-dana-harbor-api"


@dataclass(frozen=True, slots=True)
class Sample:
    """What was written, and what a reader must find in it.

    Attributes:
        records: JSON lines in both files. messages: those that carry what was said, the subagent's included.
        left_out: messages that belong to no context: taken back by an edited prompt, or the client's own summary.
        secrets: what must never be stored, by name.
    """

    session_file: Path
    records: int
    messages: int
    left_out: int
    secrets: dict[str, str]


def make_sample(claude_dir: Path, *, cwd: str) -> Sample:
    """Write the session below `claude_dir`, as one that worked in the folder `cwd`."""
    recording = record_story(read_screenplay(_filled(_STORY.read_text("utf-8"))), cwd=cwd, picture=make_picture())
    folder = claude_dir / "projects" / _FOLDER
    session_file = folder / f"{recording.session_id}.jsonl"
    agent_file = folder / recording.session_id / "subagents" / f"agent-{AGENT_ID}.jsonl"
    _write(session_file, recording.main.records)
    _write(agent_file, recording.agent.records)
    _write(agent_file.with_suffix(".meta.json"), [_meta(recording)])
    return Sample(
        session_file=session_file,
        records=len(recording.main.records) + len(recording.agent.records),
        messages=recording.messages,
        left_out=recording.left_out,
        secrets=make_secrets(),
    )


def _filled(story: str) -> str:
    material = make_material()

    def fill(gap: re.Match[str]) -> str:
        if gap[2] == "picture":
            return gap[1]
        return "\n".join(gap[1] + line for line in material[gap[2]].split("\n"))

    return _GAP.sub(fill, story)


def _meta(recording: Recording) -> Record:
    calls = (block for record in recording.main.records for block in _blocks(record))
    call = next(block for block in calls if block.get("name") == "Agent")
    description = call["input"]["description"]
    return {"agentType": "general-purpose", "description": description, "toolUseId": call["id"], "spawnDepth": 1}


def _blocks(record: Record) -> list[Record]:
    content = record.get("message", {}).get("content", [])
    return content if isinstance(content, list) else []


def _write(path: Path, records: Iterable[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
