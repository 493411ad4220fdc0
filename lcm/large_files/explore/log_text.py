"""Logs: time range, levels, the first errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from lcm.large_files.explore.outline import counted, outline
from lcm.large_files.explore.sample import Sample
from lcm.text import one_line

#: A time near the beginning of a line: ISO, syslog (`Feb 17 07:37:00`), or a clock time.
_TIME = re.compile(
    r"[\[(\"']?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)"
)
_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b", re.IGNORECASE)
_SEVERE = ("ERROR", "CRITICAL", "FATAL")
_LINE_CHARS = 200
_TRIED_LINES = 100
_TIMED_SHARE = 0.5
_SHOWN_ERRORS = 3
_ERROR_CHARS = 140


def explore_log(sample: Sample) -> str | None:
    """None unless half of the first lines begin with a time or a level."""
    tried = [line[:_LINE_CHARS] for line in islice(sample.iter_lines(), _TRIED_LINES) if line.strip()]
    if not tried or sum(map(_is_logged, tried)) < _TIMED_SHARE * len(tried):
        return None
    levels: Counter[str] = Counter()
    errors: list[str] = []
    for line in sample.iter_lines():
        found = _LEVEL.search(line, 0, _LINE_CHARS)
        if found is None:
            continue
        level = found[1].upper()
        levels["WARN" if level == "WARNING" else level] += 1
        if level in _SEVERE and len(errors) < _SHOWN_ERRORS:
            errors.append(one_line(line, _ERROR_CHARS))
    details = [_times(tried, sample.tail.split("\n")), _levels(levels, is_whole=sample.is_whole)]
    return outline(f"Log: {counted(sample.lines, 'line')}", [*details, *errors, f"last: {_last(sample)}"])


def _is_logged(line: str) -> bool:
    return _TIME.match(line) is not None or _LEVEL.match(line.lstrip("[ ")) is not None


def _times(first: Iterable[str], last: Iterable[str]) -> str:
    start = next((found[1] for line in first if (found := _TIME.match(line))), None)
    ends = [found[1] for line in last if (found := _TIME.match(line))]
    return f"from {start} to {ends[-1]}" if start and ends else ""


def _levels(levels: Counter[str], *, is_whole: bool) -> str:
    shown = ", ".join(
        f"{name} {count:,}" for name, count in sorted(levels.items(), key=lambda each: (-each[1], each[0]))
    )
    return f"levels{'' if is_whole else ' in the beginning'}: {shown}" if shown else ""


def _last(sample: Sample) -> str:
    return one_line(sample.tail.rstrip().rpartition("\n")[2], _ERROR_CHARS)
