"""Claude Code session files: JSON lines in, messages and facts out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import (
    HistoryNeeded,
    JsonObject,
    MessageRecord,
    ParsedItem,
    Rewind,
    SkippedLine,
    SubagentLink,
    Thread,
    UnusedRecord,
)
from lcm.transcripts.parse.claude_chain import PromptChain
from lcm.transcripts.parse.claude_copies import QueuedPrompts, QueuedText
from lcm.transcripts.parse.claude_facts import FactFinder
from lcm.transcripts.parse.claude_messages import (
    kind_of,
    message_text,
    read_message,
    read_queued_text,
    record_time,
)
from lcm.transcripts.parse.claude_threads import OpenCalls, ThreadFinder
from lcm.transcripts.parse.claude_values import TextDigests, line_id, text_of

CLIENT = "claude"

_MESSAGE_TYPES = ("user", "assistant", "system", "attachment")
_TITLE_TYPES = ("custom-title", "ai-title")


class ClaudeParser:
    """Parser of one file of a session or of one subagent.

    Without state it may keep the ids of the whole file in memory; `state()` is bounded, and a parser made from it
    answers `HistoryNeeded` where what came before it would decide: a typed prompt that does not follow on what it
    knows, an inline sidechain line with an unknown parent, a text taken from the queue that was put there before.

    Args:
        state: what an earlier parser's `state()` gave; None or empty for the start of a file.
        fallback_session_id: session of records that name none, as long as none in the file does.
        text_key: of the digests that stand for texts in the state; that of the parser whose state is given.
    """

    def __init__(
        self, state: JsonObject | None = None, *, fallback_session_id: str = "", text_key: bytes = b""
    ) -> None:
        saved = state or {}
        digests = TextDigests(text_key)
        self._threads = ThreadFinder(saved.get("threads", {}), fallback_session_id=fallback_session_id)
        self._facts = FactFinder(saved.get("facts", {}), digests)
        self._calls = OpenCalls(saved.get("calls", []), digests)
        self._queued = QueuedPrompts(saved.get("queued"), digests)
        self._chain = PromptChain(saved.get("chain"), is_resumed=bool(saved))

    def state(self) -> JsonObject:
        """JSON-serialisable state after the last line fed, some 50 KB at most."""
        return {
            "threads": self._threads.state(),
            "facts": self._facts.state(),
            "calls": self._calls.state(),
            "queued": self._queued.state(),
            "chain": self._chain.last,
        }

    def feed(self, line: int, record: JsonObject) -> Iterator[ParsedItem]:
        """Items of one line: facts, links and a rewind come before the message they concern."""
        try:
            yield from self._items(line, record)
        except RecursionError:
            yield SkippedLine(line, "nested too deeply")

    def _items(self, line: int, record: JsonObject) -> Iterator[ParsedItem]:
        kind = record.get("type")
        if kind in _TITLE_TYPES:
            session_id = text_of(record.get("sessionId")) or self._threads.last.session_id
            yield self._facts.find_title(line, record, session_id) or UnusedRecord(line, kind_of(record))
        elif kind in _MESSAGE_TYPES or text_of(record.get("uuid")) is not None:
            yield from self._placed_items(line, record)
        elif kind == "queue-operation":
            yield self._queue_item(line, record)
        else:
            yield UnusedRecord(line, kind_of(record))

    def _queue_item(self, line: int, record: JsonObject) -> ParsedItem:
        """A text removed from the queue without having come as a record was handed to the model without one."""
        unused = UnusedRecord(line, kind_of(record))
        session_id = text_of(record.get("sessionId")) or self._threads.last.session_id
        content = text_of(record.get("content"))
        match record.get("operation"):
            case "enqueue" if content is not None:
                self._queued.enqueue(session_id, content, record_time(record))
            case "dequeue":
                self._queued.take(session_id, content)
            case "popAll":
                self._queued.empty(session_id)
            case "remove":
                entry = self._queued.take(session_id, content)
                if entry is not None and not entry.is_delivered:
                    return self._removed_text(line, entry) or unused
        return unused

    def _removed_text(self, line: int, entry: QueuedText) -> ParsedItem | None:
        if entry.text is None:
            return HistoryNeeded(line)
        message = read_queued_text(line, Thread(entry.session_id), entry.text, entry.at)
        return None if message is None else self._without_copy(message)

    def _placed_items(self, line: int, record: JsonObject) -> Iterator[ParsedItem]:
        thread = self._threads.place(line, record)
        if thread is None:
            yield HistoryNeeded(line)
            return
        item = read_message(line, record, thread)
        if isinstance(item, MessageRecord):
            item = self._without_copy(item)
            self._note_delivered(item)
            if item.is_prompt and not self._chain.is_placeable(line_id(record.get("parentUuid"))):
                yield HistoryNeeded(line)
                return
        fact = self._facts.find_cwd(line, record, thread)
        if fact is not None:
            yield fact
        if isinstance(item, MessageRecord):
            yield from self._links(item, record)
        yield from self._rewinds(item, record, thread)
        yield item

    def _without_copy(self, message: MessageRecord) -> MessageRecord:
        """The message, excluded when the same prompt was already delivered as another kind of record."""
        if not message.is_prompt:
            return message
        if not self._queued.deliver(message.thread.session_id, message_text(message.blocks), message.item_type):
            return message
        return replace(message, exclusion=Exclusion.DUPLICATE, is_prompt=False)

    def _note_delivered(self, message: MessageRecord) -> None:
        if self._queued.is_waiting and message.role is Role.USER and message.thread.agent_id is None:
            texts = [block.text for block in message.blocks if block.part_type is PartType.TEXT]
            self._queued.note_delivered(message.thread.session_id, {*texts, message_text(message.blocks)})

    def _links(self, message: MessageRecord, record: JsonObject) -> Iterator[SubagentLink]:
        """Links to subagents whose task or whose result this message is."""
        thread = message.thread
        if thread.agent_id is not None and _is_inline_root(message, record):
            link = self._calls.link_inline(message)
            if link is not None:
                yield link
        link = _link_of_result(message, record)
        if link is not None:
            yield link
        if thread.agent_id is None:
            self._calls.follow(message)

    def _rewinds(self, item: ParsedItem, record: JsonObject, thread: Thread) -> Iterator[Rewind]:
        """Chains the line; subagents have no typed prompts, so their lines are left out."""
        own_id = line_id(record.get("uuid"))
        if own_id is None or thread.agent_id is not None:
            return
        is_message = isinstance(item, MessageRecord) and item.native_uuid is not None
        is_prompt = isinstance(item, MessageRecord) and item.is_prompt
        parent = line_id(record.get("parentUuid"))
        abandoned = self._chain.append(own_id, parent, is_message=is_message, is_prompt=is_prompt)
        if abandoned:
            yield Rewind(item.line, thread, abandoned)


def subagent_link_from_meta(meta: JsonObject, agent: Thread) -> SubagentLink | None:
    """The link of a subagent's own file, from the `.meta.json` beside it; its line is 0.

    None when the meta names no tool call, or when another subagent started this one: that one's result links it.
    """
    call_id = text_of(meta.get("toolUseId"))
    if call_id is None or meta.get("spawnDepth", 1) != 1:
        return None
    return SubagentLink(0, Thread(agent.session_id), agent, call_id)


def _link_of_result(message: MessageRecord, record: JsonObject) -> SubagentLink | None:
    """The client's richer copy of a result names the subagent that produced it."""
    result = record.get("toolUseResult")
    agent_id = text_of(result.get("agentId")) if isinstance(result, dict) else None
    results = (block.tool_call_id for block in message.blocks if block.part_type is PartType.TOOL_RESULT)
    call_id = next((call_id for call_id in results if call_id is not None), None)
    if agent_id is None or call_id is None:
        return None
    return SubagentLink(message.line, message.thread, Thread(message.thread.session_id, agent_id), call_id)


def _is_inline_root(message: MessageRecord, record: JsonObject) -> bool:
    is_first = message.thread.agent_id == record.get("uuid")
    return message.role is Role.USER and is_first and text_of(record.get("agentId")) is None
