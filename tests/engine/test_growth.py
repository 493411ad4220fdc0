"""A transcript read while it grows gives what the whole file gives; copies, damage and races add nothing."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.engine import importing
from tests.conftest import REPOSITORY
from tests.engine.sessions import EVERY_STEP, SESSION, at, dialogue, session_files, to_bytes, user, write
from tests.engine.stores import Store

#: A process that imports one file into a home.
IMPORT = """
import asyncio, sys
from pathlib import Path
from tests.engine.stores import Store

async def main(home, path):
    async with Store(Path(home)) as store:
        await store.import_file(Path(path), "claude")

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=[2, 500])
def batch_messages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(importing, "BATCH_MESSAGES", request.param)
    return int(request.param)


async def grown(folder: Path, data: bytes, ends: list[int]) -> Store:
    """A home that saw a file after each of these lengths, and at last whole."""
    store = Store(folder / "grown")
    path = folder / "session.jsonl"
    for end in [*sorted(ends), len(data)]:
        with path.open("ab") as file:
            file.write(data[path.stat().st_size : end])
        await store.import_file(path, "claude")
    return store


async def whole(folder: Path, data: bytes) -> Store:
    store = Store(folder / "whole")
    path = folder / "session.jsonl"
    path.write_bytes(data)
    await store.import_file(path, "claude")
    return store


