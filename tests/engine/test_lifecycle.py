"""What a client's hooks call: bootstrap, ingest, after a turn; at least once, side by side, and decided by settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.run import Compactor
from lcm.domain.messages import PartType, Role
from lcm.domain.records import Block, MessageRecord, Thread
from lcm.engine.lifecycle import Engine
from lcm.errors import StorageUnavailable, UnsafeText
from lcm.settings.load import load_settings
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.engine.sessions import CWD, SESSION, dialogue, name, user, write
from tests.engine.stores import Store
from tests.unit.compaction.sweeping import FakeSummarizer, Script

NOON = datetime(2026, 2, 17, 12, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "home") as opened:
        yield opened


def make_engine(store: Store, **overrides: Any) -> Engine:
    settings = load_settings(
        environ={"LCM_HOME": str(store.home)},
        overrides={f"compaction.{key}": value for key, value in overrides.items()},
    )
    return Engine(store.access, settings, CWD, clock=lambda: NOON)


def given(text: str, number: int | None = None) -> MessageRecord:
    """A message as a program gives it; numbered ones have a uuid."""
    return MessageRecord(
        line=0,
        thread=Thread("ignored"),
        role=Role.USER,
        blocks=(Block(PartType.TEXT, text),),
        occurred_at=None,
        item_type="message",
        native_uuid=None if number is None else name(number),
    )


class TestBootstrap:
    async def test_the_conversations_of_a_transcript_are_marked(self, store: Store, tmp_path: Path) -> None:
        """Also those whose messages an import brought before."""
        path = write(tmp_path / "s.jsonl", *dialogue(2))
        await store.import_file(path)
        report = await make_engine(store).bootstrap(path, "claude")
        [conversation] = await (await store.open(CWD)).conversations.list_conversations()

        assert report.counts.messages_new == 0
        assert conversation.bootstrapped_at == NOON

    async def test_what_a_crash_left_out_is_brought_in(self, store: Store, tmp_path: Path) -> None:
        """The transcript is the ground truth."""
        path = write(tmp_path / "s.jsonl", *dialogue(2))
        await make_engine(store).bootstrap(path, "claude")
        report = await make_engine(store).bootstrap(write(path, *dialogue(4)), "claude")

        assert report.counts.messages_new == 2

    async def test_a_transcript_without_messages_creates_nothing(self, store: Store, tmp_path: Path) -> None:
        """A session that has just begun."""
        await make_engine(store).bootstrap(write(tmp_path / "s.jsonl"), "claude")

        assert await store.factory.list_roots() == []


class TestIngest:
    async def test_messages_stand_in_the_context_of_their_session(self, store: Store) -> None:
        """In the order given; the session is the one named, whatever the records say."""
        engine = make_engine(store)
        await engine.ingest("session-1", given("one"))
        counts = await engine.ingest_batch("session-1", [given("two"), given("three")], is_whole_history=False)

        assert counts.messages_new == 2
        assert await store.texts("session-1") == ["one", "two", "three"]

    async def test_a_whole_history_given_again_adds_only_what_is_new(self, store: Store) -> None:
        """Equal texts are counted from its start."""
        engine = make_engine(store)
        history = [given("yes"), given("no"), given("yes")]
        await engine.ingest_batch("session-1", history, is_whole_history=True)
        again = await engine.ingest_batch("session-1", history, is_whole_history=True)
        longer = await engine.ingest_batch("session-1", [*history, given("yes")], is_whole_history=True)

        assert (again.messages_new, again.messages_known, longer.messages_new) == (0, 3, 1)
        assert await store.texts("session-1") == ["yes", "no", "yes", "yes"]

    async def test_equal_texts_given_one_by_one_are_several(self, store: Store) -> None:
        """They come after what was given before; a whole history then knows them all."""
        engine = make_engine(store)
        for _ in range(3):
            await engine.ingest("session-1", given("yes"))
        counts = await engine.ingest_batch("session-1", [given("yes")] * 3, is_whole_history=True)

        assert counts.messages_known == 3
        assert await store.texts("session-1") == ["yes", "yes", "yes"]

    async def test_a_record_with_an_id_may_be_given_any_number_of_times(self, store: Store) -> None:
        """Hooks run at least once."""
        engine = make_engine(store)
        first = await engine.ingest("session-1", given("hello", 1))
        second = await engine.ingest("session-1", given("hello", 1))

        assert (first.messages_new, second.messages_new, second.messages_known) == (1, 0, 1)

    async def test_what_was_given_live_is_known_to_the_import(self, store: Store, tmp_path: Path) -> None:
        """Under the coding agent's name and ids one message comes one way or the other, never twice."""
        await make_engine(store).ingest(SESSION, given("prompt 1", 1), client="claude")
        report = await store.import_file(write(tmp_path / "s.jsonl", *dialogue(2)))

        assert (report.counts.messages_new, report.counts.messages_known) == (1, 1)
        assert await store.texts(SESSION) == ["prompt 1", "answer 2"]

    async def test_an_unsafe_text_refuses_the_whole_batch(self, store: Store) -> None:
        """All or none; what follows is counted as if it had not been given."""
        engine = make_engine(store)
        with pytest.raises(UnsafeText):
            await engine.ingest_batch("session-1", [given("yes"), given("a\0b")], is_whole_history=False)
        await engine.ingest("session-1", given("yes"))

        assert await store.texts("session-1") == ["yes"]

    async def test_nothing_given_is_nothing_written(self, store: Store) -> None:
        """No project comes into being."""
        await make_engine(store).ingest_batch("session-1", [], is_whole_history=True)

        assert await store.factory.list_roots() == []

    async def test_many_at_once_are_all_stored_in_order_of_their_calls(self, store: Store) -> None:
        """One after the other per session; two engines on one home take turns in the database."""
        first, second = make_engine(store), make_engine(store)
        await first.ingest("session-1", given("start"))
        calls = [first.ingest("session-1", given(f"message {number}")) for number in range(10)]
        await asyncio.gather(*calls, *(second.ingest("session-2", given(f"other {number}")) for number in range(5)))

        assert await store.texts("session-1") == ["start", *(f"message {number}" for number in range(10))]
        assert await store.texts("session-2") == [f"other {number}" for number in range(5)]


