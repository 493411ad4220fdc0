"""A message's identity, derived from what the client gives: never from redacted text, nor from the order of import."""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple

from lcm.domain.messages import IdentityKind
from lcm.domain.records import MessageRecord, Thread
from lcm.ids import digest

_SCHEME = "lcm1"


class Identity(NamedTuple):
    """What tells a record from others, without its occurrence.

    Attributes:
        kind: the first of `IdentityKind` that applies.
        native: the fields that identify it; equal ones are counted.
    """

    kind: IdentityKind
    native: tuple[str | bytes, ...]

    @property
    def is_counted(self) -> bool:
        """Whether several records may share it, told apart by how many came before in the source."""
        return self.kind is not IdentityKind.UUID

    @property
    def digest(self) -> bytes:
        return digest(self.kind.value, *self.native)


def identity_of(record: MessageRecord, *, salt: bytes) -> Identity:
    """The first that applies: the record's own uuid; a tool call's id; its place in time; its raw text."""
    session = session_name(record.thread)
    if record.native_uuid is not None:
        return Identity(IdentityKind.UUID, (record.native_uuid,))
    if record.call_id is not None:
        return Identity(IdentityKind.CALL, (session, record.call_id, record.item_type))
    if record.occurred_at is not None:
        return Identity(IdentityKind.POSITION, (session, record.occurred_at.isoformat(), record.item_type))
    return Identity(IdentityKind.TEXT, (session, record.role.value, _keyed_text(record, salt)))


def ingest_key(client: str, identity: Identity, occurrence: int, block_index: int = 0) -> bytes:
    """32 bytes, unique in a project: scheme, client, kind, native fields, occurrence where counted, block index."""
    counted = (str(occurrence),) if identity.is_counted else ()
    return digest(_SCHEME, client, identity.kind.value, *identity.native, *counted, str(block_index))


def session_name(thread: Thread) -> str:
    return thread.session_id if thread.agent_id is None else f"{thread.session_id}/{thread.agent_id}"


def _keyed_text(record: MessageRecord, salt: bytes) -> bytes:
    """Keyed, so that a stored key does not let anybody guess a short secret text."""
    mac = hmac.new(salt, digestmod=hashlib.sha256)
    for block in record.blocks:
        mac.update(digest(block.part_type.value, block.text, block.media.data if block.media else ""))
    return mac.digest()
