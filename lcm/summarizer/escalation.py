"""From a source to the text of its summary: normal, aggressive, then truncation; every call is written down."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus, FaultKind
from lcm.domain.summaries import EscalationLevel, SummaryOrigin
from lcm.errors import EmptySummary, LcmError, SummarizerUnavailable
from lcm.log import get_logger
from lcm.summarizer.breaker import provider_of
from lcm.summarizer.contract import (
    CallGate,
    CallLedger,
    HasInputWindow,
    SourceText,
    Summarizer,
    SummaryAnswer,
    SummaryRequest,
    WrittenSummary,
)
from lcm.summarizer.levels import LEAST_LEAF_TARGET, max_output_tokens
from lcm.summarizer.pieces import split_text
from lcm.summarizer.prompts import PROMPT_VERSION, build_request
from lcm.summarizer.provider_faults import fault_message
from lcm.summarizer.truncation import NOTHING_SAID, strip_marker, truncate
from lcm.summarizer.windows import Fitted, fit
from lcm.tokens import estimate_tokens

log = get_logger(__name__)

#: What the ledger says a call was for.
PURPOSE = "summary"

_NOT_SMALLER = "not_smaller"
#: Pieces of pieces: a model that still does not get a source small enough then is of no use for it.
_MAX_MERGES = 4

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

Scrub = Callable[[str], str]


async def write_summary(
    summarizer: Summarizer,
    source: SourceText,
    *,
    ledger: CallLedger,
    scrub: Scrub,
    gate: CallGate | None = None,
) -> WrittenSummary:
    """The summary of a source, smaller than the source unless nothing was said in it.

    A level fails when its answer holds no usable text or is not smaller than what it was made from; after both levels
    the source is truncated. A source that is too long for the model is summarized in pieces, and those are merged.
    `scrub` redacts what the model reads and what it writes. Calls of a remote summarizer go through the gate, and are
    reserved in the ledger before the request and finished after it, also when cancelled.

    Returns:
        `cost_micros` sums all calls, rejected ones included; None when the cost of any of them is unknown.

    Raises:
        SummarizerUnavailable: no answer; nothing is truncated because of that.
    """
    source = _cleaned_source(source, scrub)
    spent = _Spent()
    if not source.text.strip():
        return _fallback(NOTHING_SAID, spent)
    is_remote = summarizer.is_remote
    gate = gate if gate is not None and is_remote else _OpenGate()
    await gate.check()
    writer = _Writer(summarizer, source, ledger if is_remote else _NO_LEDGER, gate, scrub, spent)
    for level in (EscalationLevel.NORMAL, EscalationLevel.AGGRESSIVE):
        text = await writer.try_level(level)
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
    """One level at a time, each call with its entry in the ledger."""

    summarizer: Summarizer
    source: SourceText
    ledger: CallLedger
    gate: CallGate
    scrub: Scrub
    spent: _Spent

    async def try_level(self, level: EscalationLevel) -> str | None:
        """The level's text, or None when the level failed."""
        try:
            return await self._write(self.source, level, merges=0)
        except EmptySummary:
            return None

    async def _write(self, source: SourceText, level: EscalationLevel, *, merges: int) -> str:
        """The text for a source of any length.

        Raises:
            EmptySummary: no usable answer.
        """
        while True:
            window = await self._window()
            if window is not None:
                fitted = _fitted(source, level, window, self.summarizer.model)
                source = fitted.source
                if source.token_count > fitted.room:
                    return await self._write_in_pieces(source, level, fitted.room, merges=merges)
            try:
                return await self._ask(build_request(source, level))
            except SummarizerUnavailable as refused:
                if refused.reason != FaultKind.TOO_LONG or not _is_less(await self._window(), window):
                    raise

    async def _write_in_pieces(self, source: SourceText, level: EscalationLevel, room: int, *, merges: int) -> str:
        """Summaries of the pieces, each continuing the one before, merged into one; only that one is ever stored."""
        if merges >= _MAX_MERGES:
            raise EmptySummary(_NOT_SMALLER)
        log.info("source_split", model=self.summarizer.model, source_tokens=source.token_count, room_tokens=room)
        texts: list[str] = []
        for piece in split_text(source.text, room):
            before = texts[-1] if texts else source.previous
            part = replace(source, text=piece, token_count=estimate_tokens(piece), previous=before)
            texts.append(await self._write(part, level, merges=merges + 1))
        text = "\n\n".join(texts)
        if len(texts) == 1 or estimate_tokens(text) <= LEAST_LEAF_TARGET:
            return text  # nothing to merge, or as short already as the shortest summary asked for
        merged = replace(source, text=text, token_count=estimate_tokens(text), depth=max(1, source.depth))
        return await self._write(merged, level, merges=merges + 1)

    async def _window(self) -> int | None:
        return await self.summarizer.max_input_tokens() if isinstance(self.summarizer, HasInputWindow) else None

    async def _ask(self, request: SummaryRequest) -> str:
        """The text of one answer.

        Raises:
            EmptySummary: no usable text, or not smaller than its source.
        """
        async with self.gate.call():
            call = await self.ledger.reserve(self._reservation(request))
            self.spent.calls += self.summarizer.is_remote
            try:
                answer = await self.summarizer.summarize(request)
            except EmptySummary as rejected:
                await self._reject(call, request, _usage(rejected), rejected.reason)
                raise
            except BaseException as failure:
                # The failure matters more than a ledger that cannot be written; the reservation then stays open.
                with contextlib.suppress(Exception):
                    await self.ledger.finish(call, CallOutcome(CallStatus.FAILED, error_code=_error_code(failure)))
                raise
        return await self._judge(call, request, answer)

    async def _judge(self, call: object, request: SummaryRequest, answer: SummaryAnswer) -> str:
        text = strip_marker(_cleaned(answer.text, self.scrub))
        reason = _reason_to_reject(text, request.source)
        if reason is not None:
            await self._reject(call, request, answer, reason)
            raise EmptySummary(reason)
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

    def _reservation(self, request: SummaryRequest) -> CallReservation:
        """The depth is that of the summary to be stored, also for pieces of it."""
        read = estimate_tokens(request.system) + estimate_tokens(request.prompt)
        return CallReservation(
            conversation_id=request.source.conversation_id,
            purpose=PURPOSE,
            model=self.summarizer.model,
            level=request.level.value,
            depth=self.source.depth,
            reserved_tokens=read + max_output_tokens(request.target_tokens),
        )


