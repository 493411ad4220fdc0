"""The content of a Claude Code message as blocks; nothing a block carried is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from lcm.domain.messages import PartType
from lcm.domain.records import Block, JsonObject, Media
from lcm.transcripts.parse.claude_values import text_of

#: Names are kept in tuples: what is looked up came from a file and may be unhashable.
_MEDIA_KINDS = ("image", "document")
_UNKNOWN_MIME = "application/octet-stream"
_RESULT_SUFFIX = "_tool_result"


def read_blocks(content: str | list[Any]) -> tuple[Block, ...]:
    """Blocks in the client's order; empty text blocks are dropped, blank ones kept.

    Media inside a tool result come as FILE blocks after it, with its tool_call_id.
    """
    if isinstance(content, str):
        return (Block(PartType.TEXT, content),) if content else ()
    return tuple(block for item in content for block in _read_block(item))


def compact_json(value: Any) -> str:
    """JSON text without spaces, in the value's own key order, other scripts unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_block(item: Any) -> Iterator[Block]:
    if isinstance(item, str):
        yield from read_blocks(item)
        return
    kind = item.get("type") if isinstance(item, dict) else None
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is not None:
        yield from reader(item)
    elif isinstance(kind, str) and kind.endswith(_RESULT_SUFFIX) and isinstance(item.get("tool_use_id"), str):
        yield from _read_result(item)
    else:
        yield _unknown(item, kind)


def _read_text(item: JsonObject) -> Iterator[Block]:
    text = item.get("text")
    if not isinstance(text, str):
        yield _unknown(item, "text")
    elif text:
        yield Block(PartType.TEXT, text, metadata=_rest(item, "text"))


def _read_thinking(item: JsonObject) -> Iterator[Block]:
    """Kept even without text: the signature alone lets a client go on."""
    yield Block(PartType.REASONING, text_of(item.get("thinking")) or "", metadata=_rest(item, "thinking"))


def _read_redacted_thinking(item: JsonObject) -> Iterator[Block]:
    yield Block(PartType.REASONING, metadata=_rest(item))


def _read_call(item: JsonObject) -> Iterator[Block]:
    yield Block(
        PartType.TOOL_CALL,
        compact_json(item.get("input", {})),
        tool_call_id=text_of(item.get("id")),
        tool_name=text_of(item.get("name")),
        metadata=_rest(item, "input", "id", "name"),
    )


def _read_result(item: JsonObject) -> Iterator[Block]:
    call_id = text_of(item.get("tool_use_id"))
    is_error = item.get("is_error")
    texts, files = _split_output(item.get("content"), call_id)
    yield Block(
        PartType.TOOL_RESULT,
        "\n".join(texts),
        tool_call_id=call_id,
        is_error=is_error if isinstance(is_error, bool) else None,
        metadata=_rest(item, "content", "tool_use_id", "is_error"),
    )
    yield from files


def _split_output(output: Any, call_id: str | None) -> tuple[list[str], list[Block]]:
    """The texts and the media of a tool result, each in order; what is neither becomes text."""
    if output is None:
        return [], []
    if isinstance(output, str):
        return [output], []
    texts: list[str] = []
    files: list[Block] = []
    for inner in output if isinstance(output, list) else [output]:
        media = _media(inner)
        if media is not None:
            files.append(Block(PartType.FILE, tool_call_id=call_id, media=media, metadata=_rest(inner, "source")))
        else:
            texts.append(_inner_text(inner))
    return texts, files


def _inner_text(inner: Any) -> str:
    if isinstance(inner, str):
        return inner
    if isinstance(inner, dict):
        if inner.get("type") == "text" and isinstance(inner.get("text"), str):
            return str(inner["text"])
        if (url := _url(inner)) is not None:
            return _url_stub(inner, url)
    return compact_json(inner)


def _read_media(item: JsonObject) -> Iterator[Block]:
    source = item.get("source")
    media = _media(item)
    if media is not None:
        yield Block(PartType.FILE, media=media, metadata=_rest(item, "source"))
    elif (url := _url(item)) is not None:
        yield Block(PartType.TEXT, _url_stub(item, url), metadata={"kind": item["type"]})
    elif isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        yield Block(PartType.TEXT, source["data"], metadata={**(_rest(item, "source") or {}), "kind": item["type"]})
    else:
        yield _unknown(item, item["type"])


def _media(item: Any) -> Media | None:
    """The bytes of an image or document, if it holds them itself."""
    source = item.get("source") if isinstance(item, dict) and item.get("type") in _MEDIA_KINDS else None
    if not isinstance(source, dict) or source.get("type") != "base64" or not isinstance(source.get("data"), str):
        return None
    return Media(text_of(source.get("media_type")) or _UNKNOWN_MIME, source["data"], text_of(item.get("title")))


def _url(item: JsonObject) -> str | None:
    source = item.get("source") if item.get("type") in _MEDIA_KINDS else None
    return text_of(source.get("url")) if isinstance(source, dict) and source.get("type") == "url" else None


def _url_stub(item: JsonObject, url: str) -> str:
    return f"[{item['type']}: {url}]"


def _unknown(item: Any, kind: Any) -> Block:
    return Block(PartType.TEXT, compact_json(item), metadata={"kind": kind if isinstance(kind, str) else None})


def _rest(item: JsonObject, *taken: str) -> JsonObject | None:
    """What else a block carried; its type only where the part type does not tell it."""
    rest = {key: value for key, value in item.items() if key != "type" and key not in taken}
    if item["type"] not in _PLAIN_KINDS:
        rest["kind"] = item["type"]
    return rest or None


_READERS: dict[str, Callable[[JsonObject], Iterator[Block]]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted_thinking,
    "tool_use": _read_call,
    "server_tool_use": _read_call,
    "mcp_tool_use": _read_call,
    "tool_result": _read_result,
    "image": _read_media,
    "document": _read_media,
}
_PLAIN_KINDS = ("text", "thinking", "tool_use", "tool_result", "image", "document")
