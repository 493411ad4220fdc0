"""The contract `ModelCallRepository`."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from lcm.domain.conversations import Conversation
from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus, ModelCall
from lcm.errors import IdentityConflict, InvalidInput, NotFound, OutOfRange, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, gather
from tests.factories import START, FakeClock, make_conversation

NOBODY = uuid.UUID("01890000-0000-7000-8000-00000000dead")
ANSWERED = CallOutcome(CallStatus.ANSWERED, input_tokens=MAX_SAFE, output_tokens=0, cost_micros=12)


def make_reservation(conversation: Conversation) -> CallReservation:
    return CallReservation(
        conversation_id=conversation.conversation_id,
        purpose="leaf",
        model="fake/model",
        level="normal",
        depth=0,
        reserved_tokens=MAX_SAFE,
    )


class TestLedger:
    async def test_reserved_before_the_request(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A reservation is a row that is not finished."""
        reservation = make_reservation(conversation)
        key = await project.model_calls.reserve(reservation)

        assert await project.model_calls.list_calls() == [
            ModelCall(key, reservation, CallOutcome(CallStatus.RESERVED), START, None)
        ]

    @pytest.mark.parametrize(
        "outcome",
        [
            ANSWERED,
            CallOutcome(CallStatus.REJECTED, input_tokens=5, output_tokens=1),
            CallOutcome(CallStatus.FAILED, error_code="summarizer_unavailable"),
        ],
    )
    async def test_finished_after_it(
        self, project: ProjectStorage, conversation: Conversation, clock: FakeClock, outcome: CallOutcome
    ) -> None:
        """The outcome is recorded as it is, with what is unknown left unknown."""
        key = await project.model_calls.reserve(make_reservation(conversation))
        clock.advance(3)
        await project.model_calls.finish(key, outcome)

        (call,) = await project.model_calls.list_calls()

        assert (call.outcome, call.started_at, call.finished_at) == (outcome, START, START + timedelta(seconds=3))

    async def test_finished_once(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A second end is refused and changes nothing; so is that of an unknown call."""
        key = await project.model_calls.reserve(make_reservation(conversation))
        await project.model_calls.finish(key, ANSWERED)

        for each in (key, NOBODY):
            with pytest.raises(NotFound):
                await project.model_calls.finish(each, CallOutcome(CallStatus.FAILED))

        assert [call.outcome for call in await project.model_calls.list_calls()] == [ANSWERED]

    async def test_one_of_twenty_tasks_finishes(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Of concurrent ends exactly one counts."""
        key = await project.model_calls.reserve(make_reservation(conversation))

        async def is_recorded() -> bool:
            try:
                await project.model_calls.finish(key, ANSWERED)
            except NotFound:
                return False
            return True

        assert sum(await gather(*[is_recorded() for _ in range(20)])) == 1

    async def test_reserved_is_no_end(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A call cannot end as reserved."""
        key = await project.model_calls.reserve(make_reservation(conversation))

        with pytest.raises(InvalidInput):
            await project.model_calls.finish(key, CallOutcome(CallStatus.RESERVED))

    async def test_lists(self, project: ProjectStorage, conversation: Conversation, clock: FakeClock) -> None:
        """By start, then key; of the project or of one conversation."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        keys = [await project.model_calls.reserve(make_reservation(conversation)) for _ in range(3)]
        clock.advance(-60)
        earlier = await project.model_calls.reserve(make_reservation(other))

        async def listed(conversation_id: int | None = None) -> list[uuid.UUID]:
            return [call.call_key for call in await project.model_calls.list_calls(conversation_id)]

        assert await listed() == [earlier, *sorted(keys)]
        assert await listed(other.conversation_id) == [earlier]
        assert await listed(99) == []


class TestRefused:
    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    @pytest.mark.parametrize("field", ["purpose", "model", "level"])
    async def test_unsafe_text(
        self, project: ProjectStorage, conversation: Conversation, field: str, text: str
    ) -> None:
        """Unsafe text is refused with its field."""
        with pytest.raises(UnsafeText, match=field):
            await project.model_calls.reserve(replace(make_reservation(conversation), **{field: text}))  # type: ignore[arg-type] # a field by name

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_error_code(self, project: ProjectStorage, conversation: Conversation, text: str) -> None:
        """So is an error code; the call stays open."""
        key = await project.model_calls.reserve(make_reservation(conversation))

        with pytest.raises(UnsafeText, match="error_code"):
            await project.model_calls.finish(key, CallOutcome(CallStatus.FAILED, error_code=text))

        await project.model_calls.finish(key, ANSWERED)

    @pytest.mark.parametrize("value", [-1, MAX_SAFE + 1, 2**70])
    async def test_unsafe_integer(self, project: ProjectStorage, conversation: Conversation, value: int) -> None:
        """Tokens, money and depth are safe integers."""
        reservation = make_reservation(conversation)
        key = await project.model_calls.reserve(reservation)

        with pytest.raises(OutOfRange, match="reserved_tokens"):
            await project.model_calls.reserve(replace(reservation, reserved_tokens=value))
        with pytest.raises(OutOfRange, match="depth"):
            await project.model_calls.reserve(replace(reservation, depth=value))
        for field in ("input_tokens", "output_tokens", "cost_micros"):
            with pytest.raises(OutOfRange, match=field):
                await project.model_calls.finish(key, replace(ANSWERED, **{field: value}))  # type: ignore[arg-type] # a field by name

    async def test_unknown_conversation(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A call is made for a stored conversation."""
        with pytest.raises(IdentityConflict):
            await project.model_calls.reserve(replace(make_reservation(conversation), conversation_id=99))


class TestIsolation:
    async def test_other_project(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Another project neither lists nor finishes the call."""
        key = await project.model_calls.reserve(make_reservation(conversation))

        assert await other_project.model_calls.list_calls() == []
        with pytest.raises(NotFound):
            await other_project.model_calls.finish(key, ANSWERED)
