"""A scripted model provider on a loopback socket, with the interfaces of several families of providers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

_LONGEST_HOLD_S = 60


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request as it arrived; header names are lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def family(self) -> str:
        """Whose interface was called: anthropic, responses, gemini, bedrock, ollama, cohere or openai (chat)."""
        path = self.path.partition("?")[0]
        return next((family for end, family in _FAMILIES.items() if path.endswith(end)), "openai")

    @property
    def system(self) -> str:
        """The system text, wherever this interface carries it."""
        own = self.body.get("system") or self.body.get("system_instruction") or self.body.get("systemInstruction")
        return _flat(own) if own is not None else self._said_by("system", "developer")

    @property
    def prompt(self) -> str:
        """The user's text."""
        return self._said_by("user")

    @property
    def max_tokens(self) -> int | None:
        """The output limit, whatever its name."""
        names = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "num_predict")
        return next((place[name] for place in self._options for name in names if name in place), None)

    @property
    def temperature(self) -> float | None:
        return next((place["temperature"] for place in self._options if "temperature" in place), None)

    @property
    def _options(self) -> list[dict[str, Any]]:
        nested = (self.body.get(name, {}) for name in ("generationConfig", "inferenceConfig", "options"))
        return [self.body, *nested]

    def _said_by(self, *roles: str) -> str:
        said: list[dict[str, Any]] = next(
            (self.body[name] for name in ("messages", "input", "contents") if name in self.body), []
        )
        return "\n".join(_flat(each.get("content", each)) for each in said if each.get("role") in roles)


#: Ends of paths.
_FAMILIES = {
    "/messages": "anthropic",
    "/responses": "responses",
    ":generateContent": "gemini",
    "/converse": "bedrock",
    "/api/chat": "ollama",
    "/v2/chat": "cohere",
}


def _flat(content: object) -> str:
    if isinstance(content, dict):
        content = content.get("parts", [content])
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return str(content)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the provider does with one request; make it with the functions below."""

    text: str = ""
    reasoning: str | None = None
    is_cut: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    error_code: str = "scripted"
    is_silent: bool = False
    closes_early: bool = False
    drops: bool = False
    held_until: threading.Event | None = None
    body: Mapping[str, Any] | None = None
    raw: bytes | None = None
    input_tokens: int = 100
    output_tokens: int = 20


def says(text: str, *, input_tokens: int = 100, output_tokens: int = 20) -> ModelAnswer:
    """A complete answer."""
    return ModelAnswer(text=text, input_tokens=input_tokens, output_tokens=output_tokens)


def says_nothing() -> ModelAnswer:
    """An answer with no text at all."""
    return ModelAnswer()


def only_reasons(reasoning: str) -> ModelAnswer:
    """Private reasoning and no answer."""
    return ModelAnswer(reasoning=reasoning)


def is_cut(text: str) -> ModelAnswer:
    """An answer that ran into the output limit."""
    return ModelAnswer(text=text, is_cut=True)


def fails(
    status: int,
    *,
    error: str = "scripted failure",
    retry_after: str | None = None,
    retry_after_ms: str | None = None,
    code: str = "scripted",
) -> ModelAnswer:
    """An HTTP error; `error` is the message in its body."""
    wishes = {"retry-after": retry_after, "retry-after-ms": retry_after_ms}
    headers = {name: value for name, value in wishes.items() if value is not None}
    return ModelAnswer(status=status, error=error, headers=headers, error_code=code)


def never_answers() -> ModelAnswer:
    """The connection stays open without a byte until the server closes."""
    return ModelAnswer(is_silent=True)


def hangs_up() -> ModelAnswer:
    """The connection is closed in the middle of the answer."""
    return ModelAnswer(text="half of an answer", closes_early=True)


def drops() -> ModelAnswer:
    """The connection is closed without a byte of an answer."""
    return ModelAnswer(drops=True)


def held(answer: ModelAnswer, until: threading.Event) -> ModelAnswer:
    """An answer that comes when the event is set, a minute later at most; other requests are answered meanwhile."""
    return replace(answer, held_until=until)


def sends(body: Mapping[str, Any]) -> ModelAnswer:
    """This JSON object as it stands."""
    return ModelAnswer(body=body)


def sends_bytes(raw: bytes) -> ModelAnswer:
    """These bytes, said to be JSON."""
    return ModelAnswer(raw=raw)


AnswerScript = Callable[[ModelRequest], ModelAnswer]


class ModelServer:
    """A provider that answers by script; use it as a context manager.

    Attributes:
        url: root without a slash at the end; `url_for` tells what a model needs.
        requests: all requests so far, in order of arrival.
    """

    def __init__(self, script: AnswerScript | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self._script: AnswerScript = script or (lambda _request: says("A summary."))
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def url_for(self, model: str) -> str:
        """The base URL that LiteLLM needs for this model."""
        provider = model.partition("/")[0]
        if provider == "cohere_chat":
            return f"{self.url}/v2/chat"
        return self.url if provider in {"anthropic", "gemini", "bedrock", "ollama_chat"} else self.openai_url

    def answer(self, script: AnswerScript) -> None:
        """From now on, `script` decides each answer; it runs in a thread of the server, one request at a time."""
        self._script = script

    def answer_in_turn(self, *answers: ModelAnswer) -> None:
        """From now on, these answers one after the other; the last one repeats."""
        rest = list(answers)
        self._script = lambda _request: rest.pop(0) if len(rest) > 1 else rest[0]

    def decide(self, request: ModelRequest) -> ModelAnswer:
        with self._lock:
            self.requests.append(request)
            return self._script(request)

    def wait_for_close(self) -> None:
        self._is_closing.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._is_closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    owner: ModelServer
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the play; anything else would be printed by no test."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Nothing is printed."""

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ModelRequest(self.path, headers, json.loads(self.rfile.read(size) or b"{}"))
        if self.path.endswith("/api/show"):  # LiteLLM asks Ollama what a model can do
            self._send(sends({}), request)
            return
        answer = self.server.owner.decide(request)
        if answer.is_silent:
            self.server.owner.wait_for_close()
            return
        if answer.held_until is not None:
            answer.held_until.wait(_LONGEST_HOLD_S)
        if answer.drops:
            self.close_connection = True
            return
        self._send(answer, request)

    def _send(self, answer: ModelAnswer, request: ModelRequest) -> None:
        data = json.dumps(_body(answer, request)).encode() if answer.raw is None else answer.raw
        self.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if answer.closes_early else data)


