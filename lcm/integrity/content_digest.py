"""The digest of what a project holds: equal for equal messages in any order of import, on any machine and backend."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lcm.domain.messages import IdentityKind
from lcm.ids import digest
from lcm.storage.contracts.integrity import MessageRow

DIGEST_BYTES = 32


def message_key(message: MessageRow, session_id: str) -> bytes:
    """What names the message in every copy of the project.

    This is its ingest key, except where that depends on the project's salt.
    """
    if message.identity_kind != IdentityKind.TEXT.value:
        return message.ingest_key
    return digest("text", session_id, message.role, message.content or "", message.identity_occurrence)


def message_digest(key: bytes, content_sha256: bytes, file_digests: Iterable[bytes]) -> bytes:
    """32 bytes over the key, the content with its parts, and its large files in part order."""
    return digest(key, content_sha256, *file_digests)


class ProjectDigest:
    """SHA-256 over the sorted digests of all messages; holds 32 bytes for each."""

    def __init__(self) -> None:
        # By first byte, so that only one 256th at a time exists as separate objects to sort.
        self._buckets = [bytearray() for _ in range(256)]

    def add(self, message: bytes) -> None:
        self._buckets[message[0]] += message

    def hexdigest(self) -> str:
        sha = hashlib.sha256()
        for bucket in self._buckets:
            for each in sorted(bytes(bucket[n : n + DIGEST_BYTES]) for n in range(0, len(bucket), DIGEST_BYTES)):
                sha.update(each)
        return sha.hexdigest()
