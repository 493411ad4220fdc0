"""From a source to the text of its summary: normal, aggressive, then truncation; every call is written down."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus
from lcm.domain.summaries import EscalationLevel, SummaryOrigin
from lcm.errors import EmptySummary, LcmError
from lcm.log import get_logger
from lcm.summarizer.contract import CallLedger, SourceText, Summarizer, SummaryAnswer, SummaryRequest, WrittenSummary
from lcm.summarizer.levels import max_output_tokens
from lcm.summarizer.prompts import PROMPT_VERSION, build_request
from lcm.summarizer.truncation import NOTHING_SAID, strip_marker, truncate
from lcm.tokens import estimate_tokens

log = get_logger(__name__)

#: What the ledger says a call was for.
PURPOSE = "summary"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

Scrub = Callable[[str], str]


async def write_summary(
    summarizer: Summarizer, source: SourceText, *, ledger: CallLedger, scrub: Scrub
) -> WrittenSummary:
    """The summary of a source, smaller than the source unless nothing was said in it.

    A level fails when its answer holds no usable text or is not smaller than the source; after both levels the source
    is truncated. `scrub` redacts what the model reads and what it writes. Calls of a remote summarizer are reserved in
    the ledger before the request and finished after it, also when cancelled.

    Returns:
        `cost_micros` sums all calls, rejected ones included; None when the cost of any of them is unknown.

    Raises:
        SummarizerUnavailable: no answer; nothing is truncated because of that.
    """
    source = _cleaned_source(source, scrub)
    spent = _Spent()
    if not source.text.strip():
        return _fallback(NOTHING_SAID, spent)
    writer = _Writer(summarizer, ledger if summarizer.is_remote else _NO_LEDGER, scrub, spent)
    for level in (EscalationLevel.NORMAL, EscalationLevel.AGGRESSIVE):
        text = await writer.try_level(build_request(source, level))
        if text is not None:
            return _written(text, level, summarizer, spent)
    log.warning("summary_truncated", model=summarizer.model, depth=source.depth, source_tokens=source.token_count)
    return _fallback(truncate(source.text, source.token_count), spent)


@dataclass(slots=True)
class _Spent:
    """What the calls of one summary used so far."""

    calls: int = 0
    costs: list[int | None] = field(default_factory=list)

    @property
    def cost_micros(self) -> int | None:
        known = [cost for cost in self.costs if cost is not None]
        return sum(known) if len(known) == len(self.costs) else None


@dataclass(frozen=True, slots=True)
class _Writer:
    """One level at a time, with its ledger entry."""

    summarizer: Summarizer
    ledger: CallLedger
    scrub: Scrub
    spent: _Spent

    async def try_level(self, request: SummaryRequest) -> str | None:
        """The level's text, or None when the level failed."""
        call = await self.ledger.reserve(_reservation(self.summarizer, request))
        self.spent.calls += self.summarizer.is_remote
        try:
            answer = await self.summarizer.summarize(request)
        except EmptySummary as rejected:
            await self._reject(call, request, _usage(rejected), rejected.reason)
            return None
        except BaseException as failure:
            # The failure matters more than a ledger that cannot be written; the reservation then stays open.
            with contextlib.suppress(Exception):
                await self.ledger.finish(call, CallOutcome(CallStatus.FAILED, error_code=_error_code(failure)))
            raise
        return await self._judge(call, request, answer)

    async def _judge(self, call: object, request: SummaryRequest, answer: SummaryAnswer) -> str | None:
        text = strip_marker(_cleaned(answer.text, self.scrub))
        reason = _reason_to_reject(text, request.source)
        if reason is not None:
            await self._reject(call, request, answer, reason)
            return None
        self._pay(answer)
        await self.ledger.finish(call, _outcome(CallStatus.ANSWERED, answer))
        return text

    async def _reject(self, call: object, request: SummaryRequest, usage: SummaryAnswer, reason: str) -> None:
        log.warning("summary_rejected", model=self.summarizer.model, level=request.level.value, reason=reason)
        self._pay(usage)
        await self.ledger.finish(call, _outcome(CallStatus.REJECTED, usage, reason))

    def _pay(self, usage: SummaryAnswer) -> None:
        if self.summarizer.is_remote:
            self.spent.costs.append(usage.cost_micros)


async def _reserve_nothing(_reservation: CallReservation) -> object:
    return None


async def _finish_nothing(_call: object, _outcome: CallOutcome) -> None:
    return None


_NO_LEDGER = CallLedger(_reserve_nothing, _finish_nothing)


def _cleaned_source(source: SourceText, scrub: Scrub) -> SourceText:
    previous = None if source.previous is None else _cleaned(source.previous, scrub)
    return replace(source, text=_cleaned(source.text, scrub), previous=previous)


def _cleaned(text: str, scrub: Scrub) -> str:
    """Redacted text that every backend can store."""
    return scrub(_UNSTORABLE.sub(_REPLACEMENT, text))


def _reason_to_reject(text: str, source: SourceText) -> str | None:
    if not text:
        return "empty"
    return "not_smaller" if estimate_tokens(text) >= source.token_count else None


def _reservation(summarizer: Summarizer, request: SummaryRequest) -> CallReservation:
    read = estimate_tokens(request.system) + estimate_tokens(request.prompt)
    return CallReservation(
        conversation_id=request.source.conversation_id,
        purpose=PURPOSE,
        model=summarizer.model,
        level=request.level.value,
        depth=request.depth,
        reserved_tokens=read + max_output_tokens(request.target_tokens),
    )


def _usage(rejected: EmptySummary) -> SummaryAnswer:
    return SummaryAnswer("", rejected.input_tokens, rejected.output_tokens, rejected.cost_micros)


def _outcome(status: CallStatus, usage: SummaryAnswer, error_code: str | None = None) -> CallOutcome:
    return CallOutcome(status, usage.input_tokens, usage.output_tokens, usage.cost_micros, error_code)


def _error_code(failure: BaseException) -> str:
    if isinstance(failure, asyncio.CancelledError):
        return "cancelled"
    return failure.code if isinstance(failure, LcmError) else "unexpected"


def _written(text: str, level: EscalationLevel, summarizer: Summarizer, spent: _Spent) -> WrittenSummary:
    return WrittenSummary(
        text=text,
        token_count=estimate_tokens(text),
        level=level,
        origin=summarizer.origin,
        model=summarizer.model,
        prompt_version=PROMPT_VERSION,
        calls=spent.calls,
        cost_micros=spent.cost_micros,
    )


def _fallback(text: str, spent: _Spent) -> WrittenSummary:
    return WrittenSummary(
        text=text,
        token_count=estimate_tokens(text),
        level=EscalationLevel.FALLBACK,
        origin=SummaryOrigin.TRUNCATED,
        model=None,
        prompt_version=PROMPT_VERSION,
        calls=spent.calls,
        cost_micros=spent.cost_micros,
    )