def _body(answer: ModelAnswer, request: ModelRequest) -> Mapping[str, Any]:
    if answer.body is not None:
        return answer.body
    if answer.status >= 400:
        return {"type": "error", "error": {"type": "scripted", "message": answer.error, "code": answer.error_code}}
    return _BODIES[request.family](answer, request)


def _anthropic_body(answer: ModelAnswer, request: ModelRequest) -> Mapping[str, Any]:
    content: list[dict[str, str]] = []
    if answer.reasoning is not None:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": "s"})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": content,
        "stop_reason": "max_tokens" if answer.is_cut else "end_turn",
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
    }


def _openai_body(answer: ModelAnswer, request: ModelRequest) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    choice = {"index": 0, "message": message, "finish_reason": "length" if answer.is_cut else "stop"}
    usage = {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request.body.get("model"),
        "choices": [choice],
        "usage": usage | {"total_tokens": answer.input_tokens + answer.output_tokens},
    }


def _responses_body(answer: ModelAnswer, request: ModelRequest) -> Mapping[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        output.append(
            {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": answer.reasoning}]}
        )
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        output.append({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content})
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": request.body.get("model"),
        "status": "incomplete" if answer.is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if answer.is_cut else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "usage": {
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
    }


def _gemini_body(answer: ModelAnswer, _request: ModelRequest) -> Mapping[str, Any]:
    parts: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        parts.append({"text": answer.reasoning, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    finish = "MAX_TOKENS" if answer.is_cut else "STOP"
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}],
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
        },
    }


def _bedrock_body(answer: ModelAnswer, _request: ModelRequest) -> Mapping[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        content.append({"reasoningContent": {"reasoningText": {"text": answer.reasoning, "signature": "s"}}})
    if answer.text:
        content.append({"text": answer.text})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "max_tokens" if answer.is_cut else "end_turn",
        "usage": {
            "inputTokens": answer.input_tokens,
            "outputTokens": answer.output_tokens,
            "totalTokens": answer.input_tokens + answer.output_tokens,
        },
    }


def _ollama_body(answer: ModelAnswer, request: ModelRequest) -> Mapping[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    if answer.reasoning is not None:
        message["thinking"] = answer.reasoning
    return {
        "model": request.body.get("model"),
        "created_at": "2026-02-17T07:37:00Z",
        "message": message,
        "done": True,
        "done_reason": "length" if answer.is_cut else "stop",
        "prompt_eval_count": answer.input_tokens,
        "eval_count": answer.output_tokens,
    }


def _cohere_body(answer: ModelAnswer, _request: ModelRequest) -> Mapping[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        content.append({"type": "thinking", "thinking": answer.reasoning})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    return {
        "id": "c1",
        "finish_reason": "MAX_TOKENS" if answer.is_cut else "COMPLETE",
        "message": {"role": "assistant", "content": content},
        "usage": {"tokens": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}},
    }


_BODIES: dict[str, Callable[[ModelAnswer, ModelRequest], Mapping[str, Any]]] = {
    "anthropic": _anthropic_body,
    "responses": _responses_body,
    "gemini": _gemini_body,
    "bedrock": _bedrock_body,
    "ollama": _ollama_body,
    "cohere": _cohere_body,
    "openai": _openai_body,
}
