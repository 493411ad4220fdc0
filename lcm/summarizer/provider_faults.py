"""What a failed provider call means, told from types and status codes, never from message text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from lcm.clock import Clock
from lcm.domain.model_calls import FaultKind
from lcm.summarizer.retry import Fault, parse_retry_after

#: Base classes by name: the libraries behind LiteLLM differ by provider and are not imported for this.
_TIMEOUTS = frozenset({"Timeout", "TimeoutError", "APITimeoutError", "TimeoutException"})
_BROKEN_CONNECTIONS = frozenset({"ConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError"})
_TLS = frozenset({"SSLError"})
_TOO_LONG = frozenset({"ContextWindowExceededError"})
_FILTERED = frozenset({"ContentPolicyViolationError"})
#: An HTTP error that really came over the wire; LiteLLM gives many others a status of its own (1.110).
_FROM_THE_WIRE = frozenset({"HTTPStatusError"})
#: From here on, a limit is told with its end.
_LONG_S = 60
#: What LiteLLM calls an answer with status 200 that it cannot read, besides 500 and above (Gemini, Cohere).
_UNREADABLE = 422

_BY_STATUS = {
    401: FaultKind.KEY_REJECTED,
    402: FaultKind.NOT_PAID,
    403: FaultKind.NOT_ALLOWED,
    404: FaultKind.MODEL_UNKNOWN,
    408: FaultKind.TIMEOUT,
    409: FaultKind.CONFLICT,
    413: FaultKind.TOO_LONG,
    429: FaultKind.RATE_LIMITED,
}
_TRANSIENT = frozenset(
    {
        FaultKind.UNREACHABLE,
        FaultKind.TIMEOUT,
        FaultKind.CONFLICT,
        FaultKind.RATE_LIMITED,
        FaultKind.SERVER_FAILED,
        FaultKind.GARBLED,
    }
)

_MESSAGES = {
    FaultKind.KEY_MISSING: "no API key was found; set LCM_SUMMARY_API_KEY or the provider's own variable.",
    FaultKind.KEY_REJECTED: "the API key was rejected; check LCM_SUMMARY_API_KEY or the provider's own variable.",
    FaultKind.NOT_PAID: "payment is asked for; check the account's balance.",
    FaultKind.NOT_ALLOWED: "access was refused; check what the API key may use.",
    FaultKind.MODEL_UNKNOWN: ("the model or the address is unknown; check LCM_SUMMARY_MODEL and LCM_SUMMARY_BASE_URL."),
    FaultKind.TOO_LONG: (
        "the text is too long for the model; set LCM_SUMMARY_MAX_INPUT_TOKENS to its context, or take a larger one."
    ),
    FaultKind.UNREACHABLE: "it cannot be reached; check the network and LCM_SUMMARY_BASE_URL.",
    FaultKind.TLS_FAILED: (
        "no secure connection; check LCM_SUMMARY_BASE_URL and the certificates that this machine trusts."
    ),
    FaultKind.TIMEOUT: "no answer in time; try again or raise LCM_SUMMARY_TIMEOUT_S.",
    FaultKind.CONFLICT: "the request was in conflict with another; try again later.",
    FaultKind.RATE_LIMITED: "the rate of requests is limited; try again later or check the account's quota.",
    FaultKind.SERVER_FAILED: "it failed to answer; try again later.",
    FaultKind.GARBLED: "what it answered is no model's answer; check LCM_SUMMARY_BASE_URL, or try again later.",
    FaultKind.FILTERED: "the text was refused by a content filter.",
    FaultKind.REFUSED: "the request was refused; check LCM_SUMMARY_MODEL and what this model accepts.",
}


def to_fault(error: BaseException, provider: str, clock: Clock) -> Fault:
    """The fault behind an exception of a provider call; `provider` names it in the message."""
    chain = list(_chain(error))
    kind, retry_after_s = _kind(chain), _retry_after(chain, clock)
    message = fault_message(kind, provider)
    if kind is FaultKind.RATE_LIMITED and retry_after_s is not None and retry_after_s > _LONG_S:
        until = clock() + timedelta(seconds=retry_after_s)
        message = f"The model provider {provider}: requests are limited until {until:%Y-%m-%d %H:%M} UTC; go on then."
    return Fault(kind, message, kind in _TRANSIENT, retry_after_s)


def fault_message(kind: FaultKind, provider: str) -> str:
    """One line for a person: what happened and what to do."""
    return f"The model provider {provider}: {_MESSAGES[kind]}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _kind(chain: list[BaseException]) -> FaultKind:
    if _is_any(chain[:1], _TOO_LONG):
        return FaultKind.TOO_LONG
    if _is_any(chain[:1], _FILTERED):
        return FaultKind.FILTERED
    status = next((status for error in chain if (status := _wire_status(error)) is not None), None)
    return _without_response(chain) if status is None else _of_status(status)


def _of_status(status: int) -> FaultKind:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return FaultKind.SERVER_FAILED if status >= 500 else FaultKind.REFUSED


def _without_response(chain: list[BaseException]) -> FaultKind:
    """The fault when no HTTP error came back: no request, no connection, or an answer that could not be read."""
    status = _status(chain[0])
    if any(_is_missing_key(error) for error in chain) or status == 401:
        return FaultKind.KEY_MISSING
    if _is_any(chain, _TIMEOUTS):
        return FaultKind.TIMEOUT
    if _is_any(chain, _TLS):
        return FaultKind.TLS_FAILED
    if _is_any(chain, _BROKEN_CONNECTIONS):
        return FaultKind.UNREACHABLE
    if status is not None and 400 <= status < 500 and status != _UNREADABLE:
        return _of_status(status)
    return FaultKind.GARBLED


def _is_any(errors: list[BaseException], names: frozenset[str]) -> bool:
    return any(base.__name__ in names for error in errors for base in type(error).__mro__)


def _is_missing_key(error: BaseException) -> bool:
    """The OpenAI client raises its bare base class before any request when it has no credentials."""
    return type(error).__name__ == "OpenAIError" and type(error).__module__.partition(".")[0] == "openai"


def _wire_status(error: BaseException) -> int | None:
    if not _is_any([error], _FROM_THE_WIRE):
        return None
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


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
