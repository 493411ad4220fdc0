"""What an explorer looks at: the beginning of a file, a little of its middle and end, and its exact counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from lcm.large_files.encoding import HEAD_BYTES, text_encoding

#: Parsers see at most this much of a file, so that none can cost more than that.
HEAD_LIMIT = 4 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_EXCERPT_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Sample:
    """Of a file that may be far larger.

    Attributes:
        data: its first bytes, at most 4 MiB; text: the same decoded, empty when the file is no text.
        is_whole: nothing follows `data`.
        encoding: None for what is no text.
        lines: of the whole file; a last line without an end counts.
        middle, tail: a few thousand characters of a text that is longer than `data`'s beginning, else of `text`.
    """

    name: str
    mime_type: str
    size_bytes: int
    data: bytes
    text: str
    is_whole: bool
    encoding: str | None
    lines: int
    middle: str
    tail: str

    def iter_lines(self) -> Iterator[str]:
        """Lines of `text` without their line feed, one at a time: a list of millions would weigh more than the text."""
        start = 0
        while (end := self.text.find("\n", start)) >= 0:
            yield self.text[start:end]
            start = end + 1
        if start < len(self.text):
            yield self.text[start:]

    @property
    def extension(self) -> str:
        """Lower case, with its dot; empty without one."""
        return PurePath(self.name).suffix.lower()


def take_sample(stream: BinaryIO, *, name: str | None, mime_type: str | None) -> Sample:
    """Read what the explorers need; the whole is read once, block by block, to count lines."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    data = stream.read(HEAD_LIMIT)
    encoding = text_encoding(data[:HEAD_BYTES])
    return Sample(
        name=name or "",
        mime_type=(mime_type or "").partition(";")[0].strip().lower(),
        size_bytes=size,
        data=data,
        text=_decoded(data, encoding),
        is_whole=size <= len(data),
        encoding=encoding,
        lines=_count_lines(stream, encoding) if encoding else 0,
        middle=_excerpt(stream, size // 2, encoding),
        tail=_excerpt(stream, max(0, size - _EXCERPT_BYTES), encoding),
    )


def _decoded(data: bytes, encoding: str | None) -> str:
    return data.decode(encoding, "replace").removeprefix("\ufeff") if encoding else ""


def _excerpt(stream: BinaryIO, at: int, encoding: str | None) -> str:
    stream.seek(at - at % 2)  # a unit of UTF-16 has two bytes
    return _decoded(stream.read(_EXCERPT_BYTES + 2), encoding).strip("\ufffd")


def _count_lines(stream: BinaryIO, encoding: str) -> int:
    newline = "\n".encode(encoding)
    stream.seek(0)
    count, last = 0, b""
    while block := stream.read(_BLOCK_BYTES):
        count += block.count(newline)
        last = block
    return count + (bool(last) and not last.endswith(newline))
