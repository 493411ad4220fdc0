from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus
from lcm.domain.summaries import EscalationLevel, SummaryOrigin
from lcm.errors import EmptySummary, SummarizerUnavailable
from lcm.summarizer.contract import CallLedger, SourceText, SummaryRequest
from lcm.summarizer.escalation import write_summary
from lcm.summarizer.litellm_client import LiteLlmSummarizer
from lcm.summarizer.prompts import build_request
from lcm.tokens import estimate_tokens
from tests.model_server import (
    ModelAnswer,
    ModelServer,
    fails,
    hangs_up,
    is_cut,
    never_answers,
    only_reasons,
    says,
    says_nothing,
    sends,
)

OPENAI, ANTHROPIC = "openai/gpt-x", "anthropic/claude-x"
both = pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])

KEY = "sk-planted-key"
SOURCE = "The planted source text."
NOW = datetime(2026, 2, 17, 7, 37, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


class Sleeper:
    """Takes note of waiting instead of waiting."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def request_for(*, depth: int = 0, level: EscalationLevel = EscalationLevel.NORMAL) -> SummaryRequest:
    source = SourceText(1, SOURCE, 20_000, depth=depth, target_tokens=1200, previous="What came before.")
    return build_request(source, level)


def summarizer_for(
    server: ModelServer, model: str = OPENAI, *, sleep: Sleeper | None = None, **options: Any
) -> LiteLlmSummarizer:
    return LiteLlmSummarizer(
        model,
        base_url=server.url_for(model),
        api_key=KEY,
        clock=lambda: NOW,
        sleep=sleep or Sleeper(),
        jitter=lambda: 0.0,
        **{"timeout_s": 30, **options},
    )


async def failure_of(summarizer: LiteLlmSummarizer) -> SummarizerUnavailable:
    with pytest.raises(SummarizerUnavailable) as caught:
        await summarizer.summarize(request_for())
    return caught.value


class TestRequest:
    @both
    async def test_everything_asked_for_arrives(self, server: ModelServer, model: str) -> None:
        """System text, source, previous summary, depth, target and temperature reach the provider of either API."""
        request = request_for(depth=1, level=EscalationLevel.AGGRESSIVE)

        await summarizer_for(server, model).summarize(request)

        (sent,) = server.requests
        assert (sent.system, sent.prompt) == (request.system, request.prompt)
        assert "<previous_summary>\nWhat came before.\n</previous_summary>" in sent.prompt
        assert f"<record>\n{SOURCE}\n</record>" in sent.prompt
        assert "times to the hour" in sent.prompt
        assert "at most about 640 tokens" in sent.prompt
        assert (sent.body["temperature"], sent.max_tokens) == (0.1, 960)
        assert sent.body["model"] == model.partition("/")[2]

    async def test_the_key_travels_in_the_header_only(self, server: ModelServer) -> None:
        """The configured key authorizes the request and is not in its body."""
        await summarizer_for(server).summarize(request_for())

        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in str(server.requests[0].body)

    async def test_a_reasoning_model_gets_room_to_think_and_no_temperature(self, server: ModelServer) -> None:
        """What a model refuses is left out, and its thinking does not use up the answer's limit."""
        await summarizer_for(server, "openai/gpt-5").summarize(request_for())

        assert server.requests[0].max_tokens == 1200 + 600 + 4096
        assert "temperature" not in server.requests[0].body


class TestAnswer:
    @both
    async def test_text_and_figures_come_back(self, server: ModelServer, model: str) -> None:
        """The text is taken with the provider's own token figures; an unlisted model has no known cost."""
        server.answer_in_turn(says("It works.", input_tokens=70, output_tokens=3))

        answer = await summarizer_for(server, model).summarize(request_for())

        assert (answer.text, answer.input_tokens, answer.output_tokens) == ("It works.", 70, 3)
        assert answer.cost_micros is None

    async def test_a_listed_model_has_a_cost_in_millionths(self, server: ModelServer) -> None:
        """1,000 tokens in and out of gpt-4o-mini cost 150 and 600 millionths of a dollar."""
        server.answer_in_turn(says("It works.", input_tokens=1000, output_tokens=1000))

        answer = await summarizer_for(server, "openai/gpt-4o-mini").summarize(request_for())

        assert answer.cost_micros == 750

    @both
    @pytest.mark.parametrize(
        ("scripted", "reason"),
        [
            (says_nothing(), "empty"),
            (only_reasons("private thought"), "reasoning_only"),
            (is_cut("half an answer"), "cut"),
        ],
    )
    async def test_an_unusable_answer_is_an_empty_summary(
        self, server: ModelServer, model: str, scripted: ModelAnswer, reason: str
    ) -> None:
        """Empty, reasoning-only and cut answers are refused without another request, with what they used."""
        server.answer_in_turn(scripted)

        with pytest.raises(EmptySummary) as caught:
            await summarizer_for(server, model).summarize(request_for())

        assert (caught.value.reason, caught.value.input_tokens) == (reason, 100)
        assert len(server.requests) == 1

    async def test_an_unusable_answer_is_described_in_the_log(self, server: ModelServer) -> None:
        """The log tells provider, model, kinds of blocks and the shape, and no words of the answer."""
        server.answer_in_turn(only_reasons("private thought"))

        with capture_logs() as logs, pytest.raises(EmptySummary):
            await summarizer_for(server).summarize(request_for())

        (event,) = [log for log in logs if log["event"] == "model_answer_unusable"]
        assert (event["provider"], event["model"], event["block_types"]) == ("openai", OPENAI, ("reasoning",))
        assert len(event["shape"]) <= 1200
        assert "private" not in str(logs)


class TestFaults:
    @both
    @pytest.mark.parametrize(
        ("scripted", "words"),
        [
            (fails(400), "the request was refused"),
            (fails(400, error="prompt is too long: 300000 tokens > 200000 maximum"), "too long for the model"),
            (fails(401), "the API key was rejected"),
            (fails(403), "access was refused"),
            (fails(404), "the model or the address is unknown"),
        ],
    )
    async def test_what_does_not_pass_is_not_tried_again(
        self, server: ModelServer, model: str, scripted: ModelAnswer, words: str
    ) -> None:
        """Wrong keys, unknown models and refused requests end after one request, with what to check."""
        server.answer_in_turn(scripted)

        error = await failure_of(summarizer_for(server, model))

        assert str(error).startswith(f"The model provider {model.partition('/')[0]}: ")
        assert words in str(error)
        assert len(server.requests) == 1

    @both
    @pytest.mark.parametrize(
        ("scripted", "words"),
        [
            (fails(408), "no answer in time"),
            (fails(409), "in conflict"),
            (fails(429), "rate of requests is limited"),
            (fails(500), "failed to answer"),
            (fails(503), "failed to answer"),
            (fails(529), "failed to answer"),
            (hangs_up(), "cannot be reached"),
            (sends({"strange": 1}), "no model's answer"),
        ],
    )
    async def test_what_may_pass_is_tried_three_times(
        self, server: ModelServer, model: str, scripted: ModelAnswer, words: str
    ) -> None:
        """Overload, broken connections and strange answers are tried again after 1 and 2 seconds."""
        server.answer_in_turn(scripted)
        sleep = Sleeper()

        error = await failure_of(summarizer_for(server, model, sleep=sleep))

        assert words in str(error)
        assert (len(server.requests), sleep.slept) == (3, [1.0, 2.0])

    @both
    async def test_a_provider_that_recovers_answers(self, server: ModelServer, model: str) -> None:
        """The answer of the second attempt is the answer."""
        server.answer_in_turn(fails(500), says("It works."))

        assert (await summarizer_for(server, model).summarize(request_for())).text == "It works."

    @both
    @pytest.mark.parametrize(
        ("retry_after", "expected"),
        [("7", 7.0), (format_datetime(NOW.replace(second=30), usegmt=True), 30.0), ("60", 60.0)],
    )
    async def test_retry_after_is_honoured_up_to_a_minute(
        self, server: ModelServer, model: str, retry_after: str, expected: float
    ) -> None:
        """Seconds and dates decide how long to wait before the next attempt."""
        server.answer_in_turn(fails(429, retry_after=retry_after), says("It works."))
        sleep = Sleeper()

        await summarizer_for(server, model, sleep=sleep).summarize(request_for())

        assert sleep.slept == [expected]

    @both
    @pytest.mark.parametrize(
        ("retry_after", "until", "expected"),
        [
            ("9999", "2026-02-17 10:23", 9999.0),
            ("Tue, 17 Feb 2026 09:00:00 GMT", "2026-02-17 09:00", 4980.0),
            ("1e300", "2026-03-19 07:37", 2_592_000.0),
        ],
    )
    async def test_a_longer_limit_ends_the_call_with_its_end(
        self, server: ModelServer, model: str, retry_after: str, until: str, expected: float
    ) -> None:
        """Nobody waits for hours in a call: the error tells until when, an absurd wish is cut to a month."""
        server.answer_in_turn(fails(429, retry_after=retry_after), says("It works."))
        sleep = Sleeper()

        error = await failure_of(summarizer_for(server, model, sleep=sleep))

        assert str(error).endswith(f"requests are limited until {until} UTC; go on then.")
        assert (error.reason, error.retry_after_s) == ("rate_limited", expected)
        assert (sleep.slept, len(server.requests)) == ([], 1)

    async def test_a_content_filter_is_a_failed_level(self, server: ModelServer) -> None:
        """A text that the provider's filter refuses is no failure of the provider, and costs nothing."""
        server.answer_in_turn(fails(400, error="filtered: content_policy_violation", code="content_policy_violation"))

        with pytest.raises(EmptySummary) as caught:
            await summarizer_for(server, "azure/gpt-x").summarize(request_for())

        assert (caught.value.reason, caught.value.cost_micros) == ("filtered", 0)

    @both
    async def test_a_silent_provider_is_a_timeout(self, server: ModelServer, model: str) -> None:
        """A connection without an answer ends after the configured time."""
        server.answer_in_turn(never_answers())

        error = await failure_of(summarizer_for(server, model, timeout_s=0.2, max_attempts=1))

        assert "no answer in time" in str(error)

    @both
    async def test_a_closed_port_is_unreachable(self, model: str) -> None:
        """Nobody listening is told apart from a failing provider."""
        with ModelServer() as gone:
            summarizer = summarizer_for(gone, model, max_attempts=1)

        assert "cannot be reached" in str(await failure_of(summarizer))

    async def test_cancelling_stops_the_call(self, server: ModelServer) -> None:
        """A cancelled call raises its cancellation and sends nothing more."""
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        def script(_request: object) -> ModelAnswer:
            loop.call_soon_threadsafe(asked.set)
            return never_answers()

        server.answer(script)
        task = asyncio.create_task(summarizer_for(server).summarize(request_for()))
        await asked.wait()
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.requests) == 1


