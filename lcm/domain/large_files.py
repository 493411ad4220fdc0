"""Large files and media that left their message: bytes apart, a reference in the text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NewLargeFile:
    """Metadata of stored bytes; `storage_uri` is relative to the project's folder."""

    file_id: str
    conversation_id: int
    size_bytes: int
    content_sha256: bytes
    storage_uri: str
    file_name: str | None = None
    mime_type: str | None = None
    exploration_summary: str | None = None


@dataclass(frozen=True, slots=True)
class LargeFile:
    file_id: str
    conversation_id: int
    size_bytes: int
    content_sha256: bytes
    storage_uri: str
    file_name: str | None
    mime_type: str | None
    exploration_summary: str | None
    created_at: datetime
