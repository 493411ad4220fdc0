"""A snapshot of a project: one moment for many reads."""

from __future__ import annotations

import asyncio
from contextvars import Context

import pytest

from lcm.errors import NestedTransaction, ScopeMisused
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import make_conversation


class TestSnapshot:
    async def test_does_not_see_later_writes(self, project: ProjectStorage, factory: SqliteFactory) -> None:
        """What another scope writes meanwhile is neither waited for nor seen."""
        other = await factory.open_project("/home/user/project")
        written = other.conversations.create_conversation(make_conversation())
        async with project.snapshot() as snapshot:
            before = await snapshot.integrity.list_conversations()
            await asyncio.create_task(written, context=Context())
            after = await snapshot.integrity.list_conversations()

        assert before == after == []
        assert len(await project.integrity.list_conversations()) == 1

    async def test_refuses_to_write(self, project: ProjectStorage) -> None:
        """A write inside it is a mistake of the caller; the snapshot goes on."""
        async with project.snapshot() as snapshot:
            with pytest.raises(ScopeMisused):
                await snapshot.conversations.create_conversation(make_conversation())

            assert await snapshot.conversations.list_conversations() == []

    async def test_is_refused_inside_a_transaction(self, project: ProjectStorage) -> None:
        """It would be another moment than the transaction's."""
        async with project.transaction():
            with pytest.raises(NestedTransaction):
                async with project.snapshot():
                    pass
