"""Summaries written by a model of any provider, through LiteLLM, which is loaded at the first call."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import warnings
from collections.abc import Mapping
from typing import Any

from lcm.clock import Clock, utc_now
from lcm.domain.model_calls import FaultKind
from lcm.domain.summaries import SummaryOrigin
from lcm.errors import EmptySummary, SummarizerUnavailable
from lcm.log import get_logger
from lcm.summarizer.contract import SummaryAnswer, SummaryRequest
from lcm.summarizer.levels import max_output_tokens
from lcm.summarizer.normalize import NormalizedAnswer, describe_shape, normalize_answer
from lcm.summarizer.provider_faults import to_fault
from lcm.summarizer.retry import Fault, Jitter, RetryPolicy, Sleep, call_with_retries
from lcm.tokens import estimate_tokens

log = get_logger(__name__)

#: A model that thinks before it answers spends its output limit on that first.
_REASONING_TOKENS = 4096
_MICROS = 1_000_000
#: In a model's name between provider and name: OpenAI's newer interface.
_RESPONSES = "/responses/"

_MISSING = "The LiteLLM package is missing; run `pip install 'long-context-manager[llm]'`."
_NO_PROVIDER = (
    "The model's provider is unknown; write LCM_SUMMARY_MODEL as provider/name, for example openai/gpt-4o-mini."
)


class LiteLlmSummarizer:
    """A summarizer for one model.

    Attributes:
        model: as LiteLLM names it, for example `anthropic/claude-haiku-4-5`.
    """

    origin = SummaryOrigin.MODEL
    is_remote = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 600,
        max_attempts: int = 3,
        max_input_tokens: int | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        jitter: Jitter = random.random,
    ) -> None:
        """Without a key, LiteLLM looks for the provider's own environment variable; `timeout_s` is per attempt.

        `max_input_tokens` is the model's context, when LiteLLM does not know it or knows it wrongly.
        """
        self.model = model
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._window = max_input_tokens
        self._refused_tokens: int | None = None
        self._policy = RetryPolicy(max_attempts=max_attempts)
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        """One answer; see `Summarizer.summarize`."""
        litellm = await asyncio.to_thread(_load_litellm)
        provider = _provider_of(litellm, self.model)

        async def attempt() -> Any:
            return await self._attempt(litellm, provider, request)

        response = await call_with_retries(attempt, self._policy, sleep=self._sleep, jitter=self._jitter)
        if isinstance(response, Fault):
            raise self._failure(response, request)
        return self._usable(response, provider, _cost_micros(litellm, response, self.model))

    async def max_input_tokens(self) -> int | None:
        """See `HasInputWindow`: what is configured, else what LiteLLM knows, and below what the provider refused."""
        window = self._window
        if window is None:
            window = _listed_window(await asyncio.to_thread(_load_litellm), self.model)
        if self._refused_tokens is None:
            return window
        learned = max(1, self._refused_tokens // 2)
        return learned if window is None else min(window, learned)

    def _failure(self, fault: Fault, request: SummaryRequest) -> EmptySummary | SummarizerUnavailable:
        """The error for a call that failed for good; a request that was too long is remembered."""
        if fault.kind is FaultKind.FILTERED:
            return EmptySummary(fault.kind, input_tokens=0, output_tokens=0, cost_micros=0)
        if fault.kind is FaultKind.TOO_LONG:
            tokens = estimate_tokens(request.system) + estimate_tokens(request.prompt)
            self._refused_tokens = min(tokens, self._refused_tokens or tokens)
        return SummarizerUnavailable(fault.message, reason=fault.kind, retry_after_s=fault.retry_after_s)

    async def _attempt(self, litellm: Any, provider: str, request: SummaryRequest) -> Any:
        """A response, or the fault of this attempt."""
        try:
            # LiteLLM's own timeout bounds each read; this one bounds an answer that trickles.
            async with asyncio.timeout(self._timeout_s):
                return await self._send(litellm, request)
        except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own types through
            fault = to_fault(error, provider, self._clock)
        log.warning("model_call_failed", provider=provider, fault=fault.kind, is_transient=fault.is_transient)
        return fault

    async def _send(self, litellm: Any, request: SummaryRequest) -> Any:
        """One request over the interface that the model's name asks for."""
        roles = [{"role": "system", "content": request.system}, {"role": "user", "content": request.prompt}]
        limit = max_output_tokens(request.target_tokens) + _reasoning_tokens(litellm, self.model)
        options = {
            "api_base": self._base_url,
            "api_key": self._api_key,
            "temperature": request.temperature,
            "timeout": self._timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            # Some models refuse a temperature; they are asked without.
            "drop_params": True,
        }
        provider, responses, name = self.model.partition(_RESPONSES)
        if responses:
            # As a completion, an answer without visible text would be an error (LiteLLM 1.110).
            return await litellm.aresponses(
                model=f"{provider}/{name}", input=roles, max_output_tokens=limit, store=False, **options
            )
        return await litellm.acompletion(model=self.model, messages=roles, max_tokens=limit, **options)

    def _usable(self, response: Any, provider: str, cost_micros: int | None) -> SummaryAnswer:
        """The answer in the response.

        Raises:
            EmptySummary: it holds no usable text.
        """
        body: Mapping[str, Any] = response.model_dump(warnings=False)
        answer = normalize_answer(body)
        reason = answer.reason_unusable
        if reason is not None:
            self._log_unusable(reason, provider, answer, body)
            raise EmptySummary(
                reason,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                cost_micros=cost_micros,
            )
        return SummaryAnswer(answer.text, answer.input_tokens, answer.output_tokens, cost_micros)

    def _log_unusable(self, reason: str, provider: str, answer: NormalizedAnswer, body: Mapping[str, Any]) -> None:
        log.warning(
            "model_answer_unusable",
            reason=reason,
            provider=provider,
            model=self.model,
            finish_reason=answer.finish_reason,
            block_types=answer.block_types,
            shape=describe_shape(body),
        )


