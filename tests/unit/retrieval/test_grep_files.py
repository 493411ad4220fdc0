"""Search in the text of stored files: scope, filters, order, and what is not complete."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lcm.errors import InvalidInput
from lcm.large_files.reference import reference
from lcm.large_files.store import file_bytes, store_bytes
from lcm.retrieval import grep_files
from lcm.retrieval.grep import GrepAnswer, GrepMode, GrepScope, grep
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import START, make_conversation, make_message


async def start(project: ProjectStorage, session_id: str = "session-1") -> int:
    return (await project.conversations.create_conversation(make_conversation(session_id))).conversation_id


async def store(
    project: ProjectStorage, conversation_id: int, content: str | bytes, name: str | None = "a.txt", *, minutes: int = 0
) -> str:
    """The id of a file with this content, and a message that refers to it."""
    data = content.encode() if isinstance(content, str) else content
    file = file_bytes(data, name=name, mime_type=None)
    await project.large_files.insert_file(store_bytes(project.files_folder, file, conversation_id))
    line = reference(file.file_id, name=name, mime_type=None, size_bytes=len(data))
    await project.conversations.append_messages(conversation_id, [make_message(f"see {line}", minutes=minutes)])
    return file.file_id


async def in_files(project: ProjectStorage, pattern: str, **options: object) -> GrepAnswer:
    return await grep(project, pattern, scope=GrepScope.FILES, **options)  # type: ignore[arg-type] # options of grep


def found(answer: GrepAnswer) -> list[tuple[str, int | None]]:
    return [(hit.id, hit.line) for hit in answer.hits]


class TestGrepFiles:
    async def test_a_hit_tells_the_line_and_the_message(self, project: ProjectStorage) -> None:
        """Where in the file, and where the file stands."""
        file_id = await store(project, await start(project), "one\nthe needle\n", "notes.md", minutes=3)

        answer = await in_files(project, "NEEDLE")
        (hit,) = answer.hits

        assert (hit.kind, hit.id, hit.file_name, hit.line, hit.snippet) == (
            "file",
            file_id,
            "notes.md",
            2,
            "the needle",
        )
        assert (hit.conversation_id, hit.seq, hit.role, hit.session_id) == (1, 0, "user", "session-1")
        assert hit.occurred_at == START + timedelta(minutes=3)
        assert (answer.match_count, answer.complete, answer.scope) == (1, True, "files of project project")

    async def test_a_regular_expression_holds_line_by_line(self, project: ProjectStorage) -> None:
        """Anchors hold at every line."""
        file_id = await store(project, await start(project), "x err 1\nerr 22\n")

        assert found(await in_files(project, r"^err \d+$", mode=GrepMode.REGEX)) == [(file_id, 2)]

    async def test_scopes(self, project: ProjectStorage) -> None:
        """Messages and summaries alone are searched as before; `all` adds the files."""
        conversation_id = await start(project)
        file_id = await store(project, conversation_id, "needle\n")
        await project.conversations.append_messages(conversation_id, [make_message("a needle", minutes=9)])

        both = await grep(project, "needle", scope=GrepScope.BOTH)
        everything = await grep(project, "needle", scope=GrepScope.ALL)

        assert [hit.id for hit in both.hits] == ["1:1"]
        assert [hit.id for hit in everything.hits] == ["1:1", file_id]
        assert everything.scope == "messages, summaries and files of project project"

    async def test_newest_first_within_the_limit(self, project: ProjectStorage) -> None:
        """By the time of the message; all matches are counted."""
        conversation_id = await start(project)
        old = await store(project, conversation_id, "needle 1", minutes=1)
        new = await store(project, conversation_id, "needle 2", minutes=2)

        answer = await in_files(project, "needle", limit=1)

        assert (found(answer), answer.match_count) == ([(new, 1)], 2)
        assert [hit.id for hit in (await in_files(project, "needle")).hits] == [new, old]

    async def test_filters(self, project: ProjectStorage) -> None:
        """Session, conversation and time are those of the messages that refer to the file."""
        first, second = await start(project), await start(project, "session-2")
        a = await store(project, first, "needle 1", minutes=1)
        b = await store(project, second, "needle 2", minutes=5)

        assert found(await in_files(project, "needle", session_id="session-1")) == [(a, 1)]
        assert found(await in_files(project, "needle", conversation_id=second)) == [(b, 1)]
        assert found(await in_files(project, "needle", since=START + timedelta(minutes=2))) == [(b, 1)]
        assert found(await in_files(project, "needle", session_id="session-3")) == []

    async def test_a_file_in_two_conversations_is_found_under_both(self, project: ProjectStorage) -> None:
        """Although its row knows the first only; without a filter it is where it stood first."""
        first, second = await start(project), await start(project, "session-2")
        await store(project, first, "needle", minutes=7)
        await store(project, second, "needle", minutes=4)

        places = [
            (await in_files(project, "needle", session_id=each)).hits[0].seq for each in ("session-1", "session-2")
        ]
        (hit,) = (await in_files(project, "needle")).hits

        assert places == [0, 0]
        assert hit.session_id == "session-2"

    async def test_a_file_that_no_message_refers_to(self, project: ProjectStorage) -> None:
        """Is found when there is no filter."""
        conversation_id = await start(project)
        file = file_bytes(b"needle", name=None, mime_type=None)
        await project.large_files.insert_file(store_bytes(project.files_folder, file, conversation_id))

        (hit,) = (await in_files(project, "needle")).hits

        assert (hit.id, hit.session_id, hit.seq) == (file.file_id, "session-1", None)
        assert (await in_files(project, "needle", session_id="session-1")).hits == ()

    async def test_bytes_that_are_no_text_are_left_out(self, project: ProjectStorage) -> None:
        """And the answer is complete: they hold no text."""
        await store(project, await start(project), b"\x89PNG\0needle", "a.png")

        answer = await in_files(project, "needle")

        assert (answer.hits, answer.complete) == ((), True)

    async def test_missing_bytes_make_the_answer_incomplete(self, project: ProjectStorage) -> None:
        """The other files are searched."""
        conversation_id = await start(project)
        gone = await store(project, conversation_id, "needle 1")
        kept = await store(project, conversation_id, "needle 2")
        (path,) = project.files_folder.glob(f"{gone}*")
        path.unlink()

        answer = await in_files(project, "needle")

        assert (found(answer), answer.complete) == ([(kept, 1)], False)

    async def test_bounded_scan_is_told(self, project: ProjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
        """A scan that ends early says that it is not complete; the newest files come first."""
        monkeypatch.setattr(grep_files, "_MAX_BYTES", 5)
        conversation_id = await start(project)
        await store(project, conversation_id, "needle 1", minutes=1)
        new = await store(project, conversation_id, "needle 2", minutes=2)

        answer = await in_files(project, "needle")

        assert (found(answer), answer.complete) == ([(new, 1)], False)

    async def test_pages_of_messages(self, project: ProjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
        """References behind the first page of messages are seen."""
        monkeypatch.setattr(grep_files, "_PAGE", 2)
        conversation_id = await start(project)
        ids = {await store(project, conversation_id, f"needle {number}", minutes=number) for number in range(5)}

        assert {hit.id for hit in (await in_files(project, "needle", session_id="session-1")).hits} == ids

    async def test_a_wrong_pattern(self, project: ProjectStorage) -> None:
        """Is refused as everywhere."""
        with pytest.raises(InvalidInput):
            await in_files(project, "(", mode=GrepMode.REGEX)
