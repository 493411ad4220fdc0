"""A stored file a page at a time: whole lines where they fit, read as a stream, never cut inside a character."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import BinaryIO

from lcm.errors import InvalidInput, OutOfRange
from lcm.large_files.encoding import HEAD_BYTES, text_encoding
from lcm.text import MAX_SAFE_INTEGER, clip

DEFAULT_LINES = 200
DEFAULT_CHARS = 10_000
MAX_LINES = 100_000
MAX_CHARS = 1_000_000
#: Below this a cut that moves back for a joined character could make no progress.
MIN_CHARS = 100
_HEX_BYTES = 256
_BYTES_A_ROW = 16
_SKIPPED_AT_ONCE = 65_536
_PLACE = re.compile(r"([0-9]{1,16})(?::([0-9]{1,16}))?")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a page starts: a line and a character of it, both from 1."""

    line: int = 1
    char: int = 1

    def __str__(self) -> str:
        return f"{self.line}" if self.char == 1 else f"{self.line}:{self.char}"


@dataclass(frozen=True, slots=True)
class PageSize:
    """Most lines and most characters (code points) of a page; whichever is reached first ends it."""

    lines: int = DEFAULT_LINES
    chars: int = DEFAULT_CHARS

    def validate(self) -> None:
        for name, value, least, most in (
            ("lines", self.lines, 1, MAX_LINES),
            ("chars", self.chars, MIN_CHARS, MAX_CHARS),
        ):
            if type(value) is not int or not least <= value <= most:
                raise OutOfRange(name, f"{least} to {most}")


@dataclass(frozen=True, slots=True)
class FilePage:
    """A piece of a stored file.

    Attributes:
        start: where it starts, as `LINE` or `LINE:CHAR`.
        next: where the page after it starts; None at the end of the file.
        text: exactly what stands there, line ends included; of a file that is no text, a hexadecimal view of its first
            bytes.
        encoding: how the bytes were read; None for a file that is no text.
    """

    start: str
    next: str | None
    text: str
    encoding: str | None


def parse_place(text: str) -> Place:
    """`120` is a line, `120:4001` a character of it.

    Raises:
        InvalidInput: neither.
    """
    found = _PLACE.fullmatch(text.strip())
    place = Place(int(found[1]), int(found[2] or 1)) if found else None
    if place is None or not 1 <= place.line <= MAX_SAFE_INTEGER or not 1 <= place.char <= MAX_SAFE_INTEGER:
        raise InvalidInput("Give a place as LINE or LINE:CHARACTER, both from 1, for example 120 or 1:20001.")
    return place


def read_page(stream: BinaryIO, start: Place, size: PageSize) -> FilePage:
    """The page that starts at `start`; empty behind the end.

    Lines end at a line feed only. A line longer than the page is continued by the next one.

    Raises:
        OutOfRange: a size outside its limits.
    """
    size.validate()
    stream.seek(0)
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    encoding = text_encoding(head)
    if encoding is None:
        return FilePage(str(Place()), None, _hex_view(head), None)
    text = _opened(stream, encoding)
    try:
        _skip_to(text, start)
        return _page(text, start, size, encoding)
    finally:
        text.detach()  # who opened the stream closes it


def _opened(stream: BinaryIO, encoding: str) -> io.TextIOWrapper:
    text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="\n")
    if text.read(1) != "\ufeff":
        text.seek(0)
    return text


def _skip_to(text: io.TextIOWrapper, start: Place) -> None:
    line = 1
    while line < start.line and (piece := text.readline(_SKIPPED_AT_ONCE)):
        line += piece.endswith("\n")
    left = start.char - 1
    while left > 0 and (piece := text.readline(min(left, _SKIPPED_AT_ONCE))):
        left -= len(piece)
        if piece.endswith("\n"):
            break


def _page(text: io.TextIOWrapper, start: Place, size: PageSize, encoding: str) -> FilePage:
    pieces: list[str] = []
    place, left = start, size.chars
    # One character more tells whether the line goes on, and where it can be cut.
    while place.line < start.line + size.lines:
        piece = text.readline(left + 1)
        if len(piece) > left:
            kept = clip(piece, left) if not pieces else ""
            pieces.append(kept)
            place = Place(place.line, place.char + len(kept))
            return FilePage(str(start), str(place), "".join(pieces), encoding)
        if not piece:
            return FilePage(str(start), None, "".join(pieces), encoding)
        pieces.append(piece)
        left -= len(piece)
        place = Place(place.line + 1) if piece.endswith("\n") else Place(place.line, place.char + len(piece))
        if not piece.endswith("\n"):
            return FilePage(str(start), None, "".join(pieces), encoding)
    return FilePage(str(start), str(place) if text.read(1) else None, "".join(pieces), encoding)


def _hex_view(head: bytes) -> str:
    rows = (head[at : at + _BYTES_A_ROW] for at in range(0, min(len(head), _HEX_BYTES), _BYTES_A_ROW))
    return "\n".join(
        f"{number * _BYTES_A_ROW:08x}  {row.hex(' '):<47}  {_printable(row)}" for number, row in enumerate(rows)
    )


def _printable(row: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
