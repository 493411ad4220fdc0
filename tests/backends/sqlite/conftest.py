"""One project on SQLite and plain sight of its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lcm.domain.conversations import Conversation
from lcm.identity.project import project_folder
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation

Rows = list[tuple[object, ...]]
Look = Callable[..., Rows]


@pytest.fixture
def database(home: Path) -> Path:
    """Where the file of the `project` fixture is."""
    return project_folder(home, "/home/user/project") / "db.sqlite"


@pytest.fixture
async def conversation(project: ProjectStorage) -> Conversation:
    return await project.conversations.create_conversation(make_conversation())


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@pytest.fixture
def look(database: Path) -> Look:
    """Run one statement beside lcm."""

    def run(statement: str, parameters: tuple[object, ...] = ()) -> Rows:
        with connected(database) as connection:
            return connection.execute(statement, parameters).fetchall()

    return run
