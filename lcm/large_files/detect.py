"""Finds what should leave a message: `<file>` blocks over the threshold, and media by its bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lcm.tokens import estimate_tokens

_OPENING = re.compile(r"<file\b([^<>]*)>")
_CLOSING = "</file>"
_ATTRIBUTE = re.compile(r"""(name|path|mime)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A `<file name= mime=>…</file>` block: its place in the text (code points) and what it says of itself."""

    start: int
    end: int
    content: str
    name: str | None
    mime_type: str | None


def large_file_blocks(text: str, threshold_tokens: int) -> Iterator[FileBlock]:
    """File blocks whose content is estimated above the threshold, in order."""
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            return  # no later opening has an end either: looking for one would be quadratic
        position = end + len(_CLOSING)
        content = text[opening.end() : end]
        if estimate_tokens(content) > threshold_tokens:
            attributes = {name: double or single for name, double, single in _ATTRIBUTE.findall(opening.group(1))}
            yield FileBlock(
                opening.start(),
                position,
                content,
                attributes.get("name") or attributes.get("path"),
                attributes.get("mime"),
            )


def decoded_media(data: str) -> bytes:
    """The bytes of base64 text; text that is not base64 is kept as it is, so that nothing is lost."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "replace")
