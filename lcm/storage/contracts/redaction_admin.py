"""Counters of what redaction removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class RedactionAdminRepository(Protocol):
    async def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add to the counters by category (`built_in`, `global`, `project`); a sum past 2^53-1 raises `OutOfRange`."""
        ...

    async def get_counts(self) -> dict[str, int]:
        """Counters by category, only those above zero."""
        ...