class TestInputWindow:
    @pytest.mark.parametrize(
        ("model", "configured", "expected"),
        [
            ("openai/gpt-4o-mini", None, 128_000),
            ("openai/responses/gpt-4o-mini", None, 128_000),
            ("gpt-4", None, 8192),
            ("openai/gpt-4o-mini", 9000, 9000),
            ("openai/unheard-of", None, None),
            ("ollama_chat/unheard-of", None, None),
        ],
    )
    async def test_the_setting_goes_before_the_list(
        self, model: str, configured: int | None, expected: int | None
    ) -> None:
        """LiteLLM's own list tells the context of known models, without asking anybody; others are unknown."""
        assert await LiteLlmSummarizer(model, max_input_tokens=configured).max_input_tokens() == expected

    async def test_half_of_what_was_refused_is_the_window_from_then_on(self, server: ModelServer) -> None:
        """A refused request of about 700 tokens makes the window about 350; a lower setting stays."""
        server.answer_in_turn(fails(400, error="prompt is too long: 300000 tokens > 200000 maximum"))
        request = request_for()
        refused = estimate_tokens(request.system) + estimate_tokens(request.prompt)
        roomy, tiny = summarizer_for(server), summarizer_for(server, max_input_tokens=10)

        for summarizer in (roomy, tiny):
            with pytest.raises(SummarizerUnavailable):
                await summarizer.summarize(request)

        assert (await roomy.max_input_tokens(), await tiny.max_input_tokens()) == (refused // 2, 10)


class TestConfiguration:
    @pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
    async def test_a_missing_key_says_what_to_set(self, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
        """Without any key nothing is sent or tried again."""
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        sleep = Sleeper()

        error = await failure_of(LiteLlmSummarizer(model, base_url="http://127.0.0.1:9", sleep=sleep))

        assert "LCM_SUMMARY_API_KEY" in str(error)
        assert sleep.slept == []

    async def test_an_unknown_provider_says_how_to_write_the_model(self) -> None:
        """A model name without a known provider is refused before any request."""
        error = await failure_of(LiteLlmSummarizer("nosuch/model"))

        assert "write LCM_SUMMARY_MODEL as provider/name" in str(error)

    async def test_a_missing_package_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without LiteLLM the error names the install command."""
        monkeypatch.setitem(sys.modules, "litellm", None)

        error = await failure_of(LiteLlmSummarizer(OPENAI))

        assert "pip install 'long-context-manager[llm]'" in str(error)

    def test_it_is_a_remote_model(self) -> None:
        """Summaries carry the model's name, and its calls belong in the ledger."""
        summarizer = LiteLlmSummarizer(OPENAI)

        assert (summarizer.model, summarizer.origin, summarizer.is_remote) == (OPENAI, SummaryOrigin.MODEL, True)


class TestEscalation:
    @both
    async def test_a_summary_is_written_through_the_socket(self, server: ModelServer, model: str) -> None:
        """An empty answer is asked for again at the lower temperature, and both calls are in the ledger."""
        server.answer_in_turn(says_nothing(), says("It works."))
        statuses: list[CallStatus] = []

        async def reserve(_reservation: CallReservation) -> object:
            return None

        async def finish(_call: object, outcome: CallOutcome) -> None:
            statuses.append(outcome.status)

        ledger = CallLedger(reserve, finish)

        source = SourceText(1, SOURCE, 20_000, depth=0, target_tokens=1200)
        summary = await write_summary(summarizer_for(server, model), source, ledger=ledger, scrub=str)

        assert (summary.text, summary.level, summary.calls) == ("It works.", EscalationLevel.AGGRESSIVE, 2)
        assert [request.body["temperature"] for request in server.requests] == [0.2, 0.1]
        assert statuses == [CallStatus.REJECTED, CallStatus.ANSWERED]


class TestSafety:
    @both
    @pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
    async def test_nothing_secret_is_in_errors_logs_or_output(
        self,
        server: ModelServer,
        model: str,
        status: int,
        capfd: pytest.CaptureFixture[str],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """Key, source, address and the provider's message appear in no error, log, traceback or stream."""
        server.answer_in_turn(fails(status, error=f"the body repeats {KEY} and {SOURCE}"))

        with capture_logs() as logs, caplog.at_level(logging.DEBUG):
            error = await failure_of(summarizer_for(server, model))

        printed = capfd.readouterr()
        seen = "\n".join(["".join(traceback.format_exception(error)), repr(error), str(logs), printed.out, printed.err])
        for secret in (KEY, "planted source", "the body repeats", server.url):
            assert secret not in seen
        assert not [record for record in caplog.records if record.name.startswith("LiteLLM")]
