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
from lcm.domain.summaries import SummaryOrigin
from lcm.errors import EmptySummary, SummarizerUnavailable
from lcm.log import get_logger
from lcm.summarizer.contract import SummaryAnswer, SummaryRequest
from lcm.summarizer.levels import max_output_tokens
from lcm.summarizer.normalize import NormalizedAnswer, describe_shape, normalize_answer
from lcm.summarizer.provider_faults import to_fault
from lcm.summarizer.retry import Fault, Jitter, RetryPolicy, Sleep, call_with_retries

log = get_logger(__name__)

#: A model that thinks before it answers spends its output limit on that first.
_REASONING_TOKENS = 4096
_MICROS = 1_000_000

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
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        jitter: Jitter = random.random,
    ) -> None:
        """Without a key, LiteLLM looks for the provider's own environment variable; `timeout_s` is per attempt."""
        self.model = model
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_s = timeout_s
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
            raise SummarizerUnavailable(response.message)
        return self._usable(response, provider, _cost_micros(litellm, response, self.model))

    async def _attempt(self, litellm: Any, provider: str, request: SummaryRequest) -> Any:
        """A response, or the fault of this attempt."""
        try:
            # LiteLLM's own timeout bounds each read; this one bounds an answer that trickles.
            async with asyncio.timeout(self._timeout_s):
                return await litellm.acompletion(**self._arguments(litellm, request))
        except Exception as error:  # noqa: BLE001 - LiteLLM lets its providers' own types through
            fault = to_fault(error, provider, self._clock)
        log.warning("model_call_failed", provider=provider, fault=fault.kind, is_transient=fault.is_transient)
        return fault

    def _arguments(self, litellm: Any, request: SummaryRequest) -> dict[str, Any]:
        return {
            "model": self.model,
            "api_base": self._base_url,
            "api_key": self._api_key,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            "temperature": request.temperature,
            "max_tokens": max_output_tokens(request.target_tokens) + _reasoning_tokens(litellm, self.model),
            "timeout": self._timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            # Some models refuse a temperature; they are asked without.
            "drop_params": True,
        }

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


def _reasoning_tokens(litellm: Any, model: str) -> int:
    return _REASONING_TOKENS if litellm.supports_reasoning(model) else 0


def _cost_micros(litellm: Any, response: Any, model: str) -> int | None:
    try:
        cost = litellm.completion_cost(completion_response=response, model=model)
    except Exception:  # noqa: BLE001 - a price that is not known must not cost the answer
        return None
    return round(float(cost) * _MICROS)
