"""Look for words or a pattern in the text of a stored file, block by block, within bounds of time and bytes."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from lcm.large_files.encoding import HEAD_BYTES, text_encoding

_BLOCK_BYTES = 1024 * 1024
#: What two pieces of one very long line share, so that a match on their border is seen.
_OVERLAP_BYTES = 65_536
_WINDOW_BYTES = 4_096
_TRIED_PLACES = 1_000


@dataclass(slots=True)
class ScanBudget:
    """How much may still be looked at; shared by the files of one search."""

    bytes_left: int
    seconds: float

    def __post_init__(self) -> None:
        self._ends_at = time.monotonic() + self.seconds

    _ends_at: float = 0.0

    @property
    def is_spent(self) -> bool:
        return self.bytes_left <= 0 or time.monotonic() >= self._ends_at


@dataclass(frozen=True, slots=True)
class FileSearch:
    """What to look for: literals that must all occur, and a pattern that must match within one line.

    Attributes:
        literals: as typed; ASCII letters match either case.
        match: where a line matches (code points), None when it does not; without it the literals decide.
    """

    literals: tuple[str, ...]
    match: Callable[[str], int | None] | None = None


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line (from 1) that matches, some text around the place, and where in that text the place is (code points)."""

    line: int
    text: str
    place: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole lines, or a piece of a line too long to be held, as lower-cased and as stored UTF-8."""

    line: int
    data: bytes
    lowered: bytes


def find_in_file(stream: BinaryIO, wanted: FileSearch, budget: ScanBudget) -> LineMatch | None:
    """The first matching line; None without one, also when the budget ran out before.

    Words may stand on different lines: then it is the first line with the first of them, unless one line has all.
    A file that is no text has no lines.
    """
    stream.seek(0)
    encoding = text_encoding(stream.read(HEAD_BYTES))
    if encoding is None:
        return None
    stream.seek(0)
    literals = [each.encode("utf-8", "replace").lower() for each in wanted.literals]
    blocks = _blocks(stream, encoding, budget)
    if wanted.match is not None:
        return _find_line(blocks, literals, wanted.match)
    return _find_words(blocks, literals)


def _find_line(
    blocks: Iterator[_Block], literals: Sequence[bytes], match: Callable[[str], int | None]
) -> LineMatch | None:
    for block in blocks:
        if not all(each in block.lowered for each in literals):
            continue
        for number, line in enumerate(block.data.split(b"\n")):
            text = line.decode("utf-8", "replace").removesuffix("\r")
            if (place := match(text)) is not None and (text or number < block.data.count(b"\n")):
                return LineMatch(block.line + number, text, place)
    return None


def _find_words(blocks: Iterator[_Block], literals: Sequence[bytes]) -> LineMatch | None:
    missing = set(literals)
    first: LineMatch | None = None
    for block in blocks:
        if (at := _line_with_all(block, literals)) is not None:
            return _at(block, at)
        missing = {each for each in missing if each not in block.lowered}
        if first is None and (place := block.lowered.find(literals[0])) >= 0:
            first = _at(block, place)
        if not missing:
            return first
    return None


def _line_with_all(block: _Block, literals: Sequence[bytes]) -> int | None:
    """Where the first literal stands on a line that holds all of them; the first places are tried."""
    if not all(each in block.lowered for each in literals):
        return None
    at = block.lowered.find(literals[0])
    for _ in range(_TRIED_PLACES):
        if at < 0:
            return None
        start, end = _line_around(block.lowered, at)
        if all(block.lowered.find(each, start, end) >= 0 for each in literals[1:]):
            return at
        at = block.lowered.find(literals[0], end)
    return None


def _line_around(data: bytes, at: int) -> tuple[int, int]:
    end = data.find(b"\n", at)
    return data.rfind(b"\n", 0, at) + 1, len(data) if end < 0 else end


def _at(block: _Block, at: int) -> LineMatch:
    start, end = _line_around(block.lowered, at)
    start, end = max(start, at - _WINDOW_BYTES), min(end, at + _WINDOW_BYTES)
    before = block.data[start:at].decode("utf-8", "ignore")
    rest = block.data[at:end].decode("utf-8", "ignore")
    return LineMatch(block.line + block.data.count(b"\n", 0, at), before + rest, len(before))


def _blocks(stream: BinaryIO, encoding: str, budget: ScanBudget) -> Iterator[_Block]:
    """Lines ending with a line feed; the last may lack it. Ends early when the budget is spent."""
    line, carried = 1, b""
    for data in _utf_8(stream, encoding, budget):
        block = carried + data
        end = block.rfind(b"\n") + 1
        if end:
            yield _Block(line, block[:end], block[:end].lower())
            line += block.count(b"\n", 0, end)
            carried = block[end:]
        elif len(block) > _BLOCK_BYTES:
            yield _Block(line, block, block.lower())
            carried = _from_character(block[-_OVERLAP_BYTES:])
        else:
            carried = block
    if carried:
        yield _Block(line, carried, carried.lower())


def _from_character(data: bytes) -> bytes:
    """Without the rest of a character that begins before."""
    start = next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    return data[start:]


def _utf_8(stream: BinaryIO, encoding: str, budget: ScanBudget) -> Iterator[bytes]:
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    while not budget.is_spent and (data := stream.read(_BLOCK_BYTES)):
        budget.bytes_left -= len(data)
        yield decoder.decode(data).encode("utf-8", "replace") if decoder else data
