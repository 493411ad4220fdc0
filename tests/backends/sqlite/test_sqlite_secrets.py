"""What errors, reprs and tracebacks of SQLite storage never show: values, statements, paths."""

# ruff: noqa: ASYNC240 - tests look at small files while nothing else runs

from __future__ import annotations

import traceback
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from lcm.domain.context import ItemRef
from lcm.domain.conversations import Conversation
from lcm.domain.large_files import NewLargeFile
from lcm.errors import LcmError
from lcm.storage.contracts.health import HealthStatus
from lcm.storage.contracts.lexical_search import MatchQuery, SearchFilters
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from tests.factories import make_conversation, make_message, make_summary

SECRET = "sk-planted-4f9a1c77"
KEY = b"k" * 32
NOBODY = uuid.UUID("01890000-0000-7000-8000-00000000dead")


def told_by(error: BaseException) -> str:
    """Everything a log or a terminal could show of an error, its chain included."""
    shown = "".join(traceback.format_exception(error))
    # Source lines of the tests themselves are no leak of lcm.
    lines = [line for line in shown.splitlines() if SECRET not in line or "SECRET" not in line]
    return "\n".join([*lines, str(error), repr(error), repr(vars(error)), repr(error.args)])


FAILING: dict[str, Callable[[ProjectStorage], Awaitable[object]]] = {
    "taken key": lambda p: p.conversations.append_messages(1, [make_message(SECRET, ingest_key=KEY)] * 2),
    "short key": lambda p: p.conversations.append_messages(1, [make_message(SECRET, ingest_key=SECRET.encode())]),
    "unknown source": lambda p: p.conversations.append_messages(1, [make_message(SECRET, source_id=99)]),
    "huge source": lambda p: p.conversations.append_messages(1, [make_message(SECRET, source_id=2**70)]),
    "wrong type": lambda p: p.conversations.append_messages(
        1,
        [replace(make_message(SECRET), occurred_at=SECRET)],  # type: ignore[arg-type] # planted
    ),
    "unbindable": lambda p: p.conversations.append_messages(
        1,
        [make_message(SECRET, ingest_key={SECRET: SECRET})],
    ),
    "unsafe text": lambda p: p.conversations.append_messages(1, [make_message(f"{SECRET}\0")]),
    "unsafe session": lambda p: p.conversations.find_newest_of_session(f"{SECRET}\ud800"),
    "unknown base": lambda p: p.conversations.create_conversation(make_conversation(SECRET, base_conversation_id=99)),
    "summary": lambda p: p.summaries.insert_summary(make_summary(99, SECRET)),
    "prefix": lambda p: p.summaries.get_summary(SECRET),
    "file": lambda p: p.large_files.insert_file(NewLargeFile(SECRET, 99, 1, KEY, SECRET)),
    "no file": lambda p: p.large_files.get_file(SECRET),
    "category": lambda p: p.redaction_admin.add_counts({SECRET: 1}),
    "query": lambda p: p.lexical_search.match_messages(MatchQuery(words=(SECRET + "\0",)), SearchFilters(), limit=1),
    "context": lambda p: p.context.replace_range(1, [ItemRef(message_id=1)], NOBODY),
}


class TestErrors:
    @pytest.mark.parametrize("call", FAILING.values(), ids=list(FAILING))
    async def test_show_no_values_statements_or_paths(
        self,
        project: ProjectStorage,
        conversation: Conversation,
        home: Path,
        call: Callable[[ProjectStorage], Awaitable[object]],
    ) -> None:
        """Every error is one of lcm and shows nothing of what was given, asked or where it is stored."""
        with capture_logs() as events, pytest.raises(LcmError) as refused:
            await call(project)

        told = told_by(refused.value) + repr(events)
        assert SECRET not in told
        assert str(home) not in told
        assert "INSERT INTO" not in told
        assert "SELECT" not in told
        assert refused.value.__cause__ is None

    @pytest.mark.parametrize("call", FAILING.values(), ids=list(FAILING))
    async def test_the_same_in_a_transaction(
        self, project: ProjectStorage, conversation: Conversation, call: Callable[[ProjectStorage], Awaitable[object]]
    ) -> None:
        """Inside a transaction nothing more is shown, and it can go on."""
        async with project.transaction() as tx:
            with pytest.raises(LcmError) as refused:
                await call(tx)  # type: ignore[arg-type] # the same repositories
            await tx.conversations.create_conversation(make_conversation())

        assert SECRET not in told_by(refused.value)
        assert len(await project.conversations.list_conversations()) == 2

    async def test_a_secret_in_the_path(self, tmp_path: Path) -> None:
        """A home whose path holds a secret does not show it when its database is damaged."""
        factory = SqliteFactory(tmp_path / SECRET)
        project = await factory.open_project(f"/home/{SECRET}")
        await project.close()
        for database in tmp_path.rglob("db.sqlite"):
            database.write_bytes(b"x" * 5000)

        with pytest.raises(LcmError) as refused:
            await factory.open_project(f"/home/{SECRET}")
        await factory.close()

        assert SECRET not in str(refused.value)
        assert SECRET not in repr(refused.value)
        assert refused.value.__cause__ is None

    async def test_health_shows_no_path(self, project: ProjectStorage, home: Path) -> None:
        """A project whose file is gone is unavailable, without saying where it was."""
        for path in home.rglob("db.sqlite*"):
            path.unlink()

        health = await project.health()

        assert health.status is HealthStatus.UNAVAILABLE
        assert health.detail
        assert str(home) not in repr(health)


class TestReprs:
    async def test_of_storage_objects(self, project: ProjectStorage, conversation: Conversation, home: Path) -> None:
        """Scopes and repositories do not show where they store."""
        for each in (project, project.conversations, project.context):
            assert str(home) not in repr(each)