class TestAfterTurn:
    @pytest.mark.parametrize(
        ("overrides", "is_due"),
        [
            ({"fresh_tail_count": 4, "leaf_chunk_tokens": 10}, True),
            ({"fresh_tail_count": 4, "leaf_chunk_tokens": 10_000}, False),
            ({"fresh_tail_count": 100, "leaf_chunk_tokens": 10}, False),
            ({"fresh_tail_count": 4, "leaf_chunk_tokens": 10, "autocompact_disabled": True}, False),
        ],
    )
    async def test_settings_decide_whether_a_pass_is_due(
        self, store: Store, tmp_path: Path, overrides: dict[str, Any], is_due: bool
    ) -> None:
        """Raw tokens outside the fresh tail reach the size of a chunk, and compaction may start by itself."""
        path = write(tmp_path / "s.jsonl", *dialogue(30))
        report = await make_engine(store, **overrides).after_turn(path, "claude")

        assert (report.counts.messages_new, report.is_leaf_pass_due) == (30, is_due)

    async def test_a_second_call_brings_nothing_and_still_knows(self, store: Store, tmp_path: Path) -> None:
        """The pass is due until it was made."""
        engine = make_engine(store, fresh_tail_count=4, leaf_chunk_tokens=10)
        path = write(tmp_path / "s.jsonl", *dialogue(30))
        await engine.after_turn(path, "claude")
        report = await engine.after_turn(path, "claude")

        assert (report.counts.messages_new, report.is_leaf_pass_due) == (0, True)

    async def test_two_calls_at_once_store_every_message_once(self, store: Store, tmp_path: Path) -> None:
        """A client may call its hooks twice per turn."""
        engine = make_engine(store)
        path = write(tmp_path / "s.jsonl", *dialogue(20))
        reports = await asyncio.gather(engine.after_turn(path, "claude"), engine.after_turn(path, "claude"))

        assert sorted(report.counts.messages_new for report in reports) == [0, 20]
        assert len(await store.texts(SESSION)) == 20

    async def test_given_messages_are_no_part_of_a_transcript(self, store: Store, tmp_path: Path) -> None:
        """A session of another client does not make a pass due."""
        engine = make_engine(store, fresh_tail_count=1, leaf_chunk_tokens=10)
        await engine.ingest_batch("other", [given("word " * 50)] * 9, is_whole_history=False)
        report = await engine.after_turn(write(tmp_path / "s.jsonl", user(1)), "claude")

        assert report.is_leaf_pass_due is False


