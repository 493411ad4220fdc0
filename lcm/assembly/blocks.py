"""Stored messages as content blocks of the Anthropic API: pure, one record at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from lcm.domain.messages import Message, MessagePart, PartType, Role

JsonBlock = dict[str, Any]
ChatRole = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A record rebuilt: what it says in order, and the tool results it brings, apart.

    Attributes:
        role: of the record, None for a summary.
        ref: `conversation_id:seq` of a message, the summary id of a summary.
        blocks: text, thinking and tool_use blocks; results: tool_result blocks, both in part order.
        is_protected: stands in the fresh tail.
        tool_call_ids, tool_result_ids: ids of the calls it makes and answers, in order.
    """

    role: Role | None
    ref: str
    blocks: tuple[JsonBlock, ...]
    results: tuple[JsonBlock, ...] = ()
    api_message_id: str | None = None
    is_protected: bool = False
    tool_call_ids: tuple[str, ...] = field(init=False)
    tool_result_ids: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # Once, because pairing asks for them again and again.
        calls = [block["id"] for block in self.blocks if block["type"] == "tool_use"]
        object.__setattr__(self, "tool_call_ids", tuple(calls))
        object.__setattr__(self, "tool_result_ids", tuple([block["tool_use_id"] for block in self.results]))

    @property
    def chat_role(self) -> ChatRole:
        """Who says the blocks: only an assistant can call a tool; system text is given as the user's."""
        return "assistant" if self.role is Role.ASSISTANT or self.tool_call_ids else "user"


def message_draft(message: Message, parts: Sequence[MessagePart], *, is_protected: bool = False) -> Draft:
    """Rebuild a message from its parts; one without parts is its content.

    Blank texts are left out (the API refuses them). A call without an id has no possible result and is left out; a
    result without an id becomes text.
    """
    blocks: list[JsonBlock] = []
    results: list[JsonBlock] = []
    for part in parts or (_whole_content(message),):
        text = part.text_in(message.content)
        if part.part_type is PartType.TOOL_RESULT and part.tool_call_id is not None:
            results.append(_result_block(part, part.tool_call_id, text))
        elif part.part_type is PartType.FILE and _belongs_to_last(results, part):
            results[-1]["content"] = "\n".join(filter(None, (results[-1]["content"], _file_text(part, text))))
        elif (block := _block(part, text)) is not None:
            blocks.append(block)
    return Draft(
        role=message.role,
        ref=f"{message.conversation_id}:{message.seq}",
        blocks=tuple(blocks),
        results=tuple(results),
        api_message_id=message.api_message_id,
        is_protected=is_protected,
    )


def summary_draft(summary_id: str, xml: str, *, is_protected: bool = False) -> Draft:
    """A summary is shown as one text of the user."""
    return Draft(role=None, ref=summary_id, blocks=(_text_block(xml),), is_protected=is_protected)


def _whole_content(message: Message) -> MessagePart:
    return MessagePart(0, PartType.TEXT, content_start=0, content_end=len(message.content))


def _belongs_to_last(results: Sequence[JsonBlock], part: MessagePart) -> bool:
    """Media inside a tool result are stored as files behind it, under its id."""
    return bool(results) and part.tool_call_id is not None and results[-1]["tool_use_id"] == part.tool_call_id


def _block(part: MessagePart, text: str) -> JsonBlock | None:
    match part.part_type:
        case PartType.REASONING:
            return _thinking_block(part, text)
        case PartType.TOOL_CALL:
            return _call_block(part, text)
        case PartType.FILE:
            return _text_block(_file_text(part, text))
        case PartType.TEXT | PartType.TOOL_RESULT:
            return _text_block(text) if text.strip() else None


def _text_block(text: str) -> JsonBlock:
    return {"type": "text", "text": text}


def _file_text(part: MessagePart, text: str) -> str:
    return text if text.strip() else f"[file {part.file_id or 'not kept'}]"


def _thinking_block(part: MessagePart, text: str) -> JsonBlock | None:
    """With the provider's signature, which it checks when a tool call follows; redacted thinking is only its data."""
    metadata = _json_object(part.metadata) or {}
    if isinstance(metadata.get("data"), str):
        return {"type": "redacted_thinking", "data": metadata["data"]}
    block: JsonBlock = {"type": "thinking", "thinking": text}
    if isinstance(metadata.get("signature"), str):
        return {**block, "signature": metadata["signature"]}
    return block if text.strip() else None


def _call_block(part: MessagePart, text: str) -> JsonBlock | None:
    if part.tool_call_id is None:
        return None
    return {
        "type": "tool_use",
        "id": part.tool_call_id,
        "name": part.tool_name or "unknown",
        "input": _call_input(text),
    }


def _call_input(text: str) -> JsonBlock:
    """The API takes an object only: other arguments are kept as text under `input`."""
    if not text.strip():
        return {}
    parsed = _json_object(text)
    return {"input": text} if parsed is None else parsed


def _result_block(part: MessagePart, call_id: str, text: str) -> JsonBlock:
    block: JsonBlock = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {**block, "is_error": True} if part.is_error else block


def _json_object(text: str | None) -> JsonBlock | None:
    """The object a JSON text holds; None for anything else, also for what JSON clients could not read back."""
    try:
        value = msgspec.json.decode(text or "")
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
