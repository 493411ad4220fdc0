"""The contract `IngestRepository`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lcm.domain.conversations import Conversation
from lcm.domain.ingest import Checkpoint, Source, StoredIdentity
from lcm.errors import IdentityConflict, InvalidInput, OutOfRange, UnknownMessage, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, gather, stored_messages
from tests.factories import START, FakeClock, make_message

MIDDLE = Checkpoint(
    offset=MAX_SAFE, line_count=MAX_SAFE, inode=2**64 - 1, tail_sha256=b"t" * 32, parser_state='{"last": "ü"}'
)


def digest_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.fixture
async def source(project: ProjectStorage) -> Source:
    return await project.ingest.get_or_create_source("claude", "/home/user/.claude/a.jsonl")


class TestGetOrCreateSource:
    async def test_a_new_source_starts_at_zero(self, project: ProjectStorage, source: Source) -> None:
        """A new source has revision 0 and an empty checkpoint; the second call finds it."""
        assert (source.client, source.locator, source.revision) == ("claude", "/home/user/.claude/a.jsonl", 0)
        assert source.checkpoint == Checkpoint()
        assert source.updated_at == START
        assert await project.ingest.get_or_create_source(source.client, source.locator) == source

    async def test_client_and_locator_tell_sources_apart(self, project: ProjectStorage, source: Source) -> None:
        """Another client or another locator is another source."""
        by_client = await project.ingest.get_or_create_source("codex", source.locator)
        by_locator = await project.ingest.get_or_create_source("claude", source.locator.upper())

        assert len({source.source_id, by_client.source_id, by_locator.source_id}) == 3

    async def test_twenty_tasks_converge(self, project: ProjectStorage) -> None:
        """Concurrent calls agree on one source."""
        found = await gather(*[project.ingest.get_or_create_source("claude", "a") for _ in range(20)])

        assert len(set(found)) == 1

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, text: str) -> None:
        """Unsafe text is refused with its field."""
        with pytest.raises(UnsafeText, match="client"):
            await project.ingest.get_or_create_source(text, "a")
        with pytest.raises(UnsafeText, match="locator"):
            await project.ingest.get_or_create_source("claude", text)


class TestListRevisions:
    async def test_every_source_with_its_revision(self, project: ProjectStorage, source: Source) -> None:
        """A moved checkpoint counts one more; a source without one is at 0."""
        await project.ingest.get_or_create_source("codex", "b")
        await project.ingest.save_checkpoint(source.source_id, MIDDLE, expected_revision=0)

        assert await project.ingest.list_revisions() == {("claude", source.locator): 1, ("codex", "b"): 0}


class TestSaveCheckpoint:
    async def test_compare_and_swap(self, project: ProjectStorage, source: Source, clock: FakeClock) -> None:
        """The expected revision stores the checkpoint and counts one up."""
        clock.advance()
        moved = await project.ingest.save_checkpoint(source.source_id, MIDDLE, expected_revision=0)

        assert moved == replace(source, revision=1, checkpoint=MIDDLE, updated_at=START + timedelta(seconds=1))
        assert await project.ingest.get_or_create_source(source.client, source.locator) == moved

    @pytest.mark.parametrize("expected_revision", [0, 2, -1])
    async def test_other_revision(self, project: ProjectStorage, source: Source, expected_revision: int) -> None:
        """A revision that another process moved on refuses the checkpoint."""
        moved = await project.ingest.save_checkpoint(source.source_id, MIDDLE, expected_revision=0)

        with pytest.raises(IdentityConflict):
            await project.ingest.save_checkpoint(source.source_id, Checkpoint(), expected_revision=expected_revision)

        assert await project.ingest.get_or_create_source(source.client, source.locator) == moved

    async def test_one_of_twenty_tasks_wins(self, project: ProjectStorage, source: Source) -> None:
        """Of concurrent checkpoints over one revision exactly one is stored."""

        async def is_stored(offset: int) -> bool:
            try:
                await project.ingest.save_checkpoint(source.source_id, Checkpoint(offset), expected_revision=0)
            except IdentityConflict:
                return False
            return True

        assert sum(await gather(*[is_stored(n) for n in range(20)])) == 1

    @pytest.mark.parametrize("value", [-1, MAX_SAFE + 1])
    @pytest.mark.parametrize("field", ["offset", "line_count"])
    async def test_unsafe_integer(self, project: ProjectStorage, source: Source, field: str, value: int) -> None:
        """Offsets and line counts are safe integers."""
        with pytest.raises(OutOfRange, match=field):
            await project.ingest.save_checkpoint(
                source.source_id,
                replace(MIDDLE, **{field: value}),  # type: ignore[arg-type] # a field by name
                expected_revision=0,
            )

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, source: Source, text: str) -> None:
        """State that cannot be stored is refused."""
        with pytest.raises(UnsafeText, match="parser_state"):
            await project.ingest.save_checkpoint(
                source.source_id, replace(MIDDLE, parser_state=text), expected_revision=0
            )

    async def test_unknown_source(self, project: ProjectStorage) -> None:
        """A source that is not stored cannot move."""
        with pytest.raises(IdentityConflict):
            await project.ingest.save_checkpoint(99, MIDDLE, expected_revision=0)


class TestResetSource:
    async def test_back_to_the_start(self, project: ProjectStorage, source: Source) -> None:
        """Offset 0, no counters of this source, those of others kept."""
        other = await project.ingest.get_or_create_source("claude", "b")
        for each in (source, other):
            await project.ingest.save_occurrences(each.source_id, {digest_of(1): 4})
        await project.ingest.save_checkpoint(source.source_id, MIDDLE, expected_revision=0)

        reset = await project.ingest.reset_source(source.source_id, expected_revision=1)

        assert (reset.revision, reset.checkpoint) == (2, Checkpoint())
        assert await project.ingest.get_occurrences(source.source_id, [digest_of(1)]) == {}
        assert await project.ingest.get_occurrences(other.source_id, [digest_of(1)]) == {digest_of(1): 4}

    async def test_other_revision_keeps_the_counters(self, project: ProjectStorage, source: Source) -> None:
        """A refused reset leaves nothing of itself."""
        await project.ingest.save_occurrences(source.source_id, {digest_of(1): 4})

        with pytest.raises(IdentityConflict):
            await project.ingest.reset_source(source.source_id, expected_revision=7)

        assert await project.ingest.get_occurrences(source.source_id, [digest_of(1)]) == {digest_of(1): 4}


class TestOccurrences:
    async def test_upsert(self, project: ProjectStorage, source: Source) -> None:
        """New counters are added, known ones replaced; unknown ones are absent."""
        await project.ingest.save_occurrences(source.source_id, {digest_of(1): 1, digest_of(2): 2})
        await project.ingest.save_occurrences(source.source_id, {digest_of(2): 1, digest_of(3): MAX_SAFE})
        await project.ingest.save_occurrences(source.source_id, {})

        found = await project.ingest.get_occurrences(source.source_id, [digest_of(n) for n in range(5)])

        assert found == {digest_of(1): 1, digest_of(2): 1, digest_of(3): MAX_SAFE}
        assert await project.ingest.get_occurrences(source.source_id, []) == {}

    async def test_refused(self, project: ProjectStorage, source: Source) -> None:
        """Counters are safe integers over 32 bytes of a stored source."""
        save = project.ingest.save_occurrences
        for count in (-1, MAX_SAFE + 1):
            with pytest.raises(OutOfRange):
                await save(source.source_id, {digest_of(1): 1, digest_of(2): count})
        with pytest.raises(InvalidInput):
            await save(source.source_id, {b"short": 1})
        with pytest.raises(IdentityConflict):
            await save(99, {digest_of(1): 1})

        assert await project.ingest.get_occurrences(source.source_id, [digest_of(1)]) == {}


class TestIdentities:
    async def test_find(self, project: ProjectStorage, conversation: Conversation, source: Source) -> None:
        """What the writer needs of stored messages; keys not stored are absent."""
        batch = [
            make_message("a", ingest_key=digest_of(1), source_id=source.source_id),
            make_message("b", ingest_key=digest_of(2)),
        ]
        first, second = await project.conversations.append_messages(conversation.conversation_id, batch)

        found = await project.ingest.find_identities([digest_of(2), digest_of(9), digest_of(1)])

        conversation_id = conversation.conversation_id
        assert found == {
            digest_of(1): StoredIdentity(
                digest_of(1), first.message_id, conversation_id, first.content_sha256, source.source_id
            ),
            digest_of(2): StoredIdentity(digest_of(2), second.message_id, conversation_id, second.content_sha256, None),
        }
        assert await project.ingest.find_identities([]) == {}

    async def test_forty_thousand_keys(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The number of keys is not bounded by what a statement can bind."""
        batch = [make_message(ingest_key=digest_of(n)) for n in (0, 39_999)]
        await project.conversations.append_messages(conversation.conversation_id, batch)
        keys = [digest_of(n) for n in range(40_000)]

        assert set(await project.ingest.find_identities(keys)) == {digest_of(0), digest_of(39_999)}
        assert await project.ingest.find_tombstones(keys) == frozenset()

    async def test_keys_of_other_length(self, project: ProjectStorage) -> None:
        """A key has 32 bytes, wherever it is asked for."""
        for keys in ([b"short"], [digest_of(1), b""], [b"", digest_of(1)]):
            with pytest.raises(InvalidInput):
                await project.ingest.find_identities(keys)
            with pytest.raises(InvalidInput):
                await project.ingest.find_tombstones(keys)
            with pytest.raises(InvalidInput):
                await project.ingest.get_occurrences(1, keys)


