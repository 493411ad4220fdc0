"""The line that stands in a message for bytes that left it, and how it is shown with what the file holds.

The line alone is part of the message, so its digest depends on nothing but the file and its name. The exploration
summary is added when the message is shown or summarized: a better parser may say it in other words tomorrow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lcm.text import one_line

FILE_ID = re.compile(r"file_[0-9a-f]{16}")
#: Fields hold no bracket that ends the line: `reference` writes names on one line, and a name may hold one itself.
_REFERENCE = re.compile(r"\[lcm file (file_[0-9a-f]{16})(?: \| [^\n]{0,300}?)? \| [0-9]{1,16} bytes\]")
_NAME_CHARS = 120


def reference(file_id: str, *, name: str | None, mime_type: str | None, size_bytes: int) -> str:
    """`[lcm file file_0123456789abcdef | shot.png | image/png | 12345 bytes]`; `lcm describe` opens the id."""
    fields = [f"lcm file {file_id}"]
    fields += [one_line(each, _NAME_CHARS).replace("|", "/") for each in (name, mime_type) if each]
    return f"[{' | '.join([*fields, f'{size_bytes} bytes'])}]"


def mentioned_files(text: str) -> tuple[str, ...]:
    """File ids in a text, in order of first mention."""
    return tuple(dict.fromkeys(FILE_ID.findall(text)))


def referenced_files(text: str) -> tuple[str, ...]:
    """Ids of the files whose whole reference stands in a text, in order of first place."""
    return tuple(dict.fromkeys(each[1] for each in _REFERENCE.finditer(text)))


def with_summaries(text: str, summaries: Mapping[str, str]) -> str:
    """The text with each file's exploration summary below the first reference to it; without one it stays as it is."""
    shown: set[str] = set()

    def expanded(found: re.Match[str]) -> str:
        file_id = found[1]
        if file_id in shown or file_id not in summaries:
            return found[0]
        shown.add(file_id)
        return f"{found[0]}\n{summaries[file_id]}"

    return _REFERENCE.sub(expanded, text) if summaries else text
