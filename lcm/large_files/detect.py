"""Finds what should leave a message: `<file>` blocks over the threshold, and media by its bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lcm.tokens import estimate_tokens

# Not greedy and without nesting: linear in the text.
_FILE_BLOCK = re.compile(r"<file\b([^<>]*)>(.*?)</file>", re.DOTALL)
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
    if "</file>" not in text:
        return
    for match in _FILE_BLOCK.finditer(text):
        content = match.group(2)
        if estimate_tokens(content) > threshold_tokens:
            attributes = {name: double or single for name, double, single in _ATTRIBUTE.findall(match.group(1))}
            yield FileBlock(
                match.start(),
                match.end(),
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
