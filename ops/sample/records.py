"""Turns the story's beats into the records that Claude Code 2.1 would have written, line by line."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sample.screenplay import Beat, Scene, Speech, ToolUse, Turn

Record = dict[str, Any]

AGENT_ID = "a7c41d09e2b6f3580"
_NAMES = uuid.UUID("6f1d2c1e-6f0b-4b0e-9f57-0c6a1b7f2d11")
_VERSION = "2.1.332"
_MODEL = "claude-sample-1"
_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "STOP what you are doing and wait for the user to tell you how to proceed."
)


@dataclass(slots=True)
class Chain:
    """The records of one file; `parent` is what the next one follows on."""

    is_agent: bool = False
    records: list[Record] = field(default_factory=list)
    parent: str | None = None
    api_message_id: str | None = None


@dataclass(slots=True)
class Recording:
    """Both files while they grow, and what a reader of them must arrive at."""

    cwd: str
    picture: bytes
    session_id: str = str(uuid.uuid5(_NAMES, "session"))
    main: Chain = field(default_factory=Chain)
    agent: Chain = field(default_factory=lambda: Chain(is_agent=True))
    messages: int = 0
    left_out: int = 0
    now: datetime = datetime(2026, 3, 9, tzinfo=UTC)
    branch: str = "main"
    prompt_parent: str | None = None
    prompt_at: int = 0
    agent_call: str | None = None
    drawn: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311 - the pace of a story

    @property
    def title(self) -> Record:
        return {"type": "ai-title", "sessionId": self.session_id, "aiTitle": "Flaky webhook test, then a queue"}


def record_story(beats: Iterable[Beat], *, cwd: str, picture: bytes) -> Recording:
    """All records of the story; the same for the same `cwd`."""
    recording = Recording(cwd, picture)
    recording.main.records.append(recording.title)
    for beat in beats:
        _close_agent(recording, beat)
        match beat:
            case Scene():
                recording.now, recording.branch = beat.at, beat.branch
            case Speech():
                _speak(recording, beat)
            case ToolUse():
                _use_tool(recording, beat)
    return recording


def _speak(recording: Recording, speech: Speech) -> None:
    chain = recording.agent if speech.of_agent else recording.main
    match speech.who:
        case "you":
            _prompt(recording, speech)
        case "claude":
            _answer(recording, chain, {"type": "text", "text": speech.text})
        case "think":
            signature = base64.b64encode(speech.text[:24].encode()).decode()
            _answer(recording, chain, {"type": "thinking", "thinking": speech.text, "signature": signature})
        case "interrupt":
            _hear(recording, chain, [{"type": "text", "text": f"[Request interrupted by user {speech.text}]"}])
        case "compact":
            _compact(recording, speech.text)


def _prompt(recording: Recording, speech: Speech) -> None:
    """A typed prompt; an edited one has the parent of the prompt that it replaces."""
    main = recording.main
    if speech.turn is Turn.AGAIN:
        main.parent = recording.prompt_parent
        recording.left_out += recording.messages - recording.prompt_at
    else:
        _end_turn(recording)
    recording.prompt_parent, recording.prompt_at = main.parent, recording.messages
    _hear(recording, main, speech.text, promptSource="typed", permissionMode="default")
    snapshot: Record = {"messageId": main.parent, "trackedFileBackups": {}, "timestamp": _stamp(recording)}
    main.records.append({"type": "file-history-snapshot", "messageId": main.parent, "snapshot": snapshot})


def _end_turn(recording: Recording) -> None:
    """What the client notes when it is the person's turn again."""
    if recording.messages:
        note = {"type": "system", "subtype": "turn_duration", "durationMs": recording.drawn.randrange(4_000, 90_000)}
        _append(recording, recording.main, note)
    recording.now += timedelta(seconds=recording.drawn.randrange(40, 240))


def _compact(recording: Recording, text: str) -> None:
    """The client ran out of context: a boundary without parent, and its own summary."""
    before = recording.main.parent
    recording.main.parent = None
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    details = {"compactMetadata": {"trigger": "auto", "preTokens": 167_204}, "logicalParentUuid": before}
    _append(recording, recording.main, {**boundary, **details})
    recording.left_out += 1
    _hear(recording, recording.main, text, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def _use_tool(recording: Recording, use: ToolUse) -> None:
    chain = recording.agent if use.of_agent else recording.main
    call_id = f"toolu_{_new_id(recording)[:24].replace('-', '')}"
    _answer(recording, chain, {"type": "tool_use", "id": call_id, "name": use.tool, "input": _input(use)})
    if use.tool == "Agent":
        recording.agent_call = call_id
        _hear(recording, recording.agent, use.body)
        return
    content: object = _result(use)
    if use.argument.endswith(".png"):
        data = base64.b64encode(recording.picture).decode()
        content = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]
    _give_result(recording, chain, call_id, content, is_error=use.turn is not Turn.PLAIN)


