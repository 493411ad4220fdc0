"""CSV and TSV: rows, columns, first row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from lcm.large_files.explore.outline import counted, outline, some_of
from lcm.large_files.explore.sample import Sample
from lcm.text import one_line

_DELIMITERS = ",;\t|"
_FIRST_ROW_CHARS = 180
_MAX_COLUMNS = 20
#: Rows that are compared, and how many of them must have as many fields as the first.
_COMPARED_ROWS = 50
_EVEN_SHARE = 0.8


def explore_csv(sample: Sample) -> str | None:
    first_line = sample.text.partition("\n")[0]
    return _explore(sample, "CSV", max(_DELIMITERS, key=first_line.count))


def explore_tsv(sample: Sample) -> str | None:
    return _explore(sample, "TSV", "\t")


def _explore(sample: Sample, kind: str, delimiter: str) -> str | None:
    rows = _rows(sample, delimiter)
    try:
        compared = [row for _, row in zip(range(_COMPARED_ROWS), rows, strict=False)]
        if not _is_table(compared):
            return None
        count = len(compared) + sum(1 for _ in rows)
    except csv.Error:  # a field without end, or a zero byte
        return None
    if not sample.is_whole:
        count = max(1, count - 1)  # the last one is cut off
    header = compared[0]
    columns = f"{counted(len(header), 'column')}: {some_of(header, _MAX_COLUMNS)}"
    first = [f"first row: {one_line(delimiter.join(compared[1]), _FIRST_ROW_CHARS)}"] if len(compared) > 1 else []
    headline = f"{kind}: {counted(count - 1, 'row', at_least=not sample.is_whole)} below the header"
    return outline(headline, [columns, *first])


def _rows(sample: Sample, delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(io.StringIO(sample.text, newline=""), delimiter=delimiter) if row)


def _is_table(rows: list[list[str]]) -> bool:
    if not rows or len(rows[0]) < 2:
        return False
    even = sum(len(row) == len(rows[0]) for row in rows)
    return even >= _EVEN_SHARE * (len(rows) - 1)
