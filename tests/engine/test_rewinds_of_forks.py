"""What one conversation took back, another that holds the same records still shows, in whatever order files come."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lcm.engine import importing
from tests.engine.sessions import SESSION, Record, assistant, dialogue, name, user, write
from tests.engine.stores import Store

FORKED = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base moves on from batch to batch."""
    monkeypatch.setattr(importing, "BATCH_MESSAGES", 2)


def original(kept: int = 2) -> list[Record]:
    """Six records, of which those behind `kept` are taken back by a new prompt; and its answer."""
    return [*dialogue(6), user(7, parentUuid=name(kept)), assistant(8)]


def fork(copied: list[Record]) -> list[Record]:
    """The same records in a file of a new session, and a prompt and an answer of its own."""
    copies = [
        {**each, "sessionId": FORKED, "forkedFrom": {"sessionId": SESSION, "messageUuid": each["uuid"]}}
        for each in copied
    ]
    own = [user(101, parentUuid=copied[-1]["uuid"]), assistant(102)]
    return [*copies, *({**each, "sessionId": FORKED} for each in own)]


class TestForkBeforeARewind:
    """The fork was made of the first six records; the original then took four of them back."""

    SHOWN = ("prompt 1", "answer 2", "prompt 3", "answer 4", "prompt 5", "answer 6", "prompt 101", "answer 102")

    @pytest.mark.parametrize("is_fork_first", [False, True])
    async def test_each_shows_its_own_lineage(self, tmp_path: Path, *, is_fork_first: bool) -> None:
        """The fork shows what it was made of, the original what is left; nothing is stored twice or out of place."""
        paths = [write(tmp_path / "a.jsonl", *original()), write(tmp_path / "b.jsonl", *fork(dialogue(6)))]

        async with Store(tmp_path / "home") as store:
            await store.import_all(reversed(paths) if is_fork_first else paths)

            assert await store.texts(FORKED) == list(self.SHOWN)
            assert await store.texts(SESSION) == ["prompt 1", "answer 2", "prompt 7", "answer 8"]
            assert await store.faults() == []

    @pytest.mark.usefixtures("small_batches")
    @pytest.mark.parametrize("is_fork_first", [False, True])
    async def test_in_small_batches_it_is_the_same(self, tmp_path: Path, *, is_fork_first: bool) -> None:
        """A base that moves on keeps what the fork shows, and does not bring back what the original took back."""
        await self.test_each_shows_its_own_lineage(tmp_path, is_fork_first=is_fork_first)

    async def test_reading_the_fork_again_changes_nothing(self, tmp_path: Path) -> None:
        """Without its checkpoint every record is known; what is shown stays shown once."""
        a, b = write(tmp_path / "a.jsonl", *original()), write(tmp_path / "b.jsonl", *fork(dialogue(6)))
        async with Store(tmp_path / "home") as store:
            await store.import_all([a, b])

            await store.import_file(write(tmp_path / "copy.jsonl", *fork(dialogue(6))))

            assert await store.texts(FORKED) == list(self.SHOWN)


class TestForkAfterARewind:
    @pytest.mark.parametrize("is_fork_first", [False, True])
    async def test_what_both_took_back_neither_shows(self, tmp_path: Path, *, is_fork_first: bool) -> None:
        """A fork whose file holds the rewind too shows no abandoned record."""
        paths = [write(tmp_path / "a.jsonl", *original()), write(tmp_path / "b.jsonl", *fork(original()))]

        async with Store(tmp_path / "home") as store:
            await store.import_all(reversed(paths) if is_fork_first else paths)

            assert await store.texts(FORKED) == [
                "prompt 1",
                "answer 2",
                "prompt 7",
                "answer 8",
                "prompt 101",
                "answer 102",
            ]
            assert await store.texts(SESSION) == ["prompt 1", "answer 2", "prompt 7", "answer 8"]


class TestLongForks:
    @pytest.mark.usefixtures("small_batches")
    async def test_a_base_moves_on_with_every_batch(self, tmp_path: Path) -> None:
        """A fork that copies more than a batch shows all of it."""
        paths = [write(tmp_path / "a.jsonl", *dialogue(6)), write(tmp_path / "b.jsonl", *fork(dialogue(6)))]

        async with Store(tmp_path / "home") as store:
            await store.import_all(paths)

            assert await store.texts(FORKED) == list(TestForkBeforeARewind.SHOWN)


class TestAnyOrder:
    @settings(max_examples=15, deadline=None)
    @example(kept=2, copied=7, steps=["a4", "b", "a8"], batch=2)
    @example(kept=2, copied=7, steps=["b", "a4", "a8"], batch=500)
    @given(
        kept=st.sampled_from([2, 4]),
        copied=st.integers(1, 8),
        steps=st.permutations(["a4", "a8", "b"]),
        batch=st.sampled_from([2, 500]),
    )
    async def test_contexts_are_the_same(self, kept: int, copied: int, steps: list[str], batch: int) -> None:
        """However the original grew before and after the fork was read, both end with the contexts of one order."""
        records, branch = original(kept), fork(original(kept)[:copied])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(importing, "BATCH_MESSAGES", batch)
            found = await contexts(records, branch, steps)

        assert found == await contexts(records, branch, ["a8", "b"])


async def contexts(records: list[Record], branch: list[Record], steps: list[str]) -> tuple[list[str], list[str]]:
    """Of both sessions, after the steps: the fork, or so many records of the original if it has not grown further."""
    size = 0
    with TemporaryDirectory() as folder:
        async with Store(Path(folder) / "home") as store:
            for step in steps:
                if step == "b":
                    await store.import_file(write(Path(folder) / "b.jsonl", *branch))
                    continue
                size = max(size, int(step[1:]))
                path = Path(folder) / "a.jsonl"
                write(path, *records[:size])
                await store.import_file(path)
            return await store.texts(SESSION), await store.texts(FORKED)
