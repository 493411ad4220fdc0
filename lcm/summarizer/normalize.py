"""What a provider's answer says, whatever its shape: text without reasoning, why it ended, and what it used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lcm.text import MAX_SAFE_INTEGER, clip

#: Blocks that are no part of the answer; a tuple, because a provider may send anything as a type.
_NOT_CONTENT = (
    "reasoning",
    "reasoning_content",
    "reasoning_text",
    "thinking",
    "redacted_thinking",
    "thought",
    "refusal",
    "tool_use",
    "tool_call",
    "tool_result",
    "function_call",
    "function_call_output",
)
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "thinking_blocks")
#: Where text may be, nested in any way.
_CONTENT_KEYS = ("text", "output_text", "value", "content", "parts", "summary", "message", "output", "response")
_DEEPEST = 12

#: Local models write their reasoning into the text itself.
_INLINE_REASONING = re.compile(r"\A\s*<(think|thinking|reasoning)>(?:.*?</\1>|.*\Z)", re.DOTALL | re.IGNORECASE)

#: Some templates open the reasoning in the prompt, so that the text begins inside it.
_OPENED_BEFORE = re.compile(
    r"\A(?:(?!<think).)*?^[ \t]*</(?:think|thinking)>[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
_FILTERED = frozenset({"content_filter", "refusal", "safety", "recitation"})

_CLOSING = "</think"

_SHAPE_DEPTH = 4
_SHAPE_ITEMS = 8
_SHAPE_KEYS = 16
_SHAPE_CHARS = 1200
_NAMING_KEYS = frozenset({"type", "role", "object", "status", "finish_reason", "stop_reason", "finishReason"})
_NAME = re.compile(r"[A-Za-z][\w.-]{0,39}")


@dataclass(frozen=True, slots=True)
class NormalizedAnswer:
    """A provider's answer in one shape.

    Attributes:
        text: fragments in order, each once, joined by newlines; never reasoning.
        finish_reason: the provider's word in lower case; None when it gives none.
        block_types: kinds of blocks seen, in order of appearance, at most 8.
    """

    text: str
    finish_reason: str | None
    block_types: tuple[str, ...]
    input_tokens: int | None
    output_tokens: int | None

    @property
    def reason_unusable(self) -> str | None:
        """Why the text must not be stored: `cut`, `filtered`, `reasoning_only` or `empty`; None when it may be."""
        if self.finish_reason in _CUT:
            return "cut"
        if self.finish_reason in _FILTERED:
            return "filtered"
        if self.text:
            return None
        return "reasoning_only" if any(each in _NOT_CONTENT for each in self.block_types) else "empty"


def normalize_answer(response: Mapping[str, Any]) -> NormalizedAnswer:
    """One shape for the answers of OpenAI chat completions and responses, Anthropic messages and their relatives."""
    choice = _first(response, "choices") or _first(response, "candidates") or response
    fragments = [_without_inline_reasoning(text) for text in _texts(_answer_node(choice), 0)]
    usage = response.get("usage")
    return NormalizedAnswer(
        text="\n".join(dict.fromkeys(text for text in fragments if text)),
        finish_reason=_finish_reason(choice, response),
        block_types=tuple(dict.fromkeys(_block_types(choice, 0)))[:_SHAPE_ITEMS],
        input_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_count(usage, "completion_tokens", "output_tokens"),
    )


def describe_shape(response: Mapping[str, Any]) -> str:
    """What an answer is made of, for the log: keys, kinds and lengths, never its words.

    At most 4 levels deep, 8 items of a list, 16 keys of an object and 1,200 characters.
    """
    return clip(json.dumps(_shape(response, 0)), _SHAPE_CHARS)


def _first(response: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    items = response.get(key)
    first = items[0] if isinstance(items, list) and items else None
    return first if isinstance(first, Mapping) else None


def _answer_node(choice: Mapping[str, Any]) -> object:
    """The message itself; chat choices repeat some of it beside."""
    message = choice.get("message")
    return message if isinstance(message, Mapping) else choice


def _texts(node: object, depth: int) -> Iterator[str]:
    """Fragments of visible text in document order."""
    if isinstance(node, str):
        yield node.strip()
    elif isinstance(node, list) and depth < _DEEPEST:
        for item in node:
            yield from _texts(item, depth + 1)
    elif isinstance(node, Mapping) and depth < _DEEPEST and _is_content(node):
        for key in _CONTENT_KEYS:
            yield from _texts(node.get(key), depth + 1)


def _is_content(node: Mapping[str, Any]) -> bool:
    return node.get("type") not in _NOT_CONTENT and node.get("thought") is not True


def _without_inline_reasoning(text: str) -> str:
    while (shown := _INLINE_REASONING.sub("", text, count=1).strip()) != text:
        text = shown
    return _OPENED_BEFORE.sub("", text, count=1).strip() if _CLOSING in text.lower() else text


def _block_types(node: object, depth: int) -> Iterator[str]:
    if depth >= _DEEPEST:
        return
    if isinstance(node, list):
        for item in node:
            yield from _block_types(item, depth + 1)
    elif isinstance(node, Mapping):
        yield from _own_types(node)
        for key in _CONTENT_KEYS:
            yield from _block_types(node.get(key), depth + 1)


def _own_types(node: Mapping[str, Any]) -> Iterator[str]:
    kind = node.get("type")
    if isinstance(kind, str) and _NAME.fullmatch(kind):
        yield kind
    if node.get("thought") is True or any(node.get(key) for key in _REASONING_KEYS):
        yield "reasoning"
    content = node.get("content")
    if isinstance(content, str) and _without_inline_reasoning(content) != content.strip():
        yield "reasoning"


def _finish_reason(choice: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    details = response.get("incomplete_details")
    incomplete = details.get("reason") if isinstance(details, Mapping) else None
    candidates = (
        incomplete,
        choice.get("finish_reason"),
        choice.get("finishReason"),
        response.get("stop_reason"),
        response.get("status"),
    )
    return next((reason.lower() for reason in candidates if isinstance(reason, str)), None)


def _count(usage: object, *keys: str) -> int | None:
    values = (usage.get(key) for key in keys) if isinstance(usage, Mapping) else ()
    return next((value for value in values if type(value) is int and 0 <= value <= MAX_SAFE_INTEGER), None)


def _shape(node: object, depth: int, key: str = "") -> object:
    if isinstance(node, str):
        return node if key in _NAMING_KEYS and _NAME.fullmatch(node) else f"text of {len(node)}"
    if node is None or isinstance(node, bool | int | float):
        return node
    if depth >= _SHAPE_DEPTH:
        return "..."
    if isinstance(node, Mapping):
        items = list(node.items())[:_SHAPE_KEYS]
        return {_safe_key(name): _shape(value, depth + 1, str(name)) for name, value in items}
    if isinstance(node, list):
        return [_shape(item, depth + 1) for item in node[:_SHAPE_ITEMS]]
    return type(node).__name__


def _safe_key(name: object) -> str:
    return name if isinstance(name, str) and _NAME.fullmatch(name) else "key"
