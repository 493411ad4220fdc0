"""The parser of Codex rollouts: envelope files of 0.3x to 0.171 and the bare older form, as one state over lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import (
    Block,
    JsonObject,
    MessageRecord,
    ParsedItem,
    SessionFact,
    SkippedLine,
    Thread,
    UnusedRecord,
)
from lcm.errors import InvalidInput
from lcm.transcripts.parse.codex_content import text_field
from lcm.transcripts.parse.codex_context import working_directory
from lcm.transcripts.parse.codex_items import ItemContent, read_item

_CONTENT_ENVELOPES = frozenset({"session_meta", "response_item", "compacted"})
#: Kinds that stand only in an envelope: without a payload they are damaged or empty, never bare items.
_ENVELOPES = _CONTENT_ENVELOPES | {"event_msg", "turn_context", "world_state"}
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,40}")
CLIENT = "codex"


class CodexParser:
    """Turns the records of one rollout file, in order, into items.

    The first `session_meta` (or the bare form's first line) names the thread; until then it is `fallback_session_id`,
    which the caller takes from the file name. A subagent's rollout is a thread of its own with a parent session.
    The client's compaction summaries are kept but excluded; its copies of the history after one are not read.
    """

    def __init__(self, state: JsonObject | None = None, *, fallback_session_id: str) -> None:
        saved = state or {}
        self._session_id = text_field(saved, "session_id") or fallback_session_id
        self._has_meta = saved.get("has_meta") is True
        self._has_cwd = saved.get("has_cwd") is True
        self._is_subagent = saved.get("is_subagent") is True
        #: Start of a bare session, the only time in such a file: it serves the first message.
        self._started_at = text_field(saved, "started_at")

    def state(self) -> JsonObject:
        """JSON-serialisable state after the last line fed; five short values."""
        return {
            "session_id": self._session_id,
            "has_meta": self._has_meta,
            "has_cwd": self._has_cwd,
            "is_subagent": self._is_subagent,
            "started_at": self._started_at,
        }

    def feed(self, line: int, record: JsonObject) -> Iterator[ParsedItem]:
        """Items of one line, at least one: a fact, a message, an unused record or the reason for skipping it."""
        try:
            items = self._read(line, record)
        except InvalidInput as error:
            items = [SkippedLine(line, str(error))]
        except RecursionError:
            items = [SkippedLine(line, "A record nested too deeply.")]
        return iter(items)

    def _read(self, line: int, record: JsonObject) -> list[ParsedItem]:
        kind = record.get("type")
        if not isinstance(kind, str):
            return self._read_untyped(line, record)
        if "payload" not in record and kind not in _ENVELOPES:
            return self._read_item(line, record, record, _label(kind))
        return self._read_envelope(line, record, kind)

    def _read_untyped(self, line: int, record: JsonObject) -> list[ParsedItem]:
        """The bare form's first line and its state markers."""
        if "record_type" in record:
            return [UnusedRecord(line, _label("record_type", record["record_type"]))]
        if text_field(record, "id") is None or "timestamp" not in record:
            raise InvalidInput("A record without a type.")
        if not self._has_meta:
            self._started_at = text_field(record, "timestamp")
        return self._read_meta(line, record)

    def _read_envelope(self, line: int, record: JsonObject, kind: str) -> list[ParsedItem]:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            if kind in _CONTENT_ENVELOPES:
                raise InvalidInput("A record without a payload.")
            return [UnusedRecord(line, _label(kind))]
        match kind:
            case "session_meta":
                return self._read_meta(line, payload)
            case "response_item":
                return self._read_item(line, record, payload, _label(kind, payload.get("type")))
            case "compacted":
                return self._read_summary(line, record, payload)
        facts = self._cwd_fact(line, text_field(payload, "cwd")) if kind == "turn_context" else []
        label = _label(kind, payload.get("type")) if kind == "event_msg" else _label(kind)
        return [*facts, UnusedRecord(line, label)]

    def _read_meta(self, line: int, meta: JsonObject) -> list[ParsedItem]:
        """Later ones in a file are copies of another session's, brought along by a fork."""
        if self._has_meta:
            return [UnusedRecord(line, "session_meta")]
        self._has_meta = True
        self._session_id = text_field(meta, "id") or self._session_id
        self._is_subagent = _subagent_source(meta) is not None
        cwd = text_field(meta, "cwd")
        self._has_cwd = self._has_cwd or cwd is not None
        parent = _parent_session(meta)
        parent = None if parent == self._session_id else parent
        return [SessionFact(line, self._thread, cwd=cwd, parent_session_id=parent)]

    def _read_item(self, line: int, record: JsonObject, payload: JsonObject, label: str) -> list[ParsedItem]:
        content = read_item(payload)
        if content is None:
            return [UnusedRecord(line, label)]
        exclusion = Exclusion.CLIENT_SUMMARY if _is_compaction_output(record) else content.exclusion
        message = MessageRecord(
            line=line,
            thread=self._thread,
            role=content.role,
            blocks=content.blocks,
            occurred_at=self._time_of(record),
            item_type=content.item_type,
            call_id=content.call_id,
            api_message_id=text_field(payload, "id"),
            exclusion=exclusion,
            is_prompt=content.is_prompt and not self._is_subagent,
        )
        return [*self._cwd_fact(line, _told_cwd(content)), message]

    def _read_summary(self, line: int, record: JsonObject, payload: JsonObject) -> list[ParsedItem]:
        text = payload.get("message")
        if text is not None and not isinstance(text, str):
            raise InvalidInput("A compaction whose message is no text.")
        if not text or not text.strip():
            return [UnusedRecord(line, "compacted")]
        return [
            MessageRecord(
                line=line,
                thread=self._thread,
                role=Role.USER,
                blocks=(Block(PartType.TEXT, text),),
                occurred_at=self._time_of(record),
                item_type="compacted",
                exclusion=Exclusion.CLIENT_SUMMARY,
            )
        ]

    @property
    def _thread(self) -> Thread:
        return Thread(self._session_id)

    def _cwd_fact(self, line: int, cwd: str | None) -> list[ParsedItem]:
        """The first cwd told places the session; later ones are where it went, not where it belongs."""
        if cwd is None or self._has_cwd:
            return []
        self._has_cwd = True
        return [SessionFact(line, self._thread, cwd=cwd)]

    def _time_of(self, record: JsonObject) -> datetime | None:
        started_at, self._started_at = self._started_at, None
        return _parse_time(record.get("timestamp")) or _parse_time(started_at)


def _label(*names: object) -> str:
    """A kind to count by; names that are no plain words are data, which a counter must not carry."""
    words = [name if isinstance(name, str) and _KIND.fullmatch(name) else "other" for name in names]
    return "/".join(words)


def _parse_time(value: object) -> datetime | None:
    """Aware UTC of an ISO text with an offset; None when it is missing, damaged or not of this century."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        at = moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
    return at if at is not None and 2000 <= at.year <= 2100 else None


def _subagent_source(meta: JsonObject) -> object:
    source = meta.get("source")
    return source.get("subagent") if isinstance(source, dict) else None


def _parent_session(meta: JsonObject) -> str | None:
    """The session that spawned this one, else the one it was forked from."""
    subagent = _subagent_source(meta)
    spawn = subagent.get("thread_spawn") if isinstance(subagent, dict) else None
    spawned_by = text_field(spawn, "parent_thread_id") if isinstance(spawn, dict) else None
    return spawned_by or text_field(meta, "parent_thread_id") or text_field(meta, "forked_from_id")


def _is_compaction_output(record: JsonObject) -> bool:
    """The answer of the call that wrote a compaction's summary (from about 0.17x, marked beside the payload)."""
    metadata = record.get("metadata")
    return isinstance(metadata, dict) and metadata.get("compaction_output") is True


def _told_cwd(content: ItemContent) -> str | None:
    if content.role in (Role.ASSISTANT, Role.TOOL):  # what they quote is not what the client tells
        return None
    return next(filter(None, (working_directory(block.text) for block in content.blocks)), None)
