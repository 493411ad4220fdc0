"""Spans and marks: replacing, joining what later passes find to coordinates of the input, and coming to an end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import re2

from lcm.redaction.engine import Span, merge

MARK = "[REDACTED]"

_TOKEN = re2.compile(r"\S+")
_LINE = re2.compile(r"[^\r\n]+")


def outside_marks(spans: Iterable[Span], text: str) -> list[Span]:
    """Spans that hold something besides marks, grown to whole marks where they cut one."""
    starts = _mark_starts(text)
    if not starts:
        return list(spans)
    return merge(grown for span in spans if (grown := _grown_to_marks(span, starts)) is not None)


def _mark_starts(text: str) -> list[int]:
    starts = []
    position = text.find(MARK)
    while position >= 0:
        starts.append(position)
        position = text.find(MARK, position + len(MARK))
    return starts


def _grown_to_marks(span: Span, mark_starts: Sequence[int]) -> Span | None:
    """The span with the marks it touches inside, or None when it holds nothing else."""
    first = bisect_right(mark_starts, span.start - len(MARK))
    last = bisect_left(mark_starts, span.end)
    if first == last:
        return span
    start = min(span.start, mark_starts[first])
    end = max(span.end, mark_starts[last - 1] + len(MARK))
    is_all_marks = end - start == (last - first) * len(MARK)
    return None if is_all_marks else Span(start, end, span.rule)


def widened(spans: list[Span], text: str, width: int) -> list[Span]:
    """Spans grown, so that self-feeding patterns come to an end: to tokens (1), lines (2), or the whole text (3)."""
    if width >= 3:
        return [Span(0, len(text), spans[0].rule)]
    readable = text.encode("utf-8", "replace").decode()
    runs = [match.span() for match in (_TOKEN if width == 1 else _LINE).finditer(readable)]
    starts = [start for start, _ in runs]
    return merge(_grown_to_runs(span, runs, starts) for span in spans)


def _grown_to_runs(span: Span, runs: Sequence[tuple[int, int]], starts: Sequence[int]) -> Span:
    if not runs:
        return span
    first = runs[max(0, bisect_right(starts, span.start) - 1)]
    last = runs[max(0, bisect_left(starts, span.end) - 1)]
    start = min(span.start, first[0]) if first[1] > span.start else span.start
    return Span(start, max(span.end, last[1]), span.rule)


def composed(spans: list[Span], found: Iterable[Span]) -> list[Span]:
    """`found`, in offsets of the text in which `spans` are replaced, joined with `spans` in offsets of the input."""
    mark_starts = []
    shift = 0
    for span in spans:
        mark_starts.append(span.start + shift)
        shift += len(MARK) - (span.end - span.start)
    return merge([*spans, *(_in_input(span, spans, mark_starts) for span in found)])


def _in_input(found: Span, spans: Sequence[Span], mark_starts: Sequence[int]) -> Span:
    before_start = bisect_right(mark_starts, found.start) - 1
    before_end = bisect_left(mark_starts, found.end) - 1
    start = _input_start(found.start, spans, mark_starts, before_start)
    end = _input_end(found.end, spans, mark_starts, before_end)
    return Span(start, end, found.rule)


def _input_start(offset: int, spans: Sequence[Span], mark_starts: Sequence[int], before: int) -> int:
    if before < 0:
        return offset
    if offset == mark_starts[before]:
        return spans[before].start
    return spans[before].end + offset - (mark_starts[before] + len(MARK))


def _input_end(offset: int, spans: Sequence[Span], mark_starts: Sequence[int], before: int) -> int:
    if before < 0:
        return offset
    return spans[before].end + offset - (mark_starts[before] + len(MARK))


def replaced(text: str, spans: Iterable[Span]) -> str:
    """The text with a mark in place of each span; spans are by start and disjoint."""
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces += (text[position : span.start], MARK)
        position = span.end
    pieces.append(text[position:])
    return "".join(pieces)
