from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
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
            (SummarizerUnavailable("down", reason="rate_limited"), "rate_limited"),
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


class ShutGate:
    """Refuses, and remembers where it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def check(self) -> None:
        self.asked.append("check")
        raise SummarizerUnavailable("not now", reason="breaker_open")

    def call(self) -> AbstractAsyncContextManager[None]:
        raise AssertionError


class CountingGate:
    """Lets everything through; remembers how the calls ended."""

    def __init__(self) -> None:
        self.ends: list[str] = []

    async def check(self) -> None:
        pass

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        try:
            yield
        except Exception as failure:
            self.ends.append(type(failure).__name__)
            raise
        self.ends.append("answered")


class TestGate:
    async def test_a_shut_gate_ends_it_before_everything(self) -> None:
        """Neither the model nor the ledger is touched, and nothing is truncated."""
        model, book = WindowedModel([], window=1), Book()

        with pytest.raises(SummarizerUnavailable, match="not now"):
            await write_summary(model, source(), ledger=book.ledger, scrub=str, gate=ShutGate())

        assert (model.requests, model.looks, book.reserved) == ([], 0, [])

    async def test_every_call_goes_through_it(self) -> None:
        """A useless answer is an empty summary inside the gate, one that is not smaller an answer."""
        gate = CountingGate()
        model = FakeModel([EmptySummary("cut"), SummaryAnswer(LONG)])

        await write_summary(model, source(), ledger=Book().ledger, scrub=str, gate=gate)

        assert gate.ends == ["EmptySummary", "answered"]

    async def test_a_local_summarizer_passes_by(self) -> None:
        """Nobody else's service is asked."""
        model = FakeModel([SummaryAnswer("Fine.")], is_remote=False)

        assert (await write_summary(model, source(), ledger=Book().ledger, scrub=str, gate=ShutGate())).text == "Fine."


