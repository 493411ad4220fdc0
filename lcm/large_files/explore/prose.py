"""Markdown and any other text: counts, headings, the head, the middle and the tail."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lcm.large_files.explore.outline import counted, excerpt, outline
from lcm.large_files.explore.sample import Sample
from lcm.text import one_line

_MAX_HEADINGS = 18
_HEADING_CHARS = 60
_HEAD_TOKENS = 60
_EXCERPT_TOKENS = 40
#: A shorter file is told by its beginning alone; more of a window than the excerpt needs is not looked at.
_SHORT_BYTES = 1_000
_WINDOW_CHARS = 1_000
_LONG_LINE_CHARS = 10_000
#: ATX headings outside code fences.
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.{0,300})")
_FENCES = ("```", "~~~")


def explore_markdown(sample: Sample) -> str | None:
    headings, count = _headings(sample.iter_lines())
    if not count:
        return None
    figures = f"{counted(sample.lines, 'line')}, {counted(count, 'heading', at_least=not sample.is_whole)}"
    return outline(f"Markdown: {figures}", headings)


def _headings(lines: Iterable[str]) -> tuple[list[str], int]:
    """The first of them, and how many there are."""
    first: list[str] = []
    count = 0
    fence = ""
    for line in lines:
        if line.startswith(_FENCES):
            fence = "" if line.startswith(fence or "\0") else fence or line[:3]
        elif not fence and (heading := _HEADING.match(line)):
            count += 1
            if count <= _MAX_HEADINGS:
                first.append(f"{heading[1]} {one_line(heading[2].rstrip(' #'), _HEADING_CHARS)}")
    return first, count


def explore_text(sample: Sample) -> str:
    """For what is of no other kind."""
    excerpts = [("begins", excerpt(sample.text[:_WINDOW_CHARS], _HEAD_TOKENS))]
    if sample.size_bytes > _SHORT_BYTES:
        excerpts.append(("middle", excerpt(_from_line(sample.middle)[:_WINDOW_CHARS], _EXCERPT_TOKENS)))
        excerpts.append(("ends", _ending(sample.tail)))
    longest = max(map(len, sample.iter_lines()), default=0)
    details = [f"the longest line has {longest:,} characters"] if longest > _LONG_LINE_CHARS else []
    details += [f"{where}: {text}" for where, text in excerpts if text]
    return outline(f"Text: {counted(sample.lines, 'line')}", details)


def _from_line(text: str) -> str:
    """From the beginning of a line, when there is one."""
    return text.partition("\n")[2] or text


def _ending(text: str) -> str:
    """The last characters, as many as an excerpt of them has."""
    line = one_line(text[-_WINDOW_CHARS:], _WINDOW_CHARS)
    return line[len(line) - len(excerpt(line[::-1], _EXCERPT_TOKENS)) :]
