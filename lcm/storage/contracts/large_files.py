"""Metadata of large files; the bytes are kept by `lcm.large_files`."""

from __future__ import annotations

from typing import Protocol

from lcm.domain.large_files import LargeFile, NewLargeFile


class LargeFileRepository(Protocol):
    async def insert_file(self, new: NewLargeFile) -> LargeFile:
        """Record stored bytes; the same content again returns the first row.

        Raises:
            IdentityConflict: the id is taken by other content.
        """
        ...

    async def get_file(self, file_id: str) -> LargeFile:
        """Raises `UnknownFile`."""
        ...

    async def list_files(self, conversation_id: int | None = None) -> list[LargeFile]:
        """Of one conversation or the project, by (created_at, file_id)."""
        ...
