"""The search index is checked without a lock."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from contextvars import Context
from pathlib import Path

from lcm.integrity.verify import verify_project
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import make_conversation, make_messages
from tests.templates import ROOT


async def fill(project: ProjectStorage) -> None:
    conversation = await project.conversations.create_conversation(make_conversation())
    messages = await project.conversations.append_messages(conversation.conversation_id, make_messages(20))
    await project.context.append_messages(conversation.conversation_id, [each.message_id for each in messages])


class TestIndexCheck:
    async def test_runs_beside_a_writer(self, project: ProjectStorage, factory: SqliteFactory) -> None:
        """Somebody holds the write lock all the while."""
        await fill(project)
        writer = await factory.open_project(ROOT)
        async with writer.transaction() as tx:
            await tx.conversations.create_conversation(make_conversation("session-2"))
            proof = await asyncio.create_task(verify_project(project), context=Context())

        assert proof.faults == ()
        assert proof.checked["conversations"] == 1

    async def test_finds_a_damaged_page(self, project: ProjectStorage) -> None:
        """The terms of the index are overwritten; its list of rows is not."""
        await fill(project)
        path: Path = project.files_folder.parent / "db.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            changed = connection.execute("UPDATE messages_fts_data SET block = zeroblob(40) WHERE id > 100")
            assert changed.rowcount > 0

        assert await project.lexical_search.find_missing() == ["the search index of message texts is damaged"]

    async def test_leaves_nothing_behind(self, project: ProjectStorage) -> None:
        """Checked again, on the same connections, it says the same."""
        await fill(project)

        assert [await project.lexical_search.find_missing() for _ in range(3)] == [[], [], []]
