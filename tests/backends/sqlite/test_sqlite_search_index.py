"""Damage of the FTS5 index, made with plain SQL: it is found, and a rebuild repairs it."""

from __future__ import annotations

import pytest

from lcm.domain.conversations import Conversation
from lcm.storage.contracts.lexical_search import MatchQuery, SearchFilters
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from tests.backends.sqlite.conftest import Look
from tests.factories import make_message, make_summary

QUERY = MatchQuery(words=("login",))

DAMAGES = {
    "a message missing": ("DELETE FROM messages_fts_docsize WHERE id = 2", "message 2 is not in the search index"),
    "a summary missing": ("DELETE FROM summaries_fts_docsize WHERE id = 1", "summary 1 is not in the search index"),
    "a row too many": (
        "INSERT INTO messages_fts (rowid, words, cjk) VALUES (77, 'ghost', '')",
        "the search index holds message 77, which is not stored",
    ),
    "everything gone": (
        "INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')",
        "message 1 is not in the search index",
    ),
    "broken pages": (
        "UPDATE messages_fts_data SET block = zeroblob(length(block)) WHERE id > 100",
        "the search index of message texts is damaged",
    ),
    "another version": (
        "UPDATE search_state SET version = 99 WHERE name = 'fts'",
        "the search index was filled by another version of lcm",
    ),
}


async def fill(project: ProjectStorage, conversation: Conversation) -> None:
    batch = [make_message(f"login {number}") for number in range(3)]
    await project.conversations.append_messages(conversation.conversation_id, batch)
    await project.summaries.insert_summary(make_summary(conversation.conversation_id, "login"))


class TestDamage:
    @pytest.mark.parametrize(("statement", "finding"), DAMAGES.values(), ids=list(DAMAGES))
    async def test_is_found_and_repaired(
        self, project: ProjectStorage, conversation: Conversation, look: Look, statement: str, finding: str
    ) -> None:
        """Each kind of damage is named in a safe sentence; a rebuild makes the index sound and complete."""
        await fill(project, conversation)
        look(statement)

        findings = await project.lexical_search.find_missing()
        await project.lexical_search.rebuild()

        assert finding in findings
        assert await project.lexical_search.find_missing() == []
        found = await project.lexical_search.match_messages(QUERY, SearchFilters(), limit=9)
        assert len(found.rows) == 3

    async def test_checking_changes_nothing(
        self, project: ProjectStorage, conversation: Conversation, look: Look
    ) -> None:
        """A check finds the same twice."""
        await fill(project, conversation)
        look("DELETE FROM messages_fts_docsize WHERE id = 2")

        first = await project.lexical_search.find_missing()

        assert await project.lexical_search.find_missing() == first

    async def test_deleting_a_message_that_is_not_indexed(
        self, project: ProjectStorage, conversation: Conversation, look: Look
    ) -> None:
        """The message goes all the same, and a rebuild leaves a sound index."""
        await fill(project, conversation)
        look("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")

        assert await project.conversations.delete_messages([2]) == 1
        await project.lexical_search.rebuild()

        assert await project.lexical_search.find_missing() == []
        found = await project.lexical_search.match_messages(QUERY, SearchFilters(), limit=9)
        assert [row.row_id for row in found.rows] == [3, 1]

    async def test_deleted_words_leave_the_index(
        self, project: ProjectStorage, conversation: Conversation, look: Look
    ) -> None:
        """No posting of a deleted message is left behind."""
        await project.conversations.append_messages(
            conversation.conversation_id, [make_message("unique-word 日本語"), make_message("other")]
        )
        await project.conversations.delete_messages([1])

        assert look("SELECT rowid FROM messages_fts WHERE messages_fts MATCH '\"unique\"'") == []
        assert look("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'cjk : \"日本\"'") == []


class TestOpen:
    async def test_an_index_of_another_version_is_refilled(
        self, factory: SqliteFactory, project: ProjectStorage, conversation: Conversation, look: Look
    ) -> None:
        """Opening a project whose index another version filled drops and refills it before anybody uses it."""
        await fill(project, conversation)
        look("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")
        look("UPDATE search_state SET version = 99 WHERE name = 'fts'")

        reopened = await factory.open_project("/home/user/project")

        assert await reopened.lexical_search.find_missing() == []
        assert look("SELECT name, version FROM search_state") == [("fts", 1)]


class TestTombstones:
    async def test_pruned_keys_are_found(self, project: ProjectStorage, look: Look) -> None:
        """Which of the given keys must not come back."""
        pruned, other = b"p" * 32, b"o" * 32
        look("INSERT INTO ingest_tombstones SELECT project_id, ?, 'pruned', 0 FROM projects", (pruned,))

        assert await project.ingest.find_tombstones([other, pruned]) == {pruned}
        assert await project.ingest.find_tombstones([]) == frozenset()
