"""Whole made-up transcripts of Claude Code, as a person's session looks: prompts, tool calls, results, answers."""

from __future__ import annotations

from pathlib import Path

from tests.engine.sessions import CWD, SESSION, Record, assistant, call, result, user, write

#: A prompt, a tool call, its result and an answer.
MESSAGES_PER_TURN = 4


def make_claude_session(
    path: Path,
    *,
    turns: int = 3,
    session_id: str = SESSION,
    cwd: str = CWD,
    first: int = 1,
    padding: str = "",
    title: str = "Fix the login page",
) -> Path:
    """Write a session with a title; its records are numbered from `first`, one second apart.

    Args:
        first: sessions whose numbers do not overlap have no record in common.
        padding: text added to every prompt and every tool result, to make them long.
    """
    records: list[Record] = [{"type": "custom-title", "customTitle": title, "sessionId": session_id}]
    for turn in range(turns):
        records += _turn(turn, first + turn * MESSAGES_PER_TURN, padding)
    records[1]["parentUuid"] = None
    placed = [{**record, "sessionId": session_id, **({"cwd": cwd} if "cwd" in record else {})} for record in records]
    return write(path, *placed)


def _turn(turn: int, number: int, padding: str) -> list[Record]:
    call_id = f"toolu_{number:06d}"
    return [
        user(number, f"Question {turn}: why does the login fail? {padding}".rstrip()),
        call(number + 1, call_id, "Bash", command=f"pytest tests/test_{turn}.py"),
        result(number + 2, call_id, f"{turn + 1} passed\n{padding}".rstrip()),
        assistant(number + 3, f"Answer {turn}: the cookie was not set."),
    ]
