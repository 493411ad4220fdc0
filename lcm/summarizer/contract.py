"""What a summarizer is: one request in, one text out, or a typed failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lcm.domain.model_calls import CallOutcome, CallReservation
from lcm.domain.summaries import EscalationLevel, SummaryOrigin


@dataclass(frozen=True, slots=True)
class SourceText:
    """What is to be summarized: redacted text of consecutive messages (depth 0) or of summaries (depth >= 1).

    Attributes:
        text: messages with time lines, or summaries with time range headers, oldest first.
        token_count: estimated tokens of `text`.
        depth: of the summary to be made; 0 is a leaf.
        previous: text of the preceding summary, so that the model does not repeat it; None if there is none.
        target_tokens: configured target (leaf or condensed); the levels derive their own from it.
    """

    conversation_id: int
    text: str
    token_count: int
    depth: int
    target_tokens: int
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One call: `prompt` and `system` are complete, `target_tokens` and `temperature` belong to the level."""

    system: str
    prompt: str
    depth: int
    level: EscalationLevel
    target_tokens: int
    temperature: float
    source: SourceText


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """A usable text. Token figures are the provider's own; cost in millionths; each None when unknown."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_micros: int | None = None


class Summarizer(Protocol):
    """A provider of summaries.

    Attributes:
        model: the name written to summaries and the ledger ("offline" for the extractive one).
        origin: MODEL or EXTRACTIVE.
        is_remote: whether calls belong in the ledger.
    """

    @property
    def model(self) -> str: ...

    @property
    def origin(self) -> SummaryOrigin: ...

    @property
    def is_remote(self) -> bool: ...

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        """One answer.

        Raises:
            EmptySummary: the provider answered without usable text (empty, cut by length, reasoning only); the caller
                escalates.
            SummarizerUnavailable: no answer after the retries, wrong key, not configured; the caller changes nothing.
        """
        ...


@runtime_checkable
class HasInputWindow(Protocol):
    """A summarizer that takes so much at once and not more."""

    async def max_input_tokens(self) -> int | None:
        """Most tokens of one request, as far as is known by now: a refused request may lower it. None is unknown.

        Raises:
            SummarizerUnavailable: it cannot be used at all.
        """
        ...


class CallGate(Protocol):
    """Decides before each call whether the provider is asked, and learns how the call ended."""

    async def check(self) -> None:
        """Refuse early, before anything is loaded or prepared for a call.

        Raises:
            SummarizerUnavailable: the provider failed too often and is not asked now.
        """
        ...

    def call(self) -> AbstractAsyncContextManager[None]:
        """The block makes one call; how it ends tells how the provider is.

        `EmptySummary` is an answer. Entering raises `SummarizerUnavailable` like `check`.
        """
        ...


@dataclass(frozen=True, slots=True)
class CallLedger:
    """How a call is written down: `reserve` before the request, `finish` after it; each is one short transaction."""

    reserve: Callable[[CallReservation], Awaitable[object]]
    finish: Callable[[object, CallOutcome], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """The text chosen after escalation, how it came about and what it used."""

    text: str
    token_count: int
    level: EscalationLevel
    origin: SummaryOrigin
    model: str | None
    prompt_version: str
    calls: int
    cost_micros: int | None