class _OpenGate:
    """Lets every call through."""

    async def check(self) -> None:
        pass

    def call(self) -> AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()


def _fitted(source: SourceText, level: EscalationLevel, window: int, model: str) -> Fitted:
    """See `fit`.

    Raises:
        SummarizerUnavailable: the window is too small for any use.
    """
    fitted = fit(source, level, window)
    if fitted.room == 0:
        message = fault_message(FaultKind.TOO_LONG, provider_of(model))
        raise SummarizerUnavailable(message, reason=FaultKind.TOO_LONG)
    return fitted


def _is_less(window: int | None, before: int | None) -> bool:
    return window is not None and (before is None or window < before)


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
    return _NOT_SMALLER if estimate_tokens(text) >= source.token_count else None


def _usage(rejected: EmptySummary) -> SummaryAnswer:
    return SummaryAnswer("", rejected.input_tokens, rejected.output_tokens, rejected.cost_micros)


def _outcome(status: CallStatus, usage: SummaryAnswer, error_code: str | None = None) -> CallOutcome:
    return CallOutcome(status, usage.input_tokens, usage.output_tokens, usage.cost_micros, error_code)


def _error_code(failure: BaseException) -> str:
    if isinstance(failure, asyncio.CancelledError):
        return "cancelled"
    if isinstance(failure, SummarizerUnavailable) and failure.reason is not None:
        return failure.reason
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
