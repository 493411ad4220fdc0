"""What is no text: its kind by its first bytes, its size, the dimensions of a picture."""

from __future__ import annotations

import io

import filetype

from lcm.large_files.explore.outline import outline
from lcm.large_files.explore.sample import Sample


def explore_media(sample: Sample) -> str:
    kind = _kind(sample.data)
    words = [kind or f"Bytes of an unknown kind (declared as {sample.mime_type or 'nothing'})"]
    if kind and kind.startswith("image/") and (size := _dimensions(sample.data)):
        words.append(f"{size[0]} x {size[1]} pixels")
    words.append(f"{sample.size_bytes:,} bytes")
    details = []
    if kind and sample.mime_type and sample.mime_type != kind:
        details.append(f"declared as {sample.mime_type}, but the bytes are {kind}")
    return outline(", ".join(words), details)


def _kind(data: bytes) -> str | None:
    found = filetype.guess_mime(data[:8192])
    return str(found) if found else None


def _dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height; None when the header does not tell."""
    import imagesize  # brings a web client with it: 100 ms

    try:
        width, height = imagesize.get(io.BytesIO(data))
    except (ValueError, OSError, TypeError, OverflowError):
        return None
    return (int(width), int(height)) if width > 0 and height > 0 else None
