"""What a transcript parser gives out: message records and facts, before redaction, keyed by the client's own ids."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lcm.domain.messages import Exclusion, PartType, Role

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes inside a record: `data` is base64 text exactly as the client wrote it (without a data-URL head)."""

    mime_type: str
    data: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a record, in the client's order.

    Attributes:
        part_type: TEXT, REASONING, TOOL_CALL, TOOL_RESULT or FILE (media: image, document).
        text: visible text; the reasoning; a call's arguments as compact JSON text (or its free text input); a result's
            output.
        is_error: of a tool result, when the client says so.
        media: for FILE; bytes inside a tool result come as FILE blocks after it, with the result's tool_call_id.
        metadata: what else the client's block carried and a rebuilt message needs (signature, phase, ...).
    """

    part_type: PartType
    text: str = ""
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    media: Media | None = None
    metadata: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """Which conversation a record belongs to: a session, or one subagent of it."""

    session_id: str
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A transcript record that carries conversation content: one immutable message row.

    Attributes:
        line: 0-based physical line in the source.
        native_uuid: the record's own id when it is a well-formed UUID, canonical lowercase; else None.
        call_id: id of the first tool call or result in it, if any.
        item_type: the client's kind of record, part of a derived identity ("assistant", "function_call_output", ...).
        occurred_at: the record's own time, aware UTC; None when missing or impossible.
        is_prompt: a text that a person typed (not a tool result, echo, meta or injected text).
        exclusion: why it stays out of the context, if it does (META, CLIENT_SUMMARY, DUPLICATE).
        forked_from: the session this record was copied from by a fork, when the client says so.
    """

    line: int
    thread: Thread
    role: Role
    blocks: tuple[Block, ...]
    occurred_at: datetime | None
    item_type: str
    native_uuid: str | None = None
    call_id: str | None = None
    api_message_id: str | None = None
    exclusion: Exclusion | None = None
    is_prompt: bool = False
    forked_from: str | None = None


@dataclass(frozen=True, slots=True)
class SessionFact:
    """What a record says about its conversation; later facts about one thread complete earlier ones."""

    line: int
    thread: Thread
    cwd: str | None = None
    title: str | None = None
    parent_session_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubagentLink:
    """A tool call of `parent` started the subagent `agent`."""

    line: int
    parent: Thread
    agent: Thread
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class Rewind:
    """The person edited an earlier prompt: the records with these uuids are an abandoned branch."""

    line: int
    thread: Thread
    native_uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryNeeded:
    """The parser was resumed in mid-file and cannot place this line; read the file again from the start."""

    line: int


@dataclass(frozen=True, slots=True)
class UnusedRecord:
    """A well-formed record that is no conversation content (state, copies, progress); counted by kind."""

    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that could not be used; `reason` is one safe sentence without its text."""

    line: int
    reason: str


ParsedItem = MessageRecord | SessionFact | SubagentLink | Rewind | HistoryNeeded | UnusedRecord | SkippedLine
