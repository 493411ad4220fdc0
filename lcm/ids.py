"""How identifiers are made: UUIDv7 keys, summary and file ids, ingest keys."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from datetime import datetime

SUMMARY_PREFIX = "sum_"
FILE_PREFIX = "file_"
_HEX_CHARS = 16
#: Lengths of short fields as `digest` writes them: most fields are short, and most messages have a dozen.
_SHORT = 256
_SIZES = tuple(size.to_bytes(8, "big") for size in range(_SHORT))


def uuid7() -> uuid.UUID:
    """A new time-ordered UUID (RFC 9562, version 7) with millisecond time and 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (2**48 - 1)) << 80
    value |= 0x7 << 76 | (random >> 68) << 64
    value |= 0b10 << 62 | (random & (2**62 - 1))
    return uuid.UUID(int=value)


def summary_id(content: str, at: datetime) -> str:
    """`sum_` and 16 hex characters: SHA-256 of content and creation time."""
    digest = hashlib.sha256(f"{content}\0{at.isoformat()}".encode())
    return SUMMARY_PREFIX + digest.hexdigest()[:_HEX_CHARS]


def file_id(content_sha256: bytes) -> str:
    """`file_` and 16 hex characters of the digest of the stored bytes: equal bytes are stored once."""
    return FILE_PREFIX + content_sha256.hex()[:_HEX_CHARS]


def digest(*fields: str | int | bytes) -> bytes:
    """SHA-256 over length-prefixed fields, so that no two field lists share one digest by concatenation."""
    sha = hashlib.sha256()
    for field in fields:
        if isinstance(field, bytes):
            data = field
        else:
            data = (field if isinstance(field, str) else str(field)).encode("utf-8", "surrogatepass")
        size = len(data)
        sha.update(_SIZES[size] if size < _SHORT else size.to_bytes(8, "big"))
        sha.update(data)
    return sha.digest()
