"""What a failed provider call means, told from types and status codes, never from message text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lcm.clock import Clock
from lcm.summarizer.retry import Fault, parse_retry_after

#: Base classes by name: the libraries behind LiteLLM differ by provider and are not imported for this.
_TIMEOUTS = frozenset({"Timeout", "TimeoutError", "APITimeoutError", "TimeoutException"})
_BROKEN_CONNECTIONS = frozenset({"ConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError"})
_TOO_LONG = frozenset({"ContextWindowExceededError"})

_BY_STATUS = {
    401: "key_rejected",
    402: "not_paid",
    403: "not_allowed",
    404: "model_unknown",
    408: "timeout",
    409: "conflict",
    413: "too_long",
    429: "rate_limited",
}
_TRANSIENT = frozenset({"unreachable", "timeout", "conflict", "rate_limited", "server_failed"})

_MESSAGES = {
    "key_missing": "no API key was found; set LCM_SUMMARY_API_KEY or the provider's own variable.",
    "key_rejected": "the API key was rejected; check LCM_SUMMARY_API_KEY or the provider's own variable.",
    "not_paid": "payment is asked for; check the account's balance.",
    "not_allowed": "access was refused; check what the API key may use.",
    "model_unknown": "the model or the address is unknown; check LCM_SUMMARY_MODEL and LCM_SUMMARY_BASE_URL.",
    "too_long": "the text is too long for the model; take one with a larger context or lower LCM_LEAF_CHUNK_TOKENS.",
    "unreachable": "it cannot be reached; check the network and LCM_SUMMARY_BASE_URL.",
    "timeout": "no answer in time; try again or raise LCM_SUMMARY_TIMEOUT_S.",
    "conflict": "the request was in conflict with another; try again later.",
    "rate_limited": "the rate of requests is limited; try again later or check the account's quota.",
    "server_failed": "it failed to answer; try again later.",
    "refused": "the request was refused; check LCM_SUMMARY_MODEL and what this model accepts.",
}


def to_fault(error: BaseException, provider: str, clock: Clock) -> Fault:
    """The fault behind an exception of a provider call; `provider` names it in the message."""
    chain = list(_chain(error))
    kind = _kind(chain)
    message = f"The model provider {provider}: {_MESSAGES[kind]}"
    return Fault(kind, message, kind in _TRANSIENT, _retry_after(chain, clock))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _kind(chain: list[BaseException]) -> str:
    if _is_any(chain[:1], _TOO_LONG):
        return "too_long"
    status = _status(chain[0])
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    # LiteLLM reports what never became a response as status 500; the cause tells.
    if any(_is_missing_key(error) for error in chain):
        return "key_missing"
    if _is_any(chain, _TIMEOUTS):
        return "timeout"
    if _is_any(chain, _BROKEN_CONNECTIONS):
        return "unreachable"
    return "server_failed" if status is not None and status >= 500 else "refused"


def _is_any(errors: list[BaseException], names: frozenset[str]) -> bool:
    return any(base.__name__ in names for error in errors for base in type(error).__mro__)


def _is_missing_key(error: BaseException) -> bool:
    """The OpenAI client raises its bare base class before any request when it has no credentials."""
    return type(error).__name__ == "OpenAIError" and type(error).__module__.partition(".")[0] == "openai"


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _retry_after(chain: list[BaseException], clock: Clock) -> float | None:
    found = (parse_retry_after(headers, clock) for error in chain for headers in _headers(error))
    return next((seconds for seconds in found if seconds is not None), None)


def _headers(error: BaseException) -> Iterator[Mapping[str, str]]:
    # Which of the two is filled depends on the provider (LiteLLM 1.110).
    own = getattr(error, "litellm_response_headers", None)
    of_response = getattr(getattr(error, "response", None), "headers", None)
    for headers in (own, of_response):
        if isinstance(headers, Mapping):
            yield {str(name).lower(): str(value) for name, value in headers.items()}
