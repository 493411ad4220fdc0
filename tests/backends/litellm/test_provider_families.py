"""Every family of providers that LiteLLM speaks to, each over its own interface on a local socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lcm.domain.model_calls import FaultKind
from lcm.domain.summaries import EscalationLevel
from lcm.errors import EmptySummary, SummarizerUnavailable
from lcm.summarizer.contract import SourceText, SummaryRequest
from lcm.summarizer.litellm_client import LiteLlmSummarizer
from lcm.summarizer.prompts import build_request
from tests.model_server import (
    ModelAnswer,
    ModelServer,
    drops,
    fails,
    is_cut,
    only_reasons,
    says_nothing,
    sends,
    sends_bytes,
)

KEY = "sk-planted-key"

#: Model and the interface that its requests arrive at.
FAMILIES = {
    "openai/gpt-x": "openai",
    "openai/responses/gpt-x": "responses",
    "anthropic/claude-x": "anthropic",
    "gemini/gemini-2.5-flash": "gemini",
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0": "bedrock",
    "mistral/mistral-x": "openai",
    "ollama_chat/llama3": "ollama",
    "cohere_chat/command-r": "cohere",
    "hosted_vllm/llama": "openai",
    "openrouter/some/model": "openai",
}
#: Whose words for it LiteLLM does not know (1.110).
UNTOLD = ("ollama", "cohere", "openrouter")
every_family = pytest.mark.parametrize("model", list(FAMILIES))


@dataclass(frozen=True)
class Asked:
    """A request and what must be seen of it."""

    level: EscalationLevel
    depth: int
    words: tuple[str, ...]
    temperature: float
    limit: int


NORMAL_LEAF = Asked(EscalationLevel.NORMAL, 0, ("conversation segment", "at most about 1200 tokens"), 0.2, 1800)
AGGRESSIVE_MERGE = Asked(
    EscalationLevel.AGGRESSIVE, 2, ("times to the day", "Be strict", "at most about 640 tokens"), 0.1, 960
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bedrock signs its requests; these keys are nobody's."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")


def request_for(level: EscalationLevel = EscalationLevel.NORMAL, depth: int = 0) -> SummaryRequest:
    source = SourceText(1, "The source.", 20_000, depth=depth, target_tokens=1200, previous="What came before.")
    return build_request(source, level)


def summarizer_for(server: ModelServer, model: str) -> LiteLlmSummarizer:
    return LiteLlmSummarizer(
        model,
        base_url=server.url_for(model),
        api_key=KEY,
        timeout_s=30,
        max_attempts=1,
        sleep=lambda _seconds: asyncio.sleep(0),
    )


class TestRequest:
    @every_family
    @pytest.mark.parametrize("asked", [NORMAL_LEAF, AGGRESSIVE_MERGE], ids=["normal", "aggressive"])
    async def test_everything_asked_for_arrives(self, server: ModelServer, model: str, asked: Asked) -> None:
        """System text, source, previous summary, depth, target, temperature and limit reach every interface."""
        request = request_for(asked.level, asked.depth)

        await summarizer_for(server, model).summarize(request)

        (sent,) = server.requests
        assert (sent.family, sent.system, sent.prompt) == (FAMILIES[model], request.system, request.prompt)
        assert "<previous_summary>\nWhat came before.\n</previous_summary>" in sent.prompt
        assert all(word in sent.prompt for word in asked.words)
        thinking = 4096 if model == "gemini/gemini-2.5-flash" else 0
        assert (sent.temperature, sent.max_tokens) == (asked.temperature, asked.limit + thinking)
        assert KEY in str(sent.headers)
        assert KEY not in str(sent.body)


class TestAnswer:
    @every_family
    async def test_text_and_figures_come_back_without_the_reasoning(self, server: ModelServer, model: str) -> None:
        """The visible text is the answer, with the provider's own token figures; private reasoning is not."""
        server.answer_in_turn(ModelAnswer(text="It works.", reasoning="private", input_tokens=70, output_tokens=3))

        answer = await summarizer_for(server, model).summarize(request_for())

        assert (answer.text, answer.input_tokens, answer.output_tokens) == ("It works.", 70, 3)

    @every_family
    @pytest.mark.parametrize(
        ("scripted", "reasons"),
        [
            (says_nothing(), {"empty"}),
            (only_reasons("private thought"), {"reasoning_only", "empty"}),  # for Cohere, LiteLLM drops reasoning
            (is_cut("half an answer"), {"cut"}),
        ],
    )
    async def test_an_unusable_answer_is_told_apart(
        self, server: ModelServer, model: str, scripted: ModelAnswer, reasons: set[str]
    ) -> None:
        """Empty, reasoning-only and cut answers are failed levels in every family."""
        server.answer_in_turn(scripted)

        with pytest.raises(EmptySummary) as caught:
            await summarizer_for(server, model).summarize(request_for())

        assert caught.value.reason in reasons


