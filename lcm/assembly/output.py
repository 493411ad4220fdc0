"""An assembled context as JSON and as XML for a person or a program to read; pure."""

from __future__ import annotations

import json
from typing import Any

from lcm.assembly.assembler import AssembledContext
from lcm.assembly.blocks import JsonBlock
from lcm.assembly.messages import AssembledMessage
from lcm.rendering.xml import xml_attributes, xml_text

_FIGURES = (
    "conversation_id",
    "token_count",
    "budget",
    "over_budget",
    "items_total",
    "items_included",
    "tail_items",
    "dropped_oldest",
    "max_depth",
)


def to_json(context: AssembledContext) -> dict[str, Any]:
    """The figures, the dropped tool call ids, and `messages`: each {role, content: [blocks], ref}.

    `ref` is {"summary_id"} of a summary, {"messages": [`conversation_id:seq`, ...]} of everything else.
    """
    figures = {name: getattr(context, name) for name in _FIGURES}
    return {
        **figures,
        "dropped_calls": list(context.dropped_calls),
        "dropped_results": list(context.dropped_results),
        "messages": [_message_json(message) for message in context.messages],
    }


def to_xml(context: AssembledContext) -> str:
    """One `<context>` element: summaries as the model sees them, messages with one element a block."""
    figures = {name: _xml_value(getattr(context, name)) for name in _FIGURES}
    messages = (_message_xml(message) for message in context.messages)
    return "\n".join([f"<context{xml_attributes(figures)}>", *messages, "</context>"])


def _message_json(message: AssembledMessage) -> dict[str, Any]:
    ref: dict[str, Any] = {"summary_id": message.summary_id} if message.summary_id else {"messages": list(message.refs)}
    return {"role": message.role, "content": list(message.content), "ref": ref}


def _xml_value(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _message_xml(message: AssembledMessage) -> str:
    if message.summary_id is not None:
        return str(message.content[0]["text"])
    attributes = xml_attributes({"role": message.role, "ref": " ".join(message.refs)})
    return "\n".join([f"<message{attributes}>", *map(_block_xml, message.content), "</message>"])


def _block_xml(block: JsonBlock) -> str:
    kind = block["type"]
    match kind:
        case "tool_use":
            attributes = xml_attributes({"id": block["id"], "name": block["name"]})
            text = json.dumps(block["input"], ensure_ascii=False)
        case "tool_result":
            is_error = "true" if block.get("is_error") else None
            attributes = xml_attributes({"tool_use_id": block["tool_use_id"], "is_error": is_error})
            text = block["content"]
        case "redacted_thinking":
            attributes, text = "", ""
        case _:
            attributes, text = "", block[kind]
    return f"<{kind}{attributes}>{xml_text(text)}</{kind}>"
