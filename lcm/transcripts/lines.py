"""Lines of a transcript file as JSON objects, streamed, with a safe reason for every line that is none."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import msgspec

from lcm.domain.records import JsonObject

INCOMPLETE = "incomplete last line"
NOT_JSON = "not JSON"
NOT_AN_OBJECT = "JSON but not an object"
TOO_DEEP = "nested too deeply"
TOO_MANY_DIGITS = "a number with too many digits"

_BOM = b"\xef\xbb\xbf"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_VISIBLE_NUL = "\N{SYMBOL FOR NULL}"
_BUFFER_BYTES = 1 << 20
_TAIL_BYTES = 64 * 1024
#: What may decode to U+0000 or to a lone surrogate; only then is a record walked.
_SUSPECT = re.compile(rb"\x00|\\u(?:0000|[dD][89a-fA-F])")
_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")


class Line(NamedTuple):
    """One physical line that is not blank.

    Attributes:
        line: 0-based number of the physical line.
        end_offset: bytes of the file consumed with it; for an incomplete last line the offset before it.
        record: the JSON object, or None when the line was skipped.
        skipped: one safe sentence why there is no record, else None.
        repairs: characters replaced: invalid UTF-8 and lone surrogates by U+FFFD, U+0000 by U+2400.
        size_bytes: bytes of the line, its line end included.
    """

    line: int
    end_offset: int
    record: JsonObject | None
    skipped: str | None
    repairs: int
    size_bytes: int


def iter_lines(path: Path, *, offset: int = 0, line: int = 0) -> Iterator[Line]:
    """Lines from byte `offset` on, numbered from `line`, in file order; blank lines count but yield nothing.

    A last line without a newline is a record if it parses; otherwise it is reported as incomplete and not consumed, so
    that it is read again when it is whole. Reading may go on at any `end_offset` with the next line number: a line end
    that came later to an already consumed last line is passed over without counting a line.

    Raises:
        OSError: the file cannot be opened or read.
    """
    with path.open("rb", buffering=_BUFFER_BYTES) as file:
        offset += _seek(file, offset)
        while raw := file.readline():
            size_bytes = len(raw)
            is_whole = raw.endswith(b"\n")
            if offset == 0 and raw.startswith(_BOM):
                raw = raw[len(_BOM) :]
            found = _to_line(raw, line=line, offset=offset, size_bytes=size_bytes, is_whole=is_whole)
            del raw  # a huge line must not stay in memory while its record is worked on
            if found is not None:
                yield found
            del found
            if not is_whole:
                return
            line += 1
            offset += size_bytes


def tail_digest(path: Path, offset: int) -> bytes:
    """SHA-256 of the up to 64 KiB before byte `offset`: a file that still has it was only appended to.

    Raises:
        OSError: the file cannot be opened or read.
    """
    start = max(0, offset - _TAIL_BYTES)
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(offset - start)).digest()


def _seek(file: BinaryIO, offset: int) -> int:
    """Goes to `offset`; returns the bytes of the line end that completes an already consumed last line."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    if file.read(1) in {b"\n", b""}:
        return 0
    rest = file.readline()
    if rest.isspace() and rest.endswith(b"\n"):
        return len(rest)
    file.seek(offset)
    return 0


def _to_line(raw: bytes, *, line: int, offset: int, size_bytes: int, is_whole: bool) -> Line | None:
    """The line, or None when it is blank."""
    if not raw or raw.isspace():
        return None
    record, skipped, repairs = _read_record(raw)
    if record is None and not is_whole:
        return Line(line, offset, None, INCOMPLETE, 0, size_bytes)
    return Line(line, offset + size_bytes, record, skipped, repairs, size_bytes)


def _read_record(raw: bytes) -> tuple[JsonObject | None, str | None, int]:
    """The record of a line, or the reason why there is none, and the number of repairs."""
    try:
        value, repairs = _decode(raw)
        if not isinstance(value, dict):
            return None, NOT_AN_OBJECT, 0
        if _may_be_suspect(raw) and _SUSPECT.search(raw):
            value, more = _repair(value)
            repairs += more
    except RecursionError:
        return None, TOO_DEEP, 0
    except json.JSONDecodeError:
        return None, NOT_JSON, 0
    except ValueError:
        return None, TOO_MANY_DIGITS, 0
    return value, None, repairs


def _may_be_suspect(raw: bytes) -> bool:
    """Plain searches, four times as fast as the pattern, rule almost every line out."""
    return b"\\u" in raw or b"\x00" in raw


def _decode(raw: bytes) -> tuple[Any, int]:
    """The JSON value and the number of invalid bytes replaced.

    The standard library takes what msgspec refuses but is usable: lone surrogates, invalid UTF-8, raw control
    characters in strings, numbers beyond a double.
    """
    try:
        return msgspec.json.decode(raw), 0
    except msgspec.DecodeError:
        text = raw.decode("utf-8", "replace")
    repairs = text.count(_REPLACEMENT) - raw.count(_REPLACEMENT.encode())
    return json.loads(text, strict=False, parse_float=_to_float, parse_constant=_refuse_constant), repairs


def _to_float(text: str) -> float | str:
    """The number, or its text when it is beyond a double: infinity could not be written as JSON again."""
    value = float(text)
    return value if math.isfinite(value) else text


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(name, name, 0)


def _repair(value: Any) -> tuple[Any, int]:
    """The value with U+0000 and lone surrogates replaced in every string and key, and how many were."""
    if isinstance(value, str):
        return _BAD_CHARACTER.subn(_visible, value)
    if isinstance(value, list):
        items = [_repair(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = [(_repair(key), _repair(item)) for key, item in value.items()]
        return {key: item for (key, _), (item, _) in pairs}, sum(first + second for (_, first), (_, second) in pairs)
    return value, 0


def _visible(match: re.Match[str]) -> str:
    return _VISIBLE_NUL if match[0] == "\x00" else _REPLACEMENT
