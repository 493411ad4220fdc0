"""Codex response items (messages, reasoning, calls, outputs) as roles and blocks; pure, one item at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import zip_longest

from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import Block, JsonObject, Media
from lcm.errors import InvalidInput
from lcm.transcripts.parse.codex_content import (
    compact_json,
    content_blocks,
    is_base64,
    leftover,
    success_flag,
    text_field,
    tool_output,
)
from lcm.transcripts.parse.codex_context import Origin, item_kinds, origin_of

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "developer": Role.SYSTEM, "system": Role.SYSTEM}
_CALL_FIELDS = frozenset({"type", "id", "call_id", "name", "arguments", "input", "action"})
_OUTPUT_FIELDS = frozenset({"type", "id", "call_id", "name", "output", "tools", "success", "isError", "is_error"})
_DEFAULT_NAMES = {
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
}
_NAME_JOINTS = ("__", "/", ".")


@dataclass(frozen=True, slots=True)
class ItemContent:
    """What one response item contributes to a message record; the fields mean what they mean there."""

    role: Role
    blocks: tuple[Block, ...]
    item_type: str
    call_id: str | None = None
    exclusion: Exclusion | None = None
    is_prompt: bool = False


def read_item(payload: JsonObject) -> ItemContent | None:
    """Content of a response item; None when its kind is unknown, is state, or this one is empty.

    Raises:
        InvalidInput: a known kind without what it needs; the message is one safe sentence.
    """
    kind = payload.get("type")
    if not isinstance(kind, str):
        raise InvalidInput("A response item without a type.")
    reader = _READERS.get(kind)
    return reader(payload, kind) if reader else None


def _read_message(payload: JsonObject, kind: str) -> ItemContent | None:
    name = payload.get("role")
    role = _ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise InvalidInput("A message without a known role.")
    blocks = _message_blocks(payload)
    if not blocks:
        return None
    content = ItemContent(role, blocks, f"{kind}/{name}")
    if role is Role.SYSTEM:
        return replace(content, exclusion=Exclusion.META)
    return _with_origin(content, payload) if role is Role.USER else content


def _message_blocks(payload: JsonObject) -> tuple[Block, ...]:
    content = payload.get("content")
    if not isinstance(content, str | list):
        raise InvalidInput("A message without content.")
    blocks = content_blocks([content] if isinstance(content, str) else content)
    phase = text_field(payload, "phase")
    if phase is None:
        return blocks
    return tuple(
        replace(block, metadata={**(block.metadata or {}), "phase": phase})
        if block.part_type is PartType.TEXT
        else block
        for block in blocks
    )


def _with_origin(content: ItemContent, payload: JsonObject) -> ItemContent:
    """A message is injected only when all of it is: one typed text beside injected ones keeps it in context."""
    kinds = item_kinds(payload)[: len(content.blocks)]
    origins = {origin_of(block.text, kind) for block, kind in zip_longest(content.blocks, kinds)}
    is_injected = origins == {Origin.INJECTED}
    return replace(content, exclusion=Exclusion.META if is_injected else None, is_prompt=Origin.TYPED in origins)


def _read_agent_message(payload: JsonObject, kind: str) -> ItemContent | None:
    """A message between agents: its author and recipient, and what of it is encrypted, are metadata."""
    items = payload.get("content")
    if not isinstance(items, list):
        raise InvalidInput("An agent message without content.")
    blocks = content_blocks(item for item in items if not _is_encrypted(item))
    hidden = [item for item in items if _is_encrypted(item)]
    metadata = leftover({**payload, "encrypted": hidden}, ("type", "id", "content"))
    first, *others = blocks or (Block(PartType.TEXT),)
    first = replace(first, metadata={**(first.metadata or {}), **(metadata or {})} or None)
    return ItemContent(Role.ASSISTANT, (first, *others), kind) if items else None


def _is_encrypted(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") == "encrypted_content"


def _read_reasoning(payload: JsonObject, kind: str) -> ItemContent | None:
    summary, content = payload.get("summary"), payload.get("content")
    if any(part is not None and not isinstance(part, list) for part in (summary, content)):
        raise InvalidInput("A reasoning item whose summary or content is no list.")
    blocks = content_blocks([*(summary or ()), *(content or ())])
    text = "\n\n".join(block.text for block in blocks)
    encrypted = text_field(payload, "encrypted_content")
    if not text and encrypted is None:
        return None
    metadata = {"encrypted_content": encrypted} if encrypted else None
    return ItemContent(Role.ASSISTANT, (Block(PartType.REASONING, text, metadata=metadata),), kind)


def _read_call(payload: JsonObject, kind: str) -> ItemContent:
    call_id = _call_id(payload)
    block = Block(
        PartType.TOOL_CALL,
        _arguments(payload),
        tool_call_id=call_id,
        tool_name=_tool_name(payload, kind),
        metadata=leftover(payload, _CALL_FIELDS),
    )
    return ItemContent(Role.ASSISTANT, (block,), kind, call_id)


def _call_id(payload: JsonObject) -> str | None:
    return text_field(payload, "call_id") or text_field(payload, "id")


def _arguments(payload: JsonObject) -> str:
    """The arguments as the client wrote them, whichever of its three fields holds them."""
    value = next((payload[name] for name in ("arguments", "input", "action") if payload.get(name) is not None), "")
    return value if isinstance(value, str) else compact_json(value)


def _tool_name(payload: JsonObject, kind: str) -> str:
    name = text_field(payload, "name") or _DEFAULT_NAMES.get(kind)
    if name is None:
        raise InvalidInput("A tool call without a name.")
    namespace = text_field(payload, "namespace")
    if namespace is None or name.startswith(namespace):
        return name
    return namespace + name if namespace.endswith(_NAME_JOINTS) else f"{namespace}__{name}"


def _read_image_generation(payload: JsonObject, kind: str) -> ItemContent:
    """The image is inside the call: base64 of a PNG, which the client saves under that type."""
    call_id = _call_id(payload)
    result = payload.get("result")
    image = Block(PartType.FILE, tool_call_id=call_id, media=Media("image/png", result)) if is_base64(result) else None
    taken = {"type", "id", "call_id", "revised_prompt"} | ({"result"} if image else set())
    call = Block(
        PartType.TOOL_CALL,
        text_field(payload, "revised_prompt") or "",
        tool_call_id=call_id,
        tool_name="image_generation",
        metadata=leftover(payload, taken),
    )
    return ItemContent(Role.ASSISTANT, (call, image) if image else (call,), kind, call_id)


def _read_output(payload: JsonObject, kind: str) -> ItemContent:
    call_id = text_field(payload, "call_id")
    if call_id is None:
        raise InvalidInput("A tool result without a call id.")
    output = tool_output(payload.get("output"))
    verdict = success_flag(payload)
    result = Block(
        PartType.TOOL_RESULT,
        output.text,
        tool_call_id=call_id,
        tool_name=text_field(payload, "name"),
        is_error=output.is_error if verdict is None else not verdict,
        metadata={**(output.metadata or {}), **(leftover(payload, _OUTPUT_FIELDS) or {})} or None,
    )
    files = tuple(replace(block, tool_call_id=call_id) for block in output.files)
    return ItemContent(Role.TOOL, (result, *files), kind, call_id)


def _read_tool_search_output(payload: JsonObject, kind: str) -> ItemContent:
    """The tools found stand where other results have their output."""
    found = payload.get("tools")
    text = compact_json(found) if found is not None else payload.get("output")
    return _read_output({**payload, "output": text}, kind)


_READERS: dict[str, Callable[[JsonObject, str], ItemContent | None]] = {
    "message": _read_message,
    "agent_message": _read_agent_message,
    "reasoning": _read_reasoning,
    "function_call": _read_call,
    "custom_tool_call": _read_call,
    "local_shell_call": _read_call,
    "tool_search_call": _read_call,
    "web_search_call": _read_call,
    "image_generation_call": _read_image_generation,
    "function_call_output": _read_output,
    "custom_tool_call_output": _read_output,
    "local_shell_call_output": _read_output,
    "mcp_tool_call_output": _read_output,
    "tool_search_output": _read_tool_search_output,
}
