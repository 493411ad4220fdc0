"""Codex content lists, images and tool outputs as blocks; knows nothing of records or sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import msgspec

from lcm.domain.messages import PartType
from lcm.domain.records import Block, JsonObject, Media
from lcm.errors import InvalidInput

_TEXT_KINDS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_IMAGE_KINDS = frozenset({"input_image", "output_image", "image"})
_IMAGE_FIELDS = frozenset({"type", "image_url", "data", "mimeType", "mime_type"})
#: Ids of turns and times of the client's own bookkeeping; a rebuilt message needs none of it.
_BOOKKEEPING = frozenset({"internal_chat_message_metadata_passthrough", "metadata"})
_BASE64 = re.compile(r"[A-Za-z0-9+/_\r\n-]+={0,2}\s*")
#: A data URL's head (media type and parameters) is short; the search for its comma must not scan megabytes.
_DATA_URL_HEAD = 256
_REPORT_HEAD = 400
_REPORT_STARTS = ("Chunk ID:", "Wall time:", "Exit code:", "Process exited")
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)


class _ShellReport(msgspec.Struct, forbid_unknown_fields=True):
    """The output of `shell` and `apply_patch` up to about 0.12x: an object, as a rule JSON inside a string."""

    output: str
    metadata: dict[str, Any]


_SHELL_REPORTS = msgspec.json.Decoder(_ShellReport)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gave back; `is_error` is None when the client does not say, `files` are FILE blocks without ids."""

    text: str
    is_error: bool | None = None
    files: tuple[Block, ...] = ()
    metadata: JsonObject | None = None


def compact_json(value: object) -> str:
    """JSON text without spaces, in the client's key order and script."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_field(fields: JsonObject, name: str) -> str | None:
    """A field that is a text with something in it, else None."""
    value = fields.get(name)
    return value if isinstance(value, str) and value.strip() else None


def leftover(fields: JsonObject, taken: Iterable[str]) -> JsonObject | None:
    """The fields not yet taken that say something, as metadata; None when there are none."""
    known = _BOOKKEEPING.union(taken)
    kept = {name: value for name, value in fields.items() if name not in known and value not in (None, "", [], {})}
    return kept or None


def content_blocks(content: Iterable[object]) -> tuple[Block, ...]:
    """TEXT and FILE blocks of a content list, in order; unknown items become their compact JSON text."""
    return tuple(_content_block(item) for item in content)


def _content_block(item: object) -> Block:
    if not isinstance(item, dict):
        return Block(PartType.TEXT, item if isinstance(item, str) else compact_json(item))
    kind, text = text_field(item, "type"), item.get("text")
    if kind in _TEXT_KINDS and isinstance(text, str):
        return Block(PartType.TEXT, text, metadata=leftover(item, ("type", "text")))
    if kind in _IMAGE_KINDS:
        return _image_block(item)
    return Block(PartType.TEXT, compact_json(item))


def _image_block(item: JsonObject) -> Block:
    """Bytes as FILE; an image elsewhere as a text stub; an image item without either as its JSON."""
    url = item.get("image_url")
    if isinstance(url, dict):
        url = url.get("url")
    media = media_of_url(url) if isinstance(url, str) else _inline_media(item)
    if media is not None:
        return Block(PartType.FILE, media=media, metadata=leftover(item, _IMAGE_FIELDS))
    return Block(PartType.TEXT, f"[image: {url}]" if url and isinstance(url, str) else compact_json(item))


def _inline_media(item: JsonObject) -> Media | None:
    """The image of an MCP result: base64 text and its type beside each other."""
    mime_type = text_field(item, "mimeType") or text_field(item, "mime_type")
    data = item.get("data")
    return Media(mime_type, data) if mime_type and is_base64(data) else None


def is_base64(data: object) -> TypeGuard[str]:
    """Whether a value can be base64 text, by its alphabet only."""
    return isinstance(data, str) and _BASE64.fullmatch(data) is not None


def media_of_url(url: str) -> Media | None:
    """The bytes of a base64 data URL; None for every other URL."""
    comma = url.find(",", 0, _DATA_URL_HEAD)
    head = url[: max(comma, 0)].lower()
    if not head.startswith("data:") or not head.endswith(";base64"):
        return None
    data = url[comma + 1 :]
    mime_type = head.removeprefix("data:").partition(";")[0] or "application/octet-stream"
    return Media(mime_type, data) if is_base64(data) else None


def tool_output(output: object) -> ToolOutput:
    """Text, files and verdict of any form of output: text, JSON in a text, content list, object.

    Raises:
        InvalidInput: the output is a number or a truth value.
    """
    match output:
        case None:
            return ToolOutput("")
        case str():
            return _text_output(output)
        case list():
            return _list_output(output)
        case dict():
            return _object_output(output)
        case _:
            raise InvalidInput("A tool result whose output is no text, list or object.")


def _text_output(text: str) -> ToolOutput:
    if text.startswith("{") and '"exit_code"' in text:
        try:
            return _shell_output(_SHELL_REPORTS.decode(text)) or ToolOutput(text)
        except (ValueError, RecursionError):  # a tool's own JSON, not the client's report
            return ToolOutput(text)
    return ToolOutput(text, is_error=_failed(text))


def _shell_output(report: _ShellReport) -> ToolOutput | None:
    exit_code = report.metadata.get("exit_code")
    if type(exit_code) is not int:
        return None
    return ToolOutput(report.output, is_error=exit_code != 0, metadata={"metadata": report.metadata})


def _list_output(items: list[object]) -> ToolOutput:
    blocks = content_blocks(items)
    text = "\n".join(block.text for block in blocks if block.part_type is PartType.TEXT)
    files = tuple(block for block in blocks if block.part_type is PartType.FILE)
    return ToolOutput(text, is_error=_failed(text), files=files)


def _object_output(output: JsonObject) -> ToolOutput:
    """A lone content item, an MCP or failure object {content, success | isError}, a shell report, or just JSON."""
    if isinstance(output.get("type"), str):
        return _list_output([output])
    content = output.get("content")
    if isinstance(content, str | list):
        inner = tool_output(content)
        verdict = success_flag(output)
        rest = leftover(output, ("content", "success", "isError", "is_error"))
        return replace(
            inner,
            is_error=inner.is_error if verdict is None else not verdict,
            metadata={**(inner.metadata or {}), **(rest or {})} or None,
        )
    try:
        report = _shell_output(msgspec.convert(output, _ShellReport))
    except msgspec.ValidationError:
        report = None
    return report or ToolOutput(compact_json(output))


def success_flag(fields: JsonObject) -> bool | None:
    """What an explicit flag says about success; None without one."""
    success = fields.get("success")
    if isinstance(success, bool):
        return success
    flags = (fields.get("isError"), fields.get("is_error"))
    return next((not flag for flag in flags if isinstance(flag, bool)), None)


def _failed(text: str) -> bool | None:
    """The verdict of an `exec_command` or `shell_command` text report, whose head ends at its "Output:" line."""
    if not text.startswith(_REPORT_STARTS):
        return None
    head = text[:_REPORT_HEAD].partition("\nOutput:")[0]
    found = _EXIT_CODE.search(head)
    return int(found[1]) != 0 if found else None