def _close_agent(recording: Recording, beat: Beat) -> None:
    """The first beat that is not the subagent's brings its last words back to the session."""
    if recording.agent_call is None or (isinstance(beat, Speech | ToolUse) and beat.of_agent):
        return
    report = recording.agent.records[-1]["message"]["content"][0]["text"]
    call_id, recording.agent_call = recording.agent_call, None
    content = [{"type": "text", "text": report}]
    _give_result(
        recording, recording.main, call_id, content, toolUseResult={"status": "completed", "agentId": AGENT_ID}
    )


def _give_result(
    recording: Recording, chain: Chain, call_id: str, content: object, *, is_error: bool = False, **extra: Any
) -> None:
    result = {"tool_use_id": call_id, "type": "tool_result", "content": content, "is_error": is_error}
    _hear(recording, chain, [result], sourceToolAssistantUUID=chain.parent, **extra)


def _input(use: ToolUse) -> Record:
    found: Record = {"command": use.argument}
    match use.tool:
        case "Read":
            found = {"file_path": use.argument}
        case "Write":
            found = {"file_path": use.argument, "content": use.body + "\n"}
        case "Edit":
            found = {"file_path": use.argument, "old_string": _side(use, "- "), "new_string": _side(use, "+ ")}
        case "Grep":
            found = {"pattern": use.argument, "output_mode": "content", "-n": True}
        case "Agent":
            found = {"description": use.argument, "subagent_type": "general-purpose", "prompt": use.body}
        case "TodoWrite":
            tasks = [line.removeprefix("[ ] ") for line in use.body.splitlines()]
            found = {"todos": [{"content": task, "status": "pending", "activeForm": task} for task in tasks]}
    return found


def _side(use: ToolUse, mark: str) -> str:
    return "\n".join(line.removeprefix(mark) for line in use.body.splitlines() if line.startswith(mark.rstrip()))


def _result(use: ToolUse) -> str:
    if use.turn is Turn.REFUSED:
        return _REFUSED
    match use.tool:
        case "Write":
            return f"File created successfully at: {use.argument}"
        case "Edit":
            return f"The file {use.argument} has been updated successfully."
        case "TodoWrite":
            return "Todos have been modified successfully."
    return f"Exit code 1\n{use.body}" if use.turn is Turn.FAILED else use.body


def _answer(recording: Recording, chain: Chain, block: Record) -> None:
    """One block of the model's answer; blocks side by side belong to one message of the API."""
    chain.api_message_id = chain.api_message_id or f"msg_{_new_id(recording)[:23].replace('-', '')}"
    message = {
        "id": chain.api_message_id,
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else None,
    }
    _append(recording, chain, {"type": "assistant", "message": message})
    recording.messages += 1


def _hear(recording: Recording, chain: Chain, content: object, **extra: Any) -> None:
    """A record of the role user: what a person typed or a tool gave."""
    chain.api_message_id = None
    _append(recording, chain, {"type": "user", "message": {"role": "user", "content": content}, **extra})
    recording.messages += 1


def _append(recording: Recording, chain: Chain, record: Record) -> None:
    recording.now += timedelta(seconds=recording.drawn.randrange(2, 25))
    own_id = _new_id(recording)
    agent = {"agentId": AGENT_ID} if chain.is_agent else {}
    frame = {"parentUuid": chain.parent, "isSidechain": chain.is_agent, **agent}
    place = {"userType": "external", "entrypoint": "cli", "cwd": recording.cwd, "sessionId": recording.session_id}
    stamp = {"version": _VERSION, "gitBranch": recording.branch, "uuid": own_id, "timestamp": _stamp(recording)}
    chain.records.append({**frame, **record, **place, **stamp})
    chain.parent = own_id


def _stamp(recording: Recording) -> str:
    return recording.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _new_id(recording: Recording) -> str:
    """The next id; made from the seed, so that every run writes the same session."""
    return str(uuid.UUID(int=recording.drawn.getrandbits(128), version=4))
