"""The line that stands in a message for bytes that left it."""

from __future__ import annotations

import re

from lcm.text import one_line

FILE_ID = re.compile(r"file_[0-9a-f]{16}")
_NAME_CHARS = 120


def reference(file_id: str, *, name: str | None, mime_type: str | None, size_bytes: int) -> str:
    """`[lcm file file_0123456789abcdef | shot.png | image/png | 12345 bytes]`; `lcm describe` opens the id."""
    fields = [f"lcm file {file_id}"]
    fields += [one_line(each, _NAME_CHARS).replace("|", "/") for each in (name, mime_type) if each]
    return f"[{' | '.join([*fields, f'{size_bytes} bytes'])}]"


def mentioned_files(text: str) -> tuple[str, ...]:
    """File ids in a text, in order of first mention."""
    return tuple(dict.fromkeys(FILE_ID.findall(text)))
