"""Metadata of large files; the bytes are kept by `lcm.large_files`."""

from __future__ import annotations

from collections.abc import Sequence
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

    async def list_by_id(self, file_ids: Sequence[str]) -> list[LargeFile]:
        """Those of the ids that are stored, by file id."""
        ...

    async def find_by_prefix(self, prefix: str, *, limit: int = 20) -> list[LargeFile]:
        """Files whose id starts with `prefix`, by file id."""
        ...
