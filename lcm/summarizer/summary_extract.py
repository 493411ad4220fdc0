"""What summaries say, sorted and merged without a model, whoever wrote them: model, extract or truncation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from lcm.summarizer.cues import decision_weight, is_code, is_error, is_open
from lcm.summarizer.narrative import BETWEEN, MOMENT, TOLD
from lcm.summarizer.prompts import FOOTER
from lcm.summarizer.sections import STAMP, TIME, Entry, Extract, Section
from lcm.summarizer.sentences import Form, sentences, split_blocks
from lcm.summarizer.truncation import FRAME, NOTHING_SAID, strip_marker

_HEADER = re.compile(rf"^\[({TIME}) - ({TIME})\] sum_\w+[ \t]*$", re.MULTILINE)
_RANGE_LINE = re.compile(rf"{TIME} - {TIME}")
_LABELLED = re.compile(rf"({'|'.join(Section)}): (.+)")
_CALLED = re.compile(r"[\w.:/-]{1,100}: .+ -> .+")

#: Per cent by which the information of a line counts.
_WORTH = {
    Section.ASKED: 180,
    Section.DECIDED: 140,
    Section.FILE: 80,
    Section.ERROR: 130,
    Section.OPEN: 120,
    Section.COMMAND: 90,
    Section.NOTED: 100,
    Section.LAST: 150,
}
_WORTH_USER = 180
_WORTH_QUOTED = 60
_WORTH_CODE = 25
#: The newest summary counts by so many per cent more than the oldest.
_WORTH_NEWEST = 30


def extract_summaries(text: str) -> Extract:
    """The extract of a condensed summary's source: summaries below `[from - to] id` lines, oldest first.

    Equal lines are kept once, as their newest; files are merged by path; the newest state is the state, earlier ones
    are notes; of task lists only the newest counts.
    """
    blocks = split_blocks(text, _HEADER)
    found: list[Entry] = []
    for order, (header, content) in enumerate(blocks):
        since = header.group(1)[5:16] if header else ""
        gain = _WORTH_NEWEST * order // max(1, len(blocks) - 1)
        entries = sorted(_entries(order, since, content), key=partial(_moment, since=since))
        found.extend(entry._replace(worth=entry.worth + entry.worth * gain // 100) for entry in entries)
    headers = [header for header, _ in blocks if header]
    earliest = headers[0].group(1) if headers else None
    return Extract(tuple(_merged(found)), earliest, headers[-1].group(2) if headers else None)


def _moment(entry: Entry, since: str) -> tuple[bool, str]:
    """Sorts by time; a time of the year before the summary begins is of the next year."""
    return (bool(entry.stamp) and entry.stamp < since, entry.stamp)


def _entries(order: int, since: str, content: str) -> Iterator[Entry]:
    """Lines of an extract as they are; other prose by what its sentences say, at the time the summary begins."""
    moment: str | None = None
    prose: list[str] = []
    for raw in strip_marker(content).split("\n"):
        line = raw.removeprefix("> ").strip()
        labelled, opened = _LABELLED.fullmatch(line), MOMENT.fullmatch(line)
        told = None if moment is None else TOLD.fullmatch(line)
        if opened is not None:
            moment = opened.group(1)
        elif labelled is not None:
            yield _labelled(Section(labelled.group(1)), labelled.group(2), order)
        elif told is not None and moment is not None:
            yield from _told(order, moment, told.group(1) or "", told.group(2))
        elif line and not _is_frame(line):
            prose.append(line)
    for sentence, form in sentences("\n".join(prose)):
        section = _section_of(sentence) if form is Form.PROSE else Section.NOTED
        yield _entry(section, sentence, order, since, form)


def _is_frame(line: str) -> bool:
    return line.startswith((FOOTER, FRAME, NOTHING_SAID)) or _RANGE_LINE.fullmatch(line) is not None


def _labelled(section: Section, text: str, order: int) -> Entry:
    stamp = STAMP.match(text)
    plain = text[stamp.end() :] if stamp else text
    return _entry(section, plain, order, stamp.group(1) if stamp else "")


def _entry(section: Section, text: str, order: int, stamp: str, form: Form = Form.PROSE) -> Entry:
    weight = decision_weight(text) if section is Section.DECIDED else 0
    return _as_written(Entry(section, text, order, stamp, weight=weight, worth=_WORTH[section]), form)


def _told(order: int, moment: str, speaker: str, text: str) -> Iterator[Entry]:
    """One line of a narrative: a call as a whole, else each sentence or quoted line."""
    if not speaker and _CALLED.fullmatch(text):
        yield _entry(Section.COMMAND, text, order, moment)
        return
    is_quoted = bool(speaker) and speaker != "User"
    quoted = [(part, Form.CODE if is_code(part) else Form.PROSE) for part in text.split(BETWEEN) if part.strip()]
    worth = _WORTH_QUOTED if is_quoted else _WORTH_USER if speaker else _WORTH[Section.NOTED]
    for piece, form in quoted if is_quoted else sentences(text):
        yield _as_written(Entry(Section.NOTED, piece, order, moment, speaker, worth=worth), form)


def _as_written(entry: Entry, form: Form) -> Entry:
    return entry._replace(worth=_WORTH_CODE, is_code=True) if form is Form.CODE else entry


def _section_of(sentence: str) -> Section:
    if is_open(sentence):
        return Section.OPEN
    if decision_weight(sentence):
        return Section.DECIDED
    return Section.ERROR if is_error(sentence) else Section.NOTED


def _merged(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Each line once, at the place of its last appearance; what is out of date is a note or gone."""
    newest: dict[tuple[Section, str], Entry] = {}
    for entry in entries:
        key = (entry.section, _identity(entry))
        newest[key] = _joined(newest.pop(key, None), entry)
    merged = list(newest.values())
    state = max((entry.order for entry in merged if entry.section is Section.LAST), default=0)
    listed = max((entry.order for entry in merged if _is_task(entry)), default=0)
    for entry in merged:
        if entry.section is Section.LAST and entry.order < state:
            yield entry._replace(section=Section.NOTED)
        elif not _is_task(entry) or entry.order == listed:
            yield entry


def _is_task(entry: Entry) -> bool:
    """Whether an entry is from a task list: those have no time."""
    return entry.section is Section.OPEN and not entry.stamp


def _identity(entry: Entry) -> str:
    """What makes two lines equal: a file's path, else the words without the time."""
    return _path_of(entry.text) if entry.section is Section.FILE else entry.text.casefold()


def _joined(older: Entry | None, newer: Entry) -> Entry:
    if older is None or newer.section is not Section.FILE:
        return newer
    latest = _uses_of(newer.text)
    uses = [*(use for use in _uses_of(older.text) if use not in latest), *latest]
    text = f"{_path_of(newer.text)} ({', '.join(uses)})" if uses else newer.text
    return newer._replace(text=text, weight=len(uses))


def _path_of(text: str) -> str:
    return text.rpartition(" (")[0] or text


def _uses_of(text: str) -> Sequence[str]:
    """Of `path (Read ok, Edit ok)`, the uses."""
    uses = text.rpartition(" (")
    return [use for use in uses[2].removesuffix(")").split(", ") if use] if uses[0] else []
