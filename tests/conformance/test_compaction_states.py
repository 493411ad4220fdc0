"""The contract `CompactionStateRepository`."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.domain.conversations import Conversation
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, Abandoned
from tests.factories import START, make_conversation

KEY = uuid.UUID("01890000-0000-7000-8000-00000000c0de")


def make_state(conversation: Conversation, mode: CompactionMode = CompactionMode.REPLAY) -> CompactionState:
    return CompactionState(
        conversation_id=conversation.conversation_id,
        mode=mode,
        context_revision=MAX_SAFE,
        policy_sha256=b"p" * 32,
        stop_reason="done",
        last_summary_key=KEY,
        noted_at=START,
    )


class TestNote:
    async def test_what_is_noted_is_found(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every field comes back, per conversation and mode."""
        state = make_state(conversation)
        await project.compaction_states.note(state)

        assert await project.compaction_states.find(conversation.conversation_id, CompactionMode.REPLAY) == state
        assert await project.compaction_states.find(conversation.conversation_id, CompactionMode.SWEEP) is None

    async def test_a_later_note_takes_its_place(self, project: ProjectStorage, conversation: Conversation) -> None:
        """There is one state per conversation and mode; nothing of the old one is left."""
        await project.compaction_states.note(make_state(conversation))
        later = replace(
            make_state(conversation),
            context_revision=1,
            policy_sha256=b"q" * 32,
            stop_reason="no_progress",
            last_summary_key=None,
            noted_at=START + timedelta(hours=1),
        )
        await project.compaction_states.note(later)

        assert await project.compaction_states.list_states(CompactionMode.REPLAY) == [later]

    async def test_a_list_has_one_mode_by_conversation(self, project: ProjectStorage) -> None:
        """Ascending conversation ids, whatever the order of noting."""
        made = [await project.conversations.create_conversation(make_conversation(f"s{n}")) for n in range(3)]
        for conversation in (made[2], made[0]):
            await project.compaction_states.note(make_state(conversation))
        await project.compaction_states.note(make_state(made[1], CompactionMode.SWEEP))

        listed = await project.compaction_states.list_states(CompactionMode.REPLAY)
        assert [state.conversation_id for state in listed] == [made[0].conversation_id, made[2].conversation_id]

    async def test_is_rolled_back_with_its_transaction(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """What a transaction noted is gone with it."""

        async def abandoned() -> None:
            async with project.transaction() as tx:
                await tx.compaction_states.note(make_state(conversation))
                raise Abandoned

        with pytest.raises(Abandoned):
            await abandoned()

        assert await project.compaction_states.list_states(CompactionMode.REPLAY) == []

    async def test_an_unknown_conversation_is_refused(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Nothing is remembered about what does not exist."""
        with pytest.raises(IdentityConflict):
            await project.compaction_states.note(replace(make_state(conversation), conversation_id=999))

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"context_revision": -1}, OutOfRange),
            ({"context_revision": MAX_SAFE + 1}, OutOfRange),
            ({"stop_reason": UNSAFE_TEXTS[0]}, UnsafeText),
            ({"stop_reason": UNSAFE_TEXTS[1]}, UnsafeText),
            ({"noted_at": datetime(2026, 1, 1)}, InvalidInput),  # noqa: DTZ001 - the point of the case
        ],
    )
    async def test_what_cannot_be_stored_is_refused(
        self, project: ProjectStorage, conversation: Conversation, change: dict[str, object], error: type[Exception]
    ) -> None:
        """Before anything is written."""
        with pytest.raises(error):
            await project.compaction_states.note(replace(make_state(conversation), **change))  # type: ignore[arg-type]

        assert await project.compaction_states.list_states(CompactionMode.REPLAY) == []
