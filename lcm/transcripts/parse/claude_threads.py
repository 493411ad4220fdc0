"""Which conversation a Claude Code line belongs to: the session, or a subagent in a file of its own or inline."""

from __future__ import annotations

import json
from collections.abc import Iterable

from lcm.domain.messages import PartType
from lcm.domain.records import JsonObject, MessageRecord, SubagentLink, Thread
from lcm.transcripts.parse.claude_messages import message_text
from lcm.transcripts.parse.claude_values import TextDigests, text_of, trim_oldest

_SIDECHAIN_LIMIT = 256
_OPEN_CALL_LIMIT = 64
_SUBAGENT_TOOLS = ("Task", "Agent")


class ThreadFinder:
    """Places lines. It keeps the root of every inline sidechain line; its state holds the newest 256 of them."""

    def __init__(self, state: JsonObject, *, fallback_session_id: str) -> None:
        self._is_resumed = bool(state)
        last = state.get("last")
        self.last = Thread(*last) if last else Thread(fallback_session_id)
        self._roots: dict[str, str] = dict(state.get("roots", []))

    def state(self) -> JsonObject:
        newest = list(self._roots.items())[-_SIDECHAIN_LIMIT:]
        return {"last": [self.last.session_id, self.last.agent_id], "roots": [list(pair) for pair in newest]}

    def place(self, line: int, record: JsonObject) -> Thread | None:
        """The line's thread; None when it is an inline sidechain line whose root lies before the resumed state."""
        thread = self._find(line, record)
        if thread is not None:
            self.last = thread
        return thread

    def _find(self, line: int, record: JsonObject) -> Thread | None:
        session_id = text_of(record.get("sessionId"))
        if session_id is None and "isSidechain" not in record:
            return self.last
        session_id = session_id or self.last.session_id
        if record.get("isSidechain") is not True:
            return Thread(session_id)
        agent_id = text_of(record.get("agentId")) or self._root(line, record)
        return Thread(session_id, agent_id) if agent_id is not None else None

    def _root(self, line: int, record: JsonObject) -> str | None:
        """Id of the first line of the sidechain; a line whose parent is nowhere in the file is a root itself."""
        line_id, parent = text_of(record.get("uuid")), text_of(record.get("parentUuid"))
        known = self._roots.get(line_id or "") or self._roots.get(parent or "")
        if known is None and parent is not None and self._is_resumed:
            return None
        root = known or line_id or f"line-{line}"
        if line_id is not None:
            self._roots.setdefault(line_id, root)
        return root


class OpenCalls:
    """Calls that start a subagent and have no result yet, oldest first, at most 64, by the digest of their prompt."""

    def __init__(self, calls: Iterable[tuple[str, str]], digests: TextDigests) -> None:
        self._calls = dict(calls)
        self._digests = digests

    def state(self) -> list[list[str]]:
        return [list(pair) for pair in self._calls.items()]

    def link_inline(self, record: MessageRecord) -> SubagentLink | None:
        """The link of an inline sidechain whose first line this is, found by the call's equal prompt."""
        digest = self._digests.of(record.thread.session_id, message_text(record.blocks))
        call_id = next((call_id for call_id, prompt in self._calls.items() if prompt == digest), None)
        if call_id is None:
            return None
        del self._calls[call_id]
        return SubagentLink(record.line, Thread(record.thread.session_id), record.thread, call_id)

    def follow(self, record: MessageRecord) -> None:
        """Opens and closes calls of the session itself; inline sidechains start no subagents."""
        for block in record.blocks:
            call_id = block.tool_call_id
            if call_id is None:
                continue
            if block.part_type is PartType.TOOL_RESULT:
                self._calls.pop(call_id, None)
            elif block.part_type is PartType.TOOL_CALL and block.tool_name in _SUBAGENT_TOOLS:
                self._open(record.thread.session_id, call_id, block.text)

    def _open(self, session_id: str, call_id: str, arguments: str) -> None:
        call_input = json.loads(arguments)
        prompt = call_input.get("prompt") if isinstance(call_input, dict) else None
        if isinstance(prompt, str):
            self._calls[call_id] = self._digests.of(session_id, prompt)
            trim_oldest(self._calls, _OPEN_CALL_LIMIT)
