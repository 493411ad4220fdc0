"""The idempotent writer: identities, times, places, tombstones and the checkpoint, all in one transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcm.domain.ingest import Checkpoint, IngestCounts, Source
from lcm.domain.messages import Exclusion, PartType, Role
from lcm.domain.records import Block, MessageRecord, Rewind, Thread
from lcm.engine.prepare import Preparer
from lcm.engine.writer import Batch, Writer, conversation_key, conversation_keys_of
from lcm.errors import IdentityConflict, UnsafeText
from lcm.redaction.scrub import Scrubber
from lcm.storage.contracts.project import ProjectStorage
from tests.engine.sessions import name

THREAD = Thread("session-1")
NOON = datetime(2026, 2, 17, 12, tzinfo=UTC)
PREPARER = Preparer(Scrubber(), 25_000)


def record(line: int, text: str = "", **fields: object) -> MessageRecord:
    """A prompt with a uuid made from its line."""
    default = MessageRecord(
        line=line,
        thread=THREAD,
        role=Role.USER,
        blocks=(Block(PartType.TEXT, text or f"text {line}"),),
        occurred_at=NOON,
        item_type="user",
        native_uuid=name(line),
    )
    return replace(default, **fields)  # type: ignore[arg-type]


def bare(line: int, text: str = "yes") -> MessageRecord:
    return record(line, text, native_uuid=None, occurred_at=None)


class Writing:
    """A source of one project, written to batch by batch."""

    def __init__(self, project: ProjectStorage, writer: Writer, source: Source) -> None:
        self.project = project
        self.writer = writer
        self.source = source

    @classmethod
    async def start(cls, project: ProjectStorage, locator: str = "/s.jsonl") -> Writing:
        writer = Writer(project, "claude", await project.ingest.get_identity_salt())
        return cls(project, writer, await project.ingest.get_or_create_source("claude", locator))

    async def write(self, *records: MessageRecord, rewinds: tuple[Rewind, ...] = ()) -> IngestCounts:
        batch = Batch([PREPARER.prepare(each) for each in records], rewinds=list(rewinds))
        end = Checkpoint(offset=self.source.checkpoint.offset + 1, line_count=records[-1].line + 1 if records else 0)
        end = replace(end, parser_state=self.source.checkpoint.parser_state)
        written = await self.writer.write(self.source, batch, end)
        self.source = written.source
        return written.counts

    async def reset(self) -> None:
        source = self.source
        self.source = await self.project.ingest.reset_source(source.source_id, expected_revision=source.revision)

    async def texts(self) -> list[str]:
        """Contents in context, in order."""
        conversation = await self.project.conversations.find_newest_of_session("session-1")
        assert conversation is not None
        items = await self.project.context.list_items(conversation.conversation_id)
        ids = [item.ref.message_id or 0 for item in items]
        return [message.content for message in await self.project.conversations.list_messages_by_id(ids)]

    async def times(self) -> list[datetime]:
        conversation = await self.project.conversations.find_newest_of_session("session-1")
        assert conversation is not None
        messages = await self.project.conversations.list_messages(conversation.conversation_id)
        return [message.occurred_at for message in messages]


@pytest.fixture
async def writing(project: ProjectStorage) -> Writing:
    return await Writing.start(project)


class TestIdentity:
    async def test_a_known_record_is_not_stored_again(self, writing: Writing) -> None:
        """In a later batch, and within one."""
        first = await writing.write(record(1), record(1))
        second = await writing.write(record(1), record(2))

        assert (first.messages_new, first.messages_known) == (1, 1)
        assert (second.messages_new, second.messages_known) == (1, 1)

    async def test_equal_texts_without_ids_are_counted_over_batches(self, writing: Writing) -> None:
        """Three times yes is three messages, in whatever batches they come."""
        await writing.write(bare(1), bare(2))
        await writing.write(bare(3))

        assert await writing.texts() == ["yes", "yes", "yes"]

    async def test_counting_begins_anew_with_the_source(self, writing: Writing) -> None:
        """Read again from its start it gives the same identities."""
        await writing.write(bare(1), bare(2))
        await writing.reset()

        assert (await writing.write(bare(1), bare(2), bare(3))).messages_new == 1

    async def test_two_sources_of_one_session_share_identities(self, writing: Writing) -> None:
        """A copy of a file brings nothing, and its place is noted."""
        await writing.write(record(1), bare(2))
        copy = await Writing.start(writing.project, "/copy.jsonl")

        assert (await copy.write(record(1), bare(2))).messages_known == 2

    async def test_what_was_pruned_does_not_come_back(self, writing: Writing, project: ProjectStorage) -> None:
        """A tombstone is consulted before anything is stored; the line behind it finds its place all the same."""
        await writing.write(record(1), record(2), record(3))
        await bury(project, "text 2")
        await writing.reset()
        counts = await writing.write(record(1), record(2), record(4), record(3))

        assert (counts.messages_new, counts.messages_known) == (1, 3)
        assert await writing.texts() == ["text 1", "text 4", "text 3"]


async def bury(project: ProjectStorage, content: str) -> None:
    """Delete a message and leave its tombstone, as pruning does."""
    conversation = await project.conversations.find_newest_of_session("session-1")
    assert conversation is not None
    messages = await project.conversations.list_messages(conversation.conversation_id)
    [message] = [each for each in messages if each.content == content]
    await project.conversations.delete_messages([message.message_id])
    tables = project._executor.dialect.tables  # type: ignore[attr-defined]
    async with project._executor.operation("ingest", writes=True) as connection:  # type: ignore[attr-defined]
        await connection.execute(
            tables.ingest_tombstones.insert().values(
                project_id=project.project_id, ingest_key=message.ingest_key, reason="pruned", created_at=NOON
            )
        )


class TestTimes:
    async def test_a_record_without_time_has_the_previous_ones(self, writing: Writing) -> None:
        """Within a batch and from one batch to the next."""
        later = NOON.replace(hour=13)
        await writing.write(record(1), bare(2), record(3, occurred_at=later))
        await writing.write(bare(4))

        assert await writing.times() == [NOON, NOON, later, later]

    async def test_also_when_it_comes_with_a_second_reading(self, writing: Writing) -> None:
        """A known record before it tells the time."""
        await writing.write(record(1), record(3, occurred_at=NOON.replace(hour=13)))
        await writing.reset()
        await writing.write(record(1), bare(2), record(3, occurred_at=NOON.replace(hour=13)))

        assert (await writing.times())[2] == NOON

    async def test_the_first_of_all_happened_now(self, writing: Writing) -> None:
        """There is nothing else to go by."""
        await writing.write(bare(1))

        assert (await writing.times())[0] > NOON.replace(year=2024)


class TestPlaces:
    async def test_a_new_record_behind_excluded_ones_keeps_its_place(self, writing: Writing) -> None:
        """Neither new nor known meta records make it forget what it stands behind."""
        known, new = (record(line, exclusion=Exclusion.META) for line in (2, 5))
        await writing.write(record(1), known, record(9))
        await writing.reset()
        await writing.write(record(1), new, known, record(3), record(9))

        assert await writing.texts() == ["text 1", "text 3", "text 9"]

    async def test_a_new_record_behind_rewound_ones_stands_behind_what_is_left(self, writing: Writing) -> None:
        """Also when the record before them came later than they did."""
        await writing.write(record(1), record(3), record(4), record(5), rewinds=(rewind(5, 3, 4),))
        await writing.reset()
        await writing.write(record(1), record(2), record(3), record(4), record(5), rewinds=(rewind(5, 3, 4),))
        await writing.reset()
        await writing.write(record(1), record(2), record(3), record(4), record(6), record(5))

        assert await writing.texts() == ["text 1", "text 2", "text 6", "text 5"]

    async def test_an_older_file_read_later_stands_before(self, writing: Writing) -> None:
        """Without anything in common time decides."""
        await writing.write(record(5, occurred_at=NOON.replace(hour=15)))
        older = await Writing.start(writing.project, "/older.jsonl")
        await older.write(record(1), record(2))

        assert await writing.texts() == ["text 1", "text 2", "text 5"]


def rewind(line: int, *gone: int) -> Rewind:
    return Rewind(line, THREAD, tuple(name(number) for number in gone))


class TestTransaction:
    async def test_a_moved_source_refuses_the_whole_batch(self, writing: Writing) -> None:
        """Nothing of it is stored."""
        stale = await Writing.start(writing.project)
        await writing.write(record(1))
        with pytest.raises(IdentityConflict):
            await stale.write(record(1), record(2))

        assert await writing.texts() == ["text 1"]

    async def test_an_unsafe_text_refuses_the_whole_batch(self, writing: Writing) -> None:
        """Its counters and its checkpoint too."""
        with pytest.raises(UnsafeText):
            await writing.write(record(1), record(2, "a\0b"))

        assert (await Writing.start(writing.project)).source.checkpoint == Checkpoint()
        assert await writing.project.conversations.list_conversations() == []

    async def test_a_source_knows_the_conversations_it_showed(self, writing: Writing) -> None:
        """By the keys they have on every machine."""
        agent = Thread("session-1", "a1")
        await writing.write(record(1), record(2, thread=agent))

        assert conversation_keys_of(writing.source) == [
            conversation_key("claude", THREAD),
            conversation_key("claude", agent),
        ]


class TestLargeFiles:
    async def test_equal_files_are_stored_once(self, project: ProjectStorage, tmp_path: Path) -> None:
        """Two messages refer to one row and one file on disk."""
        small = Preparer(Scrubber(), 10)
        text = '<file name="a.py">' + "x = 1\n" * 50 + "</file>"
        writing = await Writing.start(project)
        batch = Batch([small.prepare(record(1, text)), small.prepare(record(2, text))])
        await writing.writer.write(writing.source, batch, Checkpoint(offset=1, line_count=2))

        [file] = await project.large_files.list_files()
        assert [each.name for each in project.files_folder.iterdir()] == [f"{file.file_id}.py"]
        assert (await writing.texts())[0].startswith(f"[lcm file {file.file_id} | a.py")
