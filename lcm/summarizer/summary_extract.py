"""What summaries say, sorted and merged without a model, whoever wrote them: model, extract or truncation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lcm.summarizer.prompts import FOOTER
from lcm.summarizer.sections import (
    STAMP,
    TIME,
    Entry,
    Extract,
    Section,
    decision_weight,
    is_error,
    is_open,
    sentences,
    split_blocks,
)
from lcm.summarizer.truncation import FRAME, NOTHING_SAID, strip_marker

_HEADER = re.compile(rf"^\[({TIME}) - ({TIME})\] sum_\w+[ \t]*$", re.MULTILINE)
_RANGE_LINE = re.compile(rf"{TIME} - {TIME}")
_LABELLED = re.compile(rf"({'|'.join(Section)}): (.+)")


def extract_summaries(text: str) -> Extract:
    """The extract of a condensed summary's source: summaries below `[from - to] id` lines, oldest first.

    Equal lines are kept once, as their newest; files are merged by path; the newest state is the state.
    """
    blocks = split_blocks(text, _HEADER)
    found = [entry for order, (_, content) in enumerate(blocks) for entry in _entries(order, content)]
    headers = [header for header, _ in blocks if header]
    earliest = headers[0].group(1) if headers else None
    return Extract(tuple(_merged(found)), earliest, headers[-1].group(2) if headers else None)


def _entries(order: int, content: str) -> Iterator[Entry]:
    """Labelled lines as they are, other prose by what its sentences say."""
    prose: list[str] = []
    for raw in strip_marker(content).split("\n"):
        line = raw.removeprefix("> ").strip()
        labelled = _LABELLED.fullmatch(line)
        if labelled is not None:
            yield _labelled(Section(labelled.group(1)), labelled.group(2), order)
        elif line and not _is_frame(line):
            prose.append(line)
    for sentence in sentences("\n".join(prose)):
        yield _labelled(_section_of(sentence), sentence, order)


def _is_frame(line: str) -> bool:
    return line.startswith((FOOTER, FRAME, NOTHING_SAID)) or _RANGE_LINE.fullmatch(line) is not None


def _labelled(section: Section, text: str, order: int) -> Entry:
    return Entry(section, text, order, decision_weight(text) if section is Section.DECIDED else 0)


def _section_of(sentence: str) -> Section:
    if is_open(sentence):
        return Section.OPEN
    if decision_weight(sentence):
        return Section.DECIDED
    return Section.ERROR if is_error(sentence) else Section.NOTED


def _merged(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Each line once, at the place of its last appearance; earlier states become notes."""
    newest: dict[tuple[Section, str], Entry] = {}
    for entry in entries:
        key = (entry.section, _identity(entry))
        newest[key] = _joined(newest.pop(key, None), entry)
    states = [entry for entry in newest.values() if entry.section is Section.LAST]
    for entry in newest.values():
        is_past = entry.section is Section.LAST and entry is not states[-1]
        yield Entry(Section.NOTED, entry.text, entry.order) if is_past else entry


def _identity(entry: Entry) -> str:
    """What makes two lines equal: a file's path, else the words without the time."""
    text = STAMP.sub("", entry.text, count=1)
    return _path_of(text) if entry.section is Section.FILE else text.casefold()


def _joined(older: Entry | None, newer: Entry) -> Entry:
    if older is None or newer.section is not Section.FILE:
        return newer
    latest = _uses_of(newer.text)
    uses = [*(use for use in _uses_of(older.text) if use not in latest), *latest]
    text = f"{_path_of(newer.text)} ({', '.join(uses)})" if uses else newer.text
    return Entry(Section.FILE, text, newer.order, len(uses))


def _path_of(text: str) -> str:
    return text.rpartition(" (")[0] or text


def _uses_of(text: str) -> list[str]:
    """Of `path (Read ok, Edit ok)`, the uses."""
    uses = text.rpartition(" (")
    return [use for use in uses[2].removesuffix(")").split(", ") if use] if uses[0] else []