class TestFault:
    @every_family
    @pytest.mark.parametrize(
        ("scripted", "kind"),
        [
            (fails(400), FaultKind.REFUSED),
            (fails(401), FaultKind.KEY_REJECTED),
            (fails(402), FaultKind.NOT_PAID),
            (fails(403), FaultKind.NOT_ALLOWED),
            (fails(404), FaultKind.MODEL_UNKNOWN),
            (fails(408), FaultKind.TIMEOUT),
            (fails(413), FaultKind.TOO_LONG),
            (fails(422), FaultKind.REFUSED),
            (fails(429), FaultKind.RATE_LIMITED),
            (fails(500), FaultKind.SERVER_FAILED),
            (fails(502), FaultKind.SERVER_FAILED),
            (fails(503), FaultKind.SERVER_FAILED),
            (fails(529), FaultKind.SERVER_FAILED),
            (sends_bytes(b"<html>Welcome</html>"), FaultKind.GARBLED),
            (sends_bytes(b""), FaultKind.GARBLED),
            (sends_bytes(b"[1, 2]"), FaultKind.GARBLED),
            (sends_bytes(b'"text"'), FaultKind.GARBLED),
            (sends_bytes(b'{"a": "\xff'), FaultKind.GARBLED),
            (sends({"strange": 1}), FaultKind.GARBLED),
            (drops(), FaultKind.UNREACHABLE),
        ],
    )
    async def test_is_told_by_what_came_over_the_wire(
        self, server: ModelServer, model: str, scripted: ModelAnswer, kind: FaultKind
    ) -> None:
        """The same fault is the same kind whatever LiteLLM makes of it in this family."""
        server.answer_in_turn(scripted)

        with pytest.raises(SummarizerUnavailable) as caught:
            await summarizer_for(server, model).summarize(request_for())

        assert (caught.value.reason, len(server.requests)) == (kind, 1)

    @every_family
    async def test_a_server_without_tls_is_no_secure_connection(self, server: ModelServer, model: str) -> None:
        """An https address that does not speak TLS is told apart from a provider that is gone."""
        summarizer = LiteLlmSummarizer(
            model, base_url=server.url_for(model).replace("http:", "https:"), api_key=KEY, timeout_s=30, max_attempts=1
        )

        with pytest.raises(SummarizerUnavailable, match="no secure connection") as caught:
            await summarizer.summarize(request_for())

        assert caught.value.reason == FaultKind.TLS_FAILED

    @every_family
    @pytest.mark.parametrize(
        ("retry_after", "milliseconds", "expected"), [("7", None, 7.0), (None, "1500", 1.5), ("soon", None, None)]
    )
    async def test_the_wish_to_wait_is_read(
        self, server: ModelServer, model: str, retry_after: str | None, milliseconds: str | None, expected: float | None
    ) -> None:
        """`retry-after` and `retry-after-ms` reach the caller in every family; nonsense is no wish."""
        server.answer_in_turn(fails(429, retry_after=retry_after, retry_after_ms=milliseconds))

        with pytest.raises(SummarizerUnavailable) as caught:
            await summarizer_for(server, model).summarize(request_for())

        assert caught.value.retry_after_s == expected

    @pytest.mark.parametrize("model", [model for model in FAMILIES if not model.startswith(UNTOLD)])
    async def test_a_context_that_is_too_long_is_told_by_its_type(self, server: ModelServer, model: str) -> None:
        """LiteLLM knows how these families say it; the window is half of what was refused from then on."""
        server.answer_in_turn(fails(400, error="prompt is too long: 300000 tokens > 200000 maximum"))
        summarizer = summarizer_for(server, model)
        before = await summarizer.max_input_tokens()

        with pytest.raises(SummarizerUnavailable) as caught:
            await summarizer.summarize(request_for())

        after = await summarizer.max_input_tokens()
        assert caught.value.reason == FaultKind.TOO_LONG
        assert after is not None
        assert after < 1000 < (before or 2000)
