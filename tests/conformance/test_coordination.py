"""The contract `CoordinationRepository`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lcm.errors import OutOfRange, UnsafeText
from lcm.storage.contracts.coordination import SessionIngest
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, gather
from tests.factories import START, FakeClock


class TestSessionIngest:
    async def test_the_newest_wins(self, project: ProjectStorage, clock: FakeClock) -> None:
        """A session is recorded once; a later record replaces count and time, also by a smaller count."""
        await project.coordination.record_session_ingest("session-1", MAX_SAFE)
        clock.advance(60)
        newest = await project.coordination.record_session_ingest("session-1", 2)

        assert newest == SessionIngest("session-1", 2, START + timedelta(seconds=60))
        assert await project.coordination.find_session_ingest("session-1") == newest

    async def test_exact_session(self, project: ProjectStorage) -> None:
        """Only the exact session id is found."""
        await project.coordination.record_session_ingest("session-1", 0)

        for session_id in ("session", "SESSION-1", "session-1 ", ""):
            assert await project.coordination.find_session_ingest(session_id) is None

    async def test_twenty_tasks_record(self, project: ProjectStorage) -> None:
        """Concurrent records of one session leave one of them."""
        records = await gather(*[project.coordination.record_session_ingest("session-1", n) for n in range(20)])

        assert await project.coordination.find_session_ingest("session-1") in records

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, text: str) -> None:
        """A session id that cannot be stored is refused."""
        with pytest.raises(UnsafeText, match="session_id"):
            await project.coordination.record_session_ingest(text, 1)
        with pytest.raises(UnsafeText, match="session_id"):
            await project.coordination.find_session_ingest(text)

    @pytest.mark.parametrize("count", [-1, MAX_SAFE + 1])
    async def test_unsafe_integer(self, project: ProjectStorage, count: int) -> None:
        """A count is a safe integer."""
        with pytest.raises(OutOfRange, match="message_count"):
            await project.coordination.record_session_ingest("session-1", count)

    async def test_other_project(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """Projects record for themselves."""
        await project.coordination.record_session_ingest("session-1", 1)

        assert await other_project.coordination.find_session_ingest("session-1") is None
