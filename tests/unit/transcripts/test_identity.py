"""What a message is known by: the first of uuid, call, place in time and text that a record gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lcm.domain.messages import Exclusion, IdentityKind, PartType, Role
from lcm.domain.records import Block, Media, MessageRecord, Thread
from lcm.transcripts.identity import identity_of, ingest_key, session_name

SALT = b"s" * 32
NOON = datetime(2026, 2, 17, 12, tzinfo=UTC)
FULL = MessageRecord(
    line=3,
    thread=Thread("s1"),
    role=Role.USER,
    blocks=(Block(PartType.TEXT, "hello"),),
    occurred_at=NOON,
    item_type="user",
    native_uuid="11111111-2222-4333-8444-555555555555",
    call_id="t1",
)
CALL = replace(FULL, native_uuid=None)
POSITION = replace(CALL, call_id=None)
TEXT = replace(POSITION, occurred_at=None)


def key(record: MessageRecord, *, occurrence: int = 0, salt: bytes = SALT, client: str = "claude") -> bytes:
    return ingest_key(client, identity_of(record, salt=salt), occurrence)


class TestIdentity:
    @pytest.mark.parametrize(
        ("record", "kind", "is_counted"),
        [
            (FULL, IdentityKind.UUID, False),
            (CALL, IdentityKind.CALL, True),
            (POSITION, IdentityKind.POSITION, True),
            (TEXT, IdentityKind.TEXT, True),
        ],
    )
    def test_the_first_that_applies(self, record: MessageRecord, kind: IdentityKind, is_counted: bool) -> None:
        """Only the uuid of a record needs no counting: a provider may give a call id twice."""
        identity = identity_of(record, salt=SALT)

        assert (identity.kind, identity.is_counted) == (kind, is_counted)

    @pytest.mark.parametrize("record", [FULL, CALL, POSITION, TEXT])
    def test_nothing_of_the_reading_is_part_of_it(self, record: MessageRecord) -> None:
        """Neither the line nor how the record was judged."""
        other = replace(record, line=99, exclusion=Exclusion.META, is_prompt=True, api_message_id="m")

        assert key(record) == key(other)

    @pytest.mark.parametrize(
        ("record", "change"),
        [
            (FULL, {"native_uuid": "99999999-2222-4333-8444-555555555555"}),
            (CALL, {"call_id": "t2"}),
            (CALL, {"item_type": "assistant"}),
            (CALL, {"thread": Thread("s1", "a1")}),
            (POSITION, {"occurred_at": NOON.replace(microsecond=1000)}),
            (POSITION, {"item_type": "assistant"}),
            (POSITION, {"thread": Thread("s2")}),
            (TEXT, {"blocks": (Block(PartType.TEXT, "other"),)}),
            (TEXT, {"blocks": (Block(PartType.REASONING, "hello"),)}),
            (TEXT, {"blocks": (Block(PartType.TEXT, "hello", media=Media("image/png", "AAAA")),)}),
            (TEXT, {"role": Role.SYSTEM}),
            (TEXT, {"thread": Thread("s2")}),
        ],
    )
    def test_every_field_it_is_made_from_tells_records_apart(
        self, record: MessageRecord, change: dict[str, Any]
    ) -> None:
        """Session, id, kind, time, role and text, each where it counts."""
        assert key(record) != key(replace(record, **change))

    def test_a_uuid_is_the_same_record_in_every_session(self) -> None:
        """A resumed file copies records under another session and time."""
        copy = replace(FULL, thread=Thread("s2"), occurred_at=None, blocks=())

        assert key(FULL) == key(copy)

    @pytest.mark.parametrize(("record", "differs"), [(FULL, False), (CALL, True), (POSITION, True), (TEXT, True)])
    def test_equals_are_counted_unless_they_have_a_uuid(self, record: MessageRecord, differs: bool) -> None:
        """The second yes and the second call of an id are other messages, the second copy of a uuid is not."""
        assert (key(record) != key(record, occurrence=1)) is differs

    def test_the_key_of_a_text_depends_on_the_salt(self) -> None:
        """Nobody can try out short texts against a stored key."""
        assert key(TEXT) != key(TEXT, salt=b"t" * 32)
        assert key(POSITION) == key(POSITION, salt=b"t" * 32)

    def test_clients_and_block_indexes_are_apart(self) -> None:
        """One id of two clients is two messages; a record that is split has one key per piece."""
        identity = identity_of(FULL, salt=SALT)

        assert key(FULL) != key(FULL, client="codex")
        assert ingest_key("claude", identity, 0, 1) != ingest_key("claude", identity, 0)

    def test_the_key_of_a_known_record_never_changes(self) -> None:
        """What is stored under it must be found in all later versions."""
        assert key(FULL).hex() == "a1a93037fc7aafa8136c092afa57877783caec4e44c03d520f5fa88988e72088"


class TestSessionName:
    def test_a_subagent_has_a_name_of_its_own(self) -> None:
        """Session and agent."""
        assert (session_name(Thread("s1")), session_name(Thread("s1", "a1"))) == ("s1", "s1/a1")
