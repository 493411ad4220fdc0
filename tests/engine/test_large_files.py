"""Large files from the transcript to the model: explored once, told everywhere, redacted, proved whole."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from lcm.assembly.assembler import assemble
from lcm.compaction.source_text import leaf_text
from lcm.integrity.verify import verify_project
from lcm.large_files.shown import with_file_summaries
from lcm.storage.contracts.project import ProjectStorage
from tests.engine.sessions import assistant, user, write
from tests.engine.stores import Store

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
TABLE = "id,name,password\n" + "".join(f"{number},user {number},{SECRET}\n" for number in range(200))
SUMMARY = "CSV: 200 rows below the header\n3 columns: id, name, password\nfirst row: 0,user 0,[REDACTED]"


def transcript(path: Path, *contents: Any) -> Path:
    records = [user(2 * number + 1, content) for number, content in enumerate(contents)]
    answers = [assistant(2 * number + 2, "Seen.") for number in range(len(contents))]
    return write(path, *(each for pair in zip(records, answers, strict=True) for each in pair))


async def stored(store: Store, path: Path) -> ProjectStorage:
    await store.import_file(path)
    (project,) = await store.open_all()
    return project


class TestLargeFiles:
    async def test_a_file_is_explored_when_it_is_stored(self, tmp_path: Path) -> None:
        """The message holds the reference alone; the summary is in the row, and no secret in either."""
        async with Store(tmp_path / "home", large_file_tokens=100) as store:
            path = transcript(tmp_path / "s.jsonl", f'Look: <file name="users.csv" mime="text/csv">{TABLE}</file>')
            project = await stored(store, path)
            (file,) = await project.large_files.list_files()
            (message, _) = await project.conversations.list_messages(1)

        assert file.exploration_summary == SUMMARY
        assert message.content == f"Look: [lcm file {file.file_id} | users.csv | text/csv | {file.size_bytes} bytes]"
        assert SECRET not in next(project.files_folder.glob("file_*")).read_text()

    async def test_context_and_summarizer_see_what_it_holds(self, tmp_path: Path) -> None:
        """Below the reference, in both."""
        async with Store(tmp_path / "home", large_file_tokens=100) as store:
            path = transcript(tmp_path / "s.jsonl", f'Look: <file name="users.csv">{TABLE}</file>')
            project = await stored(store, path)
            context = await assemble(project, 1, budget=10_000)
            messages = await project.conversations.list_messages(1)
            source = leaf_text(await with_file_summaries(project.large_files, messages))

        assert f"bytes]\n{SUMMARY}" in context.messages[0].content[0]["text"]
        assert f"bytes]\n{SUMMARY}" in source

    async def test_media(self, tmp_path: Path) -> None:
        """A picture is told by its kind; the proof finds no fault."""
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0").decode()
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        async with Store(tmp_path / "home") as store:
            project = await stored(store, transcript(tmp_path / "s.jsonl", [picture]))
            (file,) = await project.large_files.list_files()
            proof = await verify_project(project)

        assert file.exploration_summary == "image/png, 10 bytes"
        assert proof.faults == ()

    async def test_the_content_digest_does_not_depend_on_the_summary(self, tmp_path: Path) -> None:
        """Another parser tells a file in other words; the stored session is the same."""
        content = f'<file name="users.csv">{TABLE}</file>'
        async with Store(tmp_path / "home", large_file_tokens=100) as store:
            project = await stored(store, transcript(tmp_path / "s.jsonl", content))
            before = (await verify_project(project)).content_digest
            (database,) = (tmp_path / "home").glob("projects/*/db.sqlite")
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute("UPDATE large_files SET exploration_summary = 'told otherwise'")
            (file,) = await project.large_files.list_files()

            assert file.exploration_summary == "told otherwise"
            assert (await verify_project(project)).content_digest == before
