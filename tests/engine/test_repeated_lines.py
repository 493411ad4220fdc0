"""Lines and ids that come again: they move nothing, and nothing of them is lost."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from lcm.domain.messages import PartType, Role
from lcm.domain.records import Block
from lcm.large_files.store import file_bytes, store_bytes
from lcm.storage.contracts.project import ProjectStorage
from tests.engine.stores import Store
from tests.engine.test_writer import Writing, record
from tests.transcript_factory import make_claude_session


async def shown(project: ProjectStorage, conversation_id: int = 1) -> list[str]:
    """Contents of a context's messages, in order."""
    ids = [item.ref.message_id or 0 for item in await project.context.list_items(conversation_id)]
    return [message.content for message in await project.conversations.list_messages_by_id(ids)]


def make_worktree(folder: Path) -> tuple[Path, Path]:
    """A repository and a linked worktree of it."""
    main, linked = folder / "main", folder / "linked"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q", str(main)], check=True)
    subprocess.run([*git, "-C", str(main), "commit", "-q", "--allow-empty", "-m", "start"], check=True)
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(linked)], check=True)
    return main, linked


class TestRepeatedLine:
    async def test_an_old_line_written_again_moves_nothing(self, project: ProjectStorage) -> None:
        """What follows a repeated line stands behind the newest message, in one batch and over several."""
        writing = await Writing.start(project)
        again = record(1)

        await writing.write(record(0), record(1), record(2), record(3), again, record(4))
        await writing.write(again, record(5))
        await writing.write(record(2), again)
        await writing.write(record(6))

        assert await shown(project) == [f"text {number}" for number in range(7)]


class TestReusedCallId:
    async def test_both_calls_are_kept(self, project: ProjectStorage) -> None:
        """A call id that a provider gives twice in one session names two calls; a second read knows both."""
        calls = [
            record(
                line,
                role=Role.ASSISTANT if kind == "function_call" else Role.TOOL,
                blocks=(Block(PartType.TOOL_CALL if kind == "function_call" else PartType.TOOL_RESULT, text),),
                native_uuid=None,
                call_id="call_0",
                item_type=kind,
            )
            for line, (kind, text) in enumerate(
                [
                    ("function_call", "{}"),
                    ("function_call_output", "first result"),
                    ("function_call", '{"n":2}'),
                    ("function_call_output", "second result"),
                ]
            )
        ]
        writing = await Writing.start(project)
        elsewhere = await Writing.start(project, "/copy.jsonl")

        first = await writing.write(*calls)
        second = await elsewhere.write(*calls)

        assert (first.messages_new, first.messages_known) == (4, 0)
        assert (second.messages_new, second.messages_known, second.messages_changed) == (0, 4, 0)
        assert await shown(project) == ["{}", "first result", '{"n":2}', "second result"]


class TestRememberedRoots:
    async def test_a_removed_worktree_moves_no_session(self, tmp_path: Path, home: Path) -> None:
        """A session of a linked worktree stays in the main project after the worktree is gone."""
        main, linked = make_worktree(tmp_path)
        path = make_claude_session(tmp_path / "s.jsonl", turns=3, cwd=str(linked))
        async with Store(home) as store:
            first = await store.import_file(path)
        shutil.rmtree(linked)

        async with Store(home) as store:
            second = await store.import_file(path)

            assert first.root == second.root == str(main)
            assert second.counts.messages_new == 0
            assert await store.factory.list_roots() == [str(main)]


class TestDamagedPicture:
    def test_damaged_bytes_are_replaced(self, tmp_path: Path) -> None:
        """A file of the right name with wrong bytes does not stand for the right ones."""
        picture = file_bytes(b"picture", name="a.png", mime_type="image/png")
        stored = store_bytes(tmp_path / "files", picture, 1)
        path = tmp_path / stored.storage_uri
        path.write_bytes(b"damaged")

        again = store_bytes(tmp_path / "files", picture, 1)

        assert path.read_bytes() == b"picture"
        assert again == stored


class TestDamagedState:
    async def test_a_checkpoint_that_cannot_be_read_costs_time_only(self, tmp_path: Path, home: Path) -> None:
        """The file is read again from its start; nothing is lost, doubled or refused."""
        path = make_claude_session(tmp_path / "s.jsonl", turns=2, cwd="/home/user/project")
        async with Store(home) as store:
            before = await store.import_file(path)
        for state in ("{", "[]", '{"parser": 3}'):
            _execute(home, "UPDATE sources SET parser_state = ?", state)
            async with Store(home) as store:
                after = await store.import_file(path)

            assert after.counts.messages_new == 0
            assert after.counts.messages_known == before.counts.messages_new

    async def test_a_lowered_sequence_gives_no_id_twice(self, tmp_path: Path, home: Path) -> None:
        """New messages get ids above those that exist, whatever the database says it gave last."""
        async with Store(home) as store:
            await store.import_file(make_claude_session(tmp_path / "a.jsonl", turns=2, session_id="a"))
        _execute(home, "UPDATE sqlite_sequence SET seq = 1 WHERE name = ?", "messages")
        other = make_claude_session(tmp_path / "b.jsonl", turns=2, session_id="b", first=500)

        async with Store(home) as store:
            report = await store.import_file(other)

        assert report.counts.messages_new > 0


def _execute(home: Path, statement: str, *values: str) -> None:
    """In the database of the home's only project."""
    database = next(home.glob("projects/*/db.sqlite"))
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute(statement, values)
