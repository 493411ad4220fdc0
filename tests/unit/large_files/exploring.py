"""Exploration of bytes held in memory."""

from __future__ import annotations

import io

from lcm.large_files.explore.explorer import explore


def explored(content: str | bytes, name: str | None = None, mime_type: str | None = None) -> list[str]:
    """Lines of the exploration summary."""
    data = content.encode() if isinstance(content, str) else content
    return explore(io.BytesIO(data), name=name, mime_type=mime_type).split("\n")
