"""Tables for people: ids are never cut or broken, and a narrow terminal gets fewer columns, not broken ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from lcm.cli.output import output_width, write
from lcm.text import one_line

_GAP = "  "
_MAX_CELL_CHARS = 1000
#: A column that may shrink keeps so much, or it is left out.
_MIN_SHRUNK = 12


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        is_number: set to the right.
        may_shrink: long texts are cut with an ellipsis when the table is too wide.
        is_drawn: its texts are shown as they are, spaces included; they hold nothing that was stored.
        drop: the column with the highest number is left out first when that is not enough; 0 always stays.
    """

    name: str
    is_number: bool = False
    may_shrink: bool = False
    is_drawn: bool = False
    drop: int = 0


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
    """To stdout, as wide as the terminal; in full when the output goes elsewhere."""
    for line in layout(columns, rows, output_width()):
        write(line)


def layout(columns: Sequence[Column], rows: Sequence[Sequence[object]], width: int | None) -> list[str]:
    """The lines of a table, head included, at most `width` columns wide as far as ids and numbers allow."""
    cells = [[_cell(value, column) for column, value in zip(columns, row, strict=True)] for row in rows]
    widths = [
        max([text_width(column.name), *(text_width(row[index]) for row in cells)])
        for index, column in enumerate(columns)
    ]
    kept = _kept(columns, widths, width)
    widths = _fitted(columns, widths, kept, width)
    head = [column.name for column in columns]
    return [_line(columns, row, widths, kept) for row in (head, *cells)]


def text_width(text: str) -> int:
    """Columns that a terminal needs for a text."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _kept(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> list[int]:
    """Indexes of the columns that have room, in order."""
    kept = list(range(len(columns)))
    least = [_least(column, natural) for column, natural in zip(columns, widths, strict=True)]
    while width is not None and _total([least[index] for index in kept]) > width:
        dropped = max(kept, key=lambda index: columns[index].drop)
        if columns[dropped].drop == 0:
            break
        kept.remove(dropped)
    return kept


def _least(column: Column, natural: int) -> int:
    return min(natural, max(_MIN_SHRUNK, text_width(column.name))) if column.may_shrink else natural


def _fitted(columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int], width: int | None) -> list[int]:
    """Widths in which the columns that may shrink give up what is too much, the last one first."""
    fitted = list(widths)
    for index in reversed(kept):
        too_much = 0 if width is None else _total([fitted[each] for each in kept]) - width
        if too_much > 0 and columns[index].may_shrink:
            fitted[index] = max(_least(columns[index], widths[index]), fitted[index] - too_much)
    return fitted


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * max(0, len(widths) - 1)


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int], kept: Sequence[int]) -> str:
    padded = []
    for index in kept:
        text = _clipped(row[index], widths[index])
        space = " " * (widths[index] - text_width(text))
        padded.append(space + text if columns[index].is_number else text + space)
    return _GAP.join(padded).rstrip()


def _clipped(text: str, width: int) -> str:
    if text_width(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _character_width(character)
        if used > width - 1:
            break
        kept += character
    return kept.rstrip() + "\u2026"


def _cell(value: object, column: Column) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if column.is_drawn:
        return str(value)
    return f"{value:,}" if isinstance(value, int) else one_line(str(value), _MAX_CELL_CHARS)
