from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus
from lcm.domain.summaries import EscalationLevel, SummaryOrigin
from lcm.errors import EmptySummary, SummarizerUnavailable
from lcm.summarizer.contract import CallLedger, SourceText, SummaryAnswer, SummaryRequest, WrittenSummary
from lcm.summarizer.escalation import write_summary
from lcm.tokens import estimate_tokens

MARKER = "[Truncated for context management]"
LONG = "A sentence about the parser. " * 40


@dataclass
class FakeModel:
    """Answers in turn and keeps the requests."""

    turns: list[SummaryAnswer | BaseException]
    is_remote: bool = True
    model: str = "openai/fake"
    origin: SummaryOrigin = SummaryOrigin.MODEL
    requests: list[SummaryRequest] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        self.requests.append(request)
        turn = self.turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return turn


@dataclass
class Book:
    """The ledger's entries in order of writing."""

    reserved: list[CallReservation] = field(default_factory=list)
    finished: list[tuple[object, CallOutcome]] = field(default_factory=list)

    @property
    def ledger(self) -> CallLedger:
        return CallLedger(self._reserve, self._finish)

    @property
    def outcomes(self) -> list[CallOutcome]:
        return [outcome for _, outcome in self.finished]

    async def _reserve(self, reservation: CallReservation) -> object:
        self.reserved.append(reservation)
        return len(self.reserved)

    async def _finish(self, call: object, outcome: CallOutcome) -> None:
        self.finished.append((call, outcome))


def source(text: str = LONG, *, depth: int = 0) -> SourceText:
    return SourceText(7, text, estimate_tokens(text), depth=depth, target_tokens=1200)


async def write(
    model: FakeModel, text: str = LONG, *, book: Book | None = None, scrub: Callable[[str], str] = str
) -> WrittenSummary:
    return await write_summary(model, source(text), ledger=(book or Book()).ledger, scrub=scrub)


class TestLevels:
    async def test_a_good_answer_is_the_normal_summary(self) -> None:
        """A smaller text is taken at once, with its model and its figures."""
        summary = await write(FakeModel([SummaryAnswer("It works.", 100, 5, cost_micros=42)]))

        assert (summary.text, summary.token_count, summary.level) == ("It works.", 3, EscalationLevel.NORMAL)
        assert (summary.origin, summary.model) == (SummaryOrigin.MODEL, "openai/fake")
        assert (summary.prompt_version, summary.calls, summary.cost_micros) == ("lcm-1", 1, 42)

    async def test_a_text_not_smaller_than_its_source_escalates(self) -> None:
        """An answer as large as the source is asked for again, aggressively."""
        model = FakeModel([SummaryAnswer(LONG), SummaryAnswer("Shorter.")])

        summary = await write(model)

        assert (summary.text, summary.level, summary.calls) == ("Shorter.", EscalationLevel.AGGRESSIVE, 2)
        assert [request.temperature for request in model.requests] == [0.2, 0.1]

    @pytest.mark.parametrize("reason", ["empty", "cut", "reasoning_only"])
    async def test_an_unusable_answer_escalates(self, reason: str) -> None:
        """An empty, cut or reasoning-only answer is a failed level, not a failed summary."""
        summary = await write(FakeModel([EmptySummary(reason), SummaryAnswer("Shorter.")]))

        assert (summary.text, summary.level) == ("Shorter.", EscalationLevel.AGGRESSIVE)

    async def test_after_both_levels_the_source_is_truncated(self) -> None:
        """Two failed levels give the marked, quoted, labelled beginning of the source."""
        summary = await write(FakeModel([EmptySummary(), SummaryAnswer(LONG)]))

        assert (summary.level, summary.origin) == (EscalationLevel.FALLBACK, SummaryOrigin.TRUNCATED)
        assert (summary.model, summary.calls) == (None, 2)
        assert "\n> A sentence about the parser." in summary.text
        assert summary.text.endswith(MARKER)
        assert summary.token_count < estimate_tokens(LONG)

    async def test_an_unavailable_provider_truncates_nothing(self) -> None:
        """A transport failure goes to the caller, also after a failed level."""
        with pytest.raises(SummarizerUnavailable, match="unreachable"):
            await write(FakeModel([EmptySummary(), SummarizerUnavailable("unreachable")]))

    @pytest.mark.parametrize("text", ["", " \n\t"])
    async def test_an_empty_source_needs_no_call(self, text: str) -> None:
        """When nothing was said, the summary says so and no model is asked."""
        model, book = FakeModel([]), Book()

        summary = await write(model, text, book=book)

        assert summary.text == "Nothing was said in this part of the conversation."
        assert (summary.level, summary.calls, summary.cost_micros) == (EscalationLevel.FALLBACK, 0, 0)
        assert (model.requests, book.reserved) == ([], [])