class TestCompactAfterTurn:
    async def test_makes_the_pass_that_is_due(self, store: Store, tmp_path: Path) -> None:
        """One leaf of the oldest messages; the next turn has nothing to do until a chunk is full again."""
        engine = make_engine(store, **ONE_LEAF)
        turn = await engine.after_turn(write(tmp_path / "s.jsonl", *dialogue(30)), "claude")

        first = await engine.compact_after_turn(turn, compactor_for(store))
        second = await engine.compact_after_turn(turn, compactor_for(store))

        assert [(result.stop_reason.value, result.summaries_created) for result in first] == [("done", 1)]
        assert second == []

    async def test_a_session_that_is_not_due_asks_no_model(self, store: Store, tmp_path: Path) -> None:
        """Nothing is called and nothing reported."""
        engine = make_engine(store)
        turn = await engine.after_turn(write(tmp_path / "s.jsonl", *dialogue(30)), "claude")

        def unwanted(_project: ProjectStorage) -> Compactor:
            raise AssertionError

        assert await engine.compact_after_turn(turn, unwanted) == []

    async def test_a_failure_costs_nothing(self, store: Store, tmp_path: Path) -> None:
        """The storage fails in the pass: no result, no exception, and the context as it was."""
        engine = make_engine(store, **ONE_LEAF)
        turn = await engine.after_turn(write(tmp_path / "s.jsonl", *dialogue(30)), "claude")

        async def refused(_request: SummaryRequest) -> str:
            raise StorageUnavailable("The database is busy.")

        assert await engine.compact_after_turn(turn, compactor_for(store, refused)) == []
        assert len(await store.texts(SESSION)) == 30

    async def test_two_at_once_make_one_summary(self, store: Store, tmp_path: Path) -> None:
        """The second waits for the first and then finds nothing due; messages may arrive meanwhile."""
        engine = make_engine(store, **ONE_LEAF)
        path = write(tmp_path / "s.jsonl", *dialogue(30))
        turn = await engine.after_turn(path, "claude")

        async def slow(_request: SummaryRequest) -> str:
            grown = await engine.after_turn(write(path, *dialogue(31)), "claude")
            assert grown.counts.messages_new <= 1
            return "Short."

        make = compactor_for(store, slow)
        results = await asyncio.gather(*(engine.compact_after_turn(turn, make) for _ in range(2)))

        assert sum(result.summaries_created for found in results for result in found) == 1
        project = await store.open(CWD)
        assert await project.conversations.count_messages(1) == 31


#: Thirty short messages fill one chunk, and the six that stay do not.
ONE_LEAF = {"fresh_tail_count": 6, "leaf_chunk_tokens": 40, "leaf_target_tokens": 10}


def compactor_for(store: Store, script: Script | None = None) -> Callable[[ProjectStorage], Compactor]:
    settings = load_settings(
        environ={"LCM_HOME": str(store.home)},
        overrides={f"compaction.{key}": value for key, value in ONE_LEAF.items()},
    )
    policy = CompactionPolicy.automatic(settings)
    return lambda _project: Compactor(FakeSummarizer(script), policy, str)