@dataclass
class WindowedModel(FakeModel):
    """Takes requests of so many tokens, by its own count; it says what it knows of that by now."""

    window: int | None = None
    real_window: int = 1_000_000
    looks: int = 0
    refused: int = 0

    async def max_input_tokens(self) -> int | None:
        self.looks += 1
        return self.window

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        size = estimate_tokens(request.system + request.prompt)
        if size <= self.real_window:
            return await FakeModel.summarize(self, request)
        self.refused += 1
        self.window = min(self.window or size, size // 2)
        raise SummarizerUnavailable("too long", reason="too_long")


def told(count: int) -> str:
    """A record of so many messages of 107 tokens."""
    return "\n\n".join(f"[2026-02-17 07:{n:02} UTC] user\n" + (f"fact{n:03} " * 50).strip() for n in range(count))


class TestLongSource:
    async def test_is_read_in_pieces_that_are_merged(self) -> None:
        """60 messages for a window of 4,096 tokens: each piece continues the one before, one text comes out."""
        texts = [f"Piece {n}. " + "Detail. " * 30 for n in range(1, 5)]
        answers = [SummaryAnswer(text, 10, 1, cost_micros=n) for n, text in enumerate(texts, 1)]
        model, book = WindowedModel([*answers, SummaryAnswer("All.", 10, 1, cost_micros=5)], window=4096), Book()
        text = told(60)

        summary = await write(model, text, book=book)

        assert (summary.text, summary.level, summary.origin) == ("All.", EscalationLevel.NORMAL, SummaryOrigin.MODEL)
        assert (summary.calls, summary.cost_micros) == (5, 15)
        *pieces, merge = model.requests
        assert "\n\n".join(piece.source.text for piece in pieces) == text
        assert [piece.source.previous for piece in pieces] == [None, *(text.strip() for text in texts[:3])]
        assert all(estimate_tokens(piece.system + piece.prompt) < 4096 * 0.8 for piece in pieces)
        assert merge.source.text == "\n\n".join(text.strip() for text in texts)
        assert "Merge the summaries below" in merge.prompt

    async def test_every_call_is_in_the_ledger_at_the_depth_of_the_summary(self) -> None:
        """Pieces and merge are calls like any other, reserved and answered."""
        model, book = WindowedModel([SummaryAnswer("Not very short. " * 20)] * 4, window=4096), Book()
        model.turns.append(SummaryAnswer("Short."))

        await write(model, told(60), book=book)

        assert {(each.purpose, each.depth, each.level) for each in book.reserved} == {("summary", 0, "normal")}
        assert [outcome.status for outcome in book.outcomes] == [CallStatus.ANSWERED] * 5

    async def test_pieces_that_say_little_need_no_merge(self) -> None:
        """What is as short as the shortest summary asked for already is the summary."""
        model = WindowedModel([SummaryAnswer(f"Piece {n}.") for n in range(1, 5)], window=4096)

        assert (await write(model, told(60))).text == "Piece 1.\n\nPiece 2.\n\nPiece 3.\n\nPiece 4."

    async def test_that_fits_is_asked_for_at_once(self) -> None:
        """A large window changes nothing of the request."""
        windowed, plain = (WindowedModel([SummaryAnswer("Fine.")], window=size) for size in (128_000, None))

        await write(windowed, told(60))
        await write(plain, told(60))

        assert windowed.requests == plain.requests
        assert len(windowed.requests) == 1

    async def test_a_single_piece_is_not_merged_with_itself(self) -> None:
        """A source that redaction made short enough is one call."""
        model, text = WindowedModel([SummaryAnswer("Fine. " * 200)], window=4096), told(20)
        longer = SourceText(7, text, 9000, depth=0, target_tokens=1200)

        summary = await write_summary(model, longer, ledger=Book().ledger, scrub=lambda text: text[:5000])

        assert (summary.calls, summary.level) == (1, EscalationLevel.NORMAL)

    async def test_a_refused_request_is_split_without_a_known_window(self) -> None:
        """The provider's word is enough: half of what it refused, until it takes it; the refusals are in the ledger."""
        model, book = WindowedModel([SummaryAnswer("Short.")] * 40, real_window=3000), Book()

        summary = await write(model, told(60), book=book)

        assert (set(summary.text.split()), model.refused) == ({"Short."}, 1)
        assert book.outcomes[0] == CallOutcome(CallStatus.FAILED, error_code="too_long")
        assert all(estimate_tokens(each.system + each.prompt) <= 3000 for each in model.requests)

    async def test_a_window_too_small_for_anything_is_unavailable(self) -> None:
        """Nothing is asked, nothing truncated; the error tells what to set."""
        model, book = WindowedModel([], window=900), Book()

        with pytest.raises(SummarizerUnavailable, match="set LCM_SUMMARY_MAX_INPUT_TOKENS to its context") as caught:
            await write(model, told(60), book=book)

        assert (caught.value.reason, book.reserved) == ("too_long", [])

    async def test_a_provider_that_refuses_every_length_is_given_up(self) -> None:
        """Halving ends; the failure is that of the provider."""
        model = WindowedModel([], real_window=1)

        with pytest.raises(SummarizerUnavailable):
            await write(model, told(60))

        assert model.refused <= 8

    async def test_a_failed_piece_is_a_failed_level(self) -> None:
        """One cut piece: all of it is asked for again strictly, and what was written of the others is not kept."""
        turns: list[SummaryAnswer | BaseException] = [SummaryAnswer("One."), EmptySummary("cut")]
        model = WindowedModel([*turns, *[SummaryAnswer("Strict.")] * 9], window=4096)

        summary = await write(model, told(60))

        assert (set(summary.text.split()), summary.level) == ({"Strict."}, EscalationLevel.AGGRESSIVE)
        assert model.requests[2].source.text.startswith("[2026-02-17 07:00 UTC]")

    async def test_a_piece_without_an_answer_ends_it(self) -> None:
        """A transport failure in the middle goes to the caller; nothing of the pieces is returned."""
        model = WindowedModel([SummaryAnswer("One."), SummarizerUnavailable("down")], window=4096)

        with pytest.raises(SummarizerUnavailable, match="down"):
            await write(model, told(60))

    async def test_a_model_that_hardly_shortens_is_given_up(self) -> None:
        """Merging merges has an end: the levels fail, and the source is truncated."""

        class Parrot(WindowedModel):
            async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
                self.requests.append(request)
                return SummaryAnswer(request.source.text[:-8])

        model = Parrot([], window=4096)

        summary = await write(model, told(40))

        assert summary.origin is SummaryOrigin.TRUNCATED
        assert len(model.requests) < 100

    async def test_pieces_are_redacted_like_the_whole(self) -> None:
        """The source is scrubbed before it is split, so that no secret is torn in two; answers are too."""
        model = WindowedModel([SummaryAnswer("It is hunter2.")] * 7, window=4096)

        summary = await write(model, f"hunter2 {told(60)}", scrub=lambda text: text.replace("hunter2", "[secret]"))

        assert summary.text.startswith("It is [secret].")
        assert not any("hunter2" in request.prompt for request in model.requests)