class TestRecordPlaces:
    async def test_second_places(self, project: ProjectStorage, conversation: Conversation, source: Source) -> None:
        """Places of stored messages are noted, again without harm."""
        ids = await stored_messages(project, conversation.conversation_id, 2)

        for places in ([(ids[0], 0), (ids[1], MAX_SAFE)], [(ids[0], 5)], []):
            await project.ingest.record_places(source.source_id, places)

    async def test_refused(self, project: ProjectStorage, conversation: Conversation, source: Source) -> None:
        """Unknown message, unknown source, a place outside the safe integers."""
        (message_id,) = await stored_messages(project, conversation.conversation_id, 1)
        record = project.ingest.record_places

        with pytest.raises(UnknownMessage):
            await record(source.source_id, [(message_id, 0), (99, 0)])
        with pytest.raises(IdentityConflict):
            await record(99, [(message_id, 0)])
        with pytest.raises(OutOfRange):
            await record(source.source_id, [(message_id, -1)])


class TestIsolation:
    async def test_other_project(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation, source: Source
    ) -> None:
        """Sources, keys, counters and the salt belong to one project."""
        key = digest_of(1)
        await project.conversations.append_messages(conversation.conversation_id, [make_message(ingest_key=key)])
        await project.ingest.save_checkpoint(source.source_id, MIDDLE, expected_revision=0)
        await project.ingest.save_occurrences(source.source_id, {key: 1})
        other = other_project.ingest

        assert await other.find_identities([key]) == {}
        assert await other.get_occurrences(source.source_id, [key]) == {}
        assert (await other.get_or_create_source(source.client, source.locator)).revision == 0
        assert await other.get_identity_salt() != await project.ingest.get_identity_salt()

    async def test_salt(self, project: ProjectStorage) -> None:
        """The salt has 32 bytes and stays."""
        salt = await project.ingest.get_identity_salt()

        assert len(salt) == 32
        assert await project.ingest.get_identity_salt() == salt