class TestCleaning:
    async def test_the_marker_is_taken_out_of_answers(self) -> None:
        """A model that writes the marker does not make its summary look like a fallback."""
        assert (await write(FakeModel([SummaryAnswer(f"Fine.\n{MARKER}")]))).text == "Fine."

    async def test_an_answer_of_nothing_but_the_marker_is_empty(self) -> None:
        """What remains empty after cleaning is a failed level."""
        book = Book()

        await write(FakeModel([SummaryAnswer(MARKER), SummaryAnswer("Fine.")]), book=book)

        assert [outcome.error_code for outcome in book.outcomes] == ["empty", None]

    async def test_models_read_and_write_redacted_text_only(self) -> None:
        """The source before the call and the answer after it are scrubbed."""
        model = FakeModel([SummaryAnswer("The key is hunter2.")])

        summary = await write(model, f"hunter2 {LONG}", scrub=lambda text: text.replace("hunter2", "[secret]"))

        assert summary.text == "The key is [secret]."
        assert "hunter2" not in model.requests[0].prompt

    async def test_the_fallback_is_redacted(self) -> None:
        """Truncation quotes scrubbed text."""
        model = FakeModel([EmptySummary(), EmptySummary()])

        summary = await write(model, f"hunter2 {LONG}", scrub=lambda text: text.replace("hunter2", "[secret]"))

        assert "> [secret] A sentence" in summary.text

    async def test_text_no_backend_can_store_is_repaired(self) -> None:
        """U+0000 and lone surrogates become replacement characters."""
        assert (await write(FakeModel([SummaryAnswer("a\x00b\ud800c")]))).text == "a\ufffdb\ufffdc"


class TestLedger:
    async def test_a_call_is_reserved_before_and_finished_after(self) -> None:
        """The entry names purpose, model, level and depth, reserves input and output, and ends as answered."""
        book = Book()

        await write(FakeModel([SummaryAnswer("Fine.", 100, 5, cost_micros=42)]), book=book)

        (reserved,) = book.reserved
        assert (reserved.conversation_id, reserved.purpose, reserved.model) == (7, "summary", "openai/fake")
        assert (reserved.level, reserved.depth) == ("normal", 0)
        assert reserved.reserved_tokens > estimate_tokens(LONG) + 192 + 256
        assert book.finished == [(1, CallOutcome(CallStatus.ANSWERED, 100, 5, 42, None))]

    async def test_failed_levels_are_rejected_with_what_they_used(self) -> None:
        """A rejected answer keeps its figures and its reason."""
        book = Book()
        turns: list[SummaryAnswer | BaseException] = [
            EmptySummary("cut", input_tokens=100, output_tokens=9, cost_micros=3),
            SummaryAnswer(LONG, 50, 60, cost_micros=4),
        ]

        summary = await write(FakeModel(turns), book=book)

        assert book.outcomes == [
            CallOutcome(CallStatus.REJECTED, 100, 9, 3, "cut"),
            CallOutcome(CallStatus.REJECTED, 50, 60, 4, "not_smaller"),
        ]
        assert summary.cost_micros == 7

    async def test_an_unknown_cost_makes_the_sum_unknown(self) -> None:
        """A sum with an unknown part is no figure."""
        summary = await write(FakeModel([EmptySummary(cost_micros=3), SummaryAnswer("Fine.")]))

        assert summary.cost_micros is None

    @pytest.mark.parametrize(
        ("failure", "code"),
        [
            (SummarizerUnavailable("down"), "summarizer_unavailable"),
            (asyncio.CancelledError(), "cancelled"),
            (KeyError("x"), "unexpected"),
        ],
    )
    async def test_a_call_without_answer_is_failed(self, failure: BaseException, code: str) -> None:
        """Transport failures, cancellation and faults end the entry and go on to the caller."""
        book = Book()

        with pytest.raises(type(failure)):
            await write(FakeModel([failure]), book=book)

        assert book.outcomes == [CallOutcome(CallStatus.FAILED, error_code=code)]

    async def test_a_broken_ledger_does_not_hide_the_failure(self) -> None:
        """When the end of a failed call cannot be written, the caller still learns of the failure itself."""

        async def refuse(_call: object, _outcome: CallOutcome) -> None:
            raise OSError

        broken = CallLedger(Book().ledger.reserve, refuse)
        with pytest.raises(SummarizerUnavailable):
            await write_summary(FakeModel([SummarizerUnavailable("down")]), source(), ledger=broken, scrub=str)

    async def test_a_local_summarizer_is_not_in_the_ledger(self) -> None:
        """Only remote calls are written down and counted."""
        book = Book()

        summary = await write(FakeModel([SummaryAnswer("Fine.")], is_remote=False), book=book)

        assert (book.reserved, book.finished, summary.calls, summary.cost_micros) == ([], [], 0, 0)