async def check_growth(data: bytes, shares: list[float]) -> None:
    """Identities, contents, exclusions and context order do not depend on when the file was read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ends = [round(share * len(data)) for share in shares]
        async with await grown(folder, data, ends) as first, await whole(folder, data) as second:
            assert await first.messages() == await second.messages()
            assert await first.contexts() == await second.contexts()
            assert await first.faults() == []


SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=4)
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.usefixtures("batch_messages")
class TestGrowingFile:
    @settings(max_examples=15, deadline=None, suppress_health_check=QUIET)
    @given(session_files, SHARES)
    async def test_any_cuts_and_then_the_whole_is_the_whole(self, data: bytes, shares: list[float]) -> None:
        """A made-up session cut at any bytes, in mid-line too."""
        await check_growth(data, shares)

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    @settings(max_examples=500, deadline=None, suppress_health_check=QUIET)
    @given(session_files, SHARES)
    async def test_many_cuts_and_then_the_whole_is_the_whole(self, data: bytes, shares: list[float]) -> None:
        """The same for many more sessions."""
        await check_growth(data, shares)


class TestSessionWithEverything:
    async def test_a_cut_behind_any_line_of_a_session_with_everything(self, tmp_path: Path) -> None:
        """Two reads, for every line that the first one can end with."""
        lines = EVERY_STEP.splitlines(keepends=True)
        for folder in ("expected", *(str(count) for count in range(1, len(lines)))):
            (tmp_path / folder).mkdir()
        async with await whole(tmp_path / "expected", EVERY_STEP) as store:
            expected = await store.messages(), await store.contexts()
        for count in range(1, len(lines)):
            async with await grown(tmp_path / str(count), EVERY_STEP, [len(b"".join(lines[:count]))]) as store:
                assert (await store.messages(), await store.contexts()) == expected, f"cut behind line {count}"


async def imported(home: Path, *steps: tuple[Path, bytes]) -> Store:
    """A home after each file was set to these bytes, in place, and imported."""
    store = Store(home)
    for path, data in steps:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        await store.import_file(path, "claude")
    return store


class TestChangedFile:
    async def test_an_inserted_line_stands_where_it_is_in_the_file(self, tmp_path: Path) -> None:
        """The file is read again from its start; everything else is known."""
        lines = [to_bytes(each) for each in dialogue(6)]
        late = to_bytes(user(50, "inserted"))
        path = tmp_path / "s.jsonl"
        after = [*lines[:3], late, *lines[3:]]
        async with await imported(tmp_path / "home", (path, b"".join(lines)), (path, b"".join(after))) as store:
            assert await store.texts(SESSION) == [
                "prompt 1", "answer 2", "prompt 3", "inserted", "answer 4", "prompt 5", "answer 6",
            ]  # fmt: skip
            assert await store.faults() == []

    async def test_lines_inserted_again_and_again_keep_the_files_order(self, tmp_path: Path) -> None:
        """Also behind known records, a meta record and one another."""
        lines = [to_bytes(each) for each in dialogue(6)]
        meta = to_bytes(user(60, "injected", isMeta=True))
        first = to_bytes(user(51, "first", timestamp=at(0)))
        versions = [
            lines,
            [*lines[:1], meta, *lines[1:]],
            [*lines[:1], meta, to_bytes(user(50, "one")), *lines[1:]],
            [first, *lines[:1], meta, to_bytes(user(50, "one")), to_bytes(user(52, "two")), *lines[1:]],
        ]
        path = tmp_path / "s.jsonl"
        async with await imported(tmp_path / "home", *((path, b"".join(each)) for each in versions)) as store:
            assert await store.texts(SESSION) == [
                "first", "prompt 1", "one", "two", "answer 2", "prompt 3", "answer 4", "prompt 5", "answer 6",
            ]  # fmt: skip

    async def test_a_truncated_file_that_grows_again_adds_only_what_is_new(self, tmp_path: Path) -> None:
        """Nothing that was stored is removed, nothing comes twice; records without ids are counted from the start."""
        bare = {"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": "yes"}}
        path = tmp_path / "s.jsonl"
        long, short = to_bytes(*dialogue(4), bare, bare), to_bytes(*dialogue(2), bare)
        steps = [(path, long), (path, short), (path, to_bytes(*dialogue(4), bare, bare, bare))]
        async with await imported(tmp_path / "home", *steps) as store:
            assert await store.texts(SESSION) == [
                "prompt 1", "answer 2", "prompt 3", "answer 4", "yes", "yes", "yes",
            ]  # fmt: skip

    async def test_a_file_replaced_by_a_stub_removes_nothing(self, tmp_path: Path) -> None:
        """The store is not a mirror."""
        path = tmp_path / "s.jsonl"
        stub = to_bytes({"type": "summary", "summary": "moved", "leafUuid": "x"})
        async with await imported(tmp_path / "home", (path, to_bytes(*dialogue(4))), (path, stub)) as store:
            assert len(await store.texts(SESSION)) == 4

    async def test_the_same_file_in_two_folders_is_stored_once(self, tmp_path: Path) -> None:
        """And a copy that has grown brings what it has more."""
        steps = [(tmp_path / "a/s.jsonl", to_bytes(*dialogue(4))), (tmp_path / "b/s.jsonl", to_bytes(*dialogue(6)))]
        async with await imported(tmp_path / "home", *steps) as store:
            assert len(await store.texts(SESSION)) == 6
            assert await store.faults() == []

    async def test_changed_content_of_a_known_record_is_counted_and_not_taken(self, tmp_path: Path) -> None:
        """The first version stays."""
        store = Store(tmp_path / "home")
        path = write(tmp_path / "s.jsonl", user(1, "first words"))
        await store.import_file(path)
        report = await store.import_file(write(path, user(1, "other words")))

        assert (report.counts.messages_known, report.counts.messages_changed) == (1, 1)
        assert await store.texts(SESSION) == ["first words"]
        await store.factory.close()


class TestTwoFilesOfOneSession:
    @settings(max_examples=15, deadline=None, suppress_health_check=QUIET)
    @given(st.lists(st.tuples(st.booleans(), st.integers(1, 8)), max_size=6), st.integers(0, 8))
    async def test_any_order_of_their_prefixes_gives_the_same(self, reads: list[tuple[bool, int]], shared: int) -> None:
        """Two overlapping files, read a bit here and a bit there: same identities and contents, none twice."""
        lines = [to_bytes(each) for each in dialogue(16)]
        files = {False: lines[:8], True: lines[8 - shared : 16]}
        ends = {False: 0, True: 0}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            async with Store(folder / "home") as store:
                for which, count in [*reads, (False, 8), (True, 16)]:
                    ends[which] = max(ends[which], count)
                    path = folder / f"{which}.jsonl"
                    path.write_bytes(b"".join(files[which][: ends[which]]))
                    await store.import_file(path, "claude")
                messages = await store.messages()
                assert len(messages) == 16
                assert await store.faults() == []


class TestSeveralProcesses:
    async def test_two_at_once_store_everything_once(self, tmp_path: Path) -> None:
        """Both read the whole file; each row is written by one of them."""
        path = write(tmp_path / "s.jsonl", *dialogue(3000))
        command = [sys.executable, "-c", IMPORT, str(tmp_path / "home"), str(path)]
        processes = [await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY) for _ in range(2)]

        assert [await process.wait() for process in processes] == [0, 0]
        async with Store(tmp_path / "home") as store:
            assert await store.texts(SESSION) == [f"{'prompt' if n % 2 else 'answer'} {n}" for n in range(1, 3001)]
            assert await store.faults() == []