def _load_litellm() -> Any:
    """The package, silent and without network of its own; takes seconds the first time.

    Raises:
        SummarizerUnavailable: it is not installed.
    """
    # Without it, importing LiteLLM fetches its price list from the network.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    _silence_known_warnings()
    try:
        import litellm
    except ImportError:
        raise SummarizerUnavailable(_MISSING) from None
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    # Its loggers print request text.
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def _silence_known_warnings() -> None:
    """Pydantic complains about LiteLLM's own types whenever LiteLLM loads another module, calls included.

    A filter by message, set again for each call, and no `catch_warnings`: that one is not safe across tasks.
    """
    warnings.filterwarnings("ignore", message=r"Items? .+ using the `ReadOnly` qualifier", category=UserWarning)


def _provider_of(litellm: Any, model: str) -> str:
    try:
        return str(litellm.get_llm_provider(model)[1])
    except Exception:  # noqa: BLE001 - its types differ by what is wrong with the name
        raise SummarizerUnavailable(_NO_PROVIDER) from None


def _listed_window(litellm: Any, model: str) -> int | None:
    """The context of a model that LiteLLM lists; its own function would ask a local server over the network."""
    bare = model.replace(_RESPONSES, "/")
    names = (bare, bare.partition("/")[2])
    listed: Mapping[str, Any] = next((litellm.model_cost[name] for name in names if name in litellm.model_cost), {})
    window = listed.get("max_input_tokens")
    return window if type(window) is int and window > 0 else None


def _reasoning_tokens(litellm: Any, model: str) -> int:
    return _REASONING_TOKENS if litellm.supports_reasoning(model) else 0


def _cost_micros(litellm: Any, response: Any, model: str) -> int | None:
    try:
        cost = litellm.completion_cost(completion_response=response, model=model)
    except Exception:  # noqa: BLE001 - a price that is not known must not cost the answer
        return None
    return round(float(cost) * _MICROS)
