"""What messages say, sorted without a model: requests, decisions, files, calls, errors, open items and the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lcm.summarizer.cues import QUESTION, decision_weight, is_open
from lcm.summarizer.salience import LEAST_INFORMATION, information
from lcm.summarizer.sections import TIME, Entry, Extract, Section
from lcm.summarizer.sentences import SENTENCE_ENDS, Form, Piece, cut_at_clause, sentences, split_blocks, unwrapped
from lcm.summarizer.tool_calls import Call, Result, parse_call, parse_result

_HEADER = re.compile(rf"^\[({TIME})\] (user|assistant|system|tool)[ \t]*$", re.MULTILINE)
_PATCHED = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_PATCH_BEGIN = "*** Begin Patch"
_PATCH_END = "*** End Patch"
#: No request, though in the user's place: `[Request interrupted by user]`, `/clear`.
_REMARK = re.compile(r"\[[^\[\]\n]{1,200}\]|/[\w:-]{1,80}")

_ERRORS_PER_RESULT = 2
_OPENING_SENTENCES = 4
_OPENING_CHARS = 400
#: A request longer than this many sentences also counts by its last one, often the question itself.
_LONG_REQUEST = 8
ALL_DONE = "Nothing is left of the task list."

_USER = "User"
#: Per cent by which the information of a line counts.
_WORTH_USER = 180
_WORTH_FIRST = 150
_WORTH_LAST = 130
_WORTH_PROSE = 100
_WORTH_HEADING = 40
_WORTH_CODE = 18
_WORTH_ANSWER = 30
_WORTH_QUOTED = {Form.PROSE: 55, Form.HEADING: 30, Form.CODE: _WORTH_CODE}
_WORTH_CALL = {True: 55, False: 90}
_WORTH_FAILED_CALL = 130
_WORTH_FILE = {True: 120, False: 40}
_WORTH_ERROR = 200
_WORTH_OPEN = 150
_WORTH_DECIDED = 140
_ANSWER_SENTENCES = 3


def extract_messages(text: str) -> Extract:
    """The extract of a leaf's source: messages below `[time] role` lines, oldest first."""
    blocks = split_blocks(text, _HEADER)
    scan = _Scan()
    for order, (header, content) in enumerate(blocks):
        time, role = (header.group(1), header.group(2)) if header else ("", "assistant")
        scan.read(order, time[5:16], role, unwrapped(content))
    times = [header.group(1) for header, _ in blocks if header]
    return Extract(tuple(_once(list(scan.entries()))), times[0] if times else None, times[-1] if times else None)


@dataclass(slots=True)
class _File:
    """What happened to one path: tools with their outcome, the latest last."""

    order: int = 0
    weight: int = 0
    uses: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Scan:
    """Reads messages in order; calls wait for their results, later states replace earlier ones."""

    found: list[Entry] = field(default_factory=list)
    files: dict[str, _File] = field(default_factory=dict)
    waiting: list[tuple[Call, int, str]] = field(default_factory=list)
    results: list[tuple[str, int, str]] = field(default_factory=list)
    is_questioned: bool = False
    tasks: list[Entry] = field(default_factory=list)
    last: Entry | None = None

    def entries(self) -> Iterator[Entry]:
        self._release()
        yield from self.found
        yield from self.tasks
        for path, file in self.files.items():
            text = f"{path} ({', '.join(file.uses)})"
            worth = _WORTH_FILE[file.weight > 0]
            yield Entry(Section.FILE, text, file.order, weight=file.weight, worth=worth)
        if self.last is not None:
            yield self.last

    def read(self, order: int, stamp: str, role: str, content: str) -> None:
        if role == "tool":
            self.results.append((content, order, stamp))
            return
        if self.results or role == "user":
            self._release()
        pieces = sentences("\n".join(self._prose(order, stamp, content)))
        if role == "user":
            self._read_request(order, stamp, pieces)
        elif pieces:
            self._read_answer(order, stamp, pieces, is_state=role == "assistant")

    def _release(self) -> None:
        """Take in calls and their results; when these are not as many, how each call ended is not known."""
        is_paired = len(self.waiting) == len(self.results)
        for place, (content, order, stamp) in enumerate(self.results):
            self._read_result(order, stamp, content, self.waiting[place] if is_paired else None)
        if not is_paired:
            for call, order, stamp in self.waiting:
                self._finish(call, order, stamp, None)
        self.waiting, self.results = [], []

    def _prose(self, order: int, stamp: str, content: str) -> Iterator[str]:
        """The lines that are neither calls nor patches; those are taken in."""
        is_patch = False
        for line in content.split("\n"):
            call = None if is_patch else parse_call(line)
            if not is_patch and _PATCH_BEGIN in line:
                is_patch = True
                self.waiting.append((Call(line.partition(" ")[0]), order, stamp))
            if call is not None:
                self._read_call(order, stamp, call)
            elif is_patch:
                self._read_patch(order, stamp, line.strip())
                is_patch = _PATCH_END not in line
            else:
                yield line

    def _read_request(self, order: int, stamp: str, pieces: list[Piece]) -> None:
        spoken = [text for text, _ in pieces]
        if not spoken:
            return
        if len(spoken) == 1 and _REMARK.fullmatch(spoken[0]):
            self.found.append(Entry(Section.NOTED, spoken[0], order, stamp, _USER, worth=_WORTH_PROSE))
            return
        opening = _joined(spoken[:_OPENING_SENTENCES])
        closing = spoken[-1] if len(spoken) > _LONG_REQUEST and spoken[-1].endswith(QUESTION) else ""
        for text in filter(None, (opening, closing)):
            weight = int(_tells(text))
            self.found.append(Entry(Section.ASKED, text, order, stamp, weight=weight, worth=_WORTH_USER))
        rest = [(text, form) for text, form in pieces if text not in opening and text != closing]
        self.found.extend(_classified(text, form, order, stamp, _USER) for text, form in rest)
        self.is_questioned = any(text.endswith(QUESTION) for text in spoken)

    def _read_answer(self, order: int, stamp: str, pieces: list[Piece], *, is_state: bool) -> None:
        state = _state(pieces)
        if is_state and _tells(state):
            self.last = Entry(Section.LAST, state, order, stamp, worth=_WORTH_FIRST)
        start = len(self.found)
        self.found.extend(_classified(text, form, order, stamp, "") for text, form in pieces)
        self._raise(start, _WORTH_FIRST - _WORTH_PROSE)
        if len(pieces) > 1:
            self._raise(len(self.found) - 1, _WORTH_LAST - _WORTH_PROSE)
        if self.is_questioned:
            for place in range(start, min(start + _ANSWER_SENTENCES, len(self.found))):
                self._raise(place, _WORTH_ANSWER)
            self.is_questioned = False

    def _raise(self, place: int, by: int) -> None:
        """Make a line of prose worth more."""
        entry = self.found[place]
        if entry.worth >= _WORTH_PROSE:
            self.found[place] = entry._replace(worth=entry.worth + by)

    def _read_patch(self, order: int, stamp: str, line: str) -> None:
        patched = _PATCHED.fullmatch(line)
        if patched is not None:
            self._touch(patched.group(2), order, patched.group(1).lower(), is_change=True)
        elif line.startswith("+"):
            self._quote(order, stamp, f"{self.waiting[-1][0].tool} input", line[1:])

    def _read_call(self, order: int, stamp: str, call: Call) -> None:
        self.waiting.append((call, order, stamp))
        for text in call.written:
            self._quote(order, stamp, f"{call.tool} input", text)
        if call.tasks is not None:
            texts = call.tasks or (ALL_DONE,)
            self.tasks = [Entry(Section.OPEN, text, order, weight=1, worth=_WORTH_OPEN) for text in texts]

    def _read_result(self, order: int, stamp: str, content: str, answered: tuple[Call, int, str] | None) -> None:
        call, called, at = answered or (None, order, stamp)
        result = parse_result(content, is_somebodys_text=call is not None and call.is_reader)
        for line in [line for line in result.errors if " " in line][-_ERRORS_PER_RESULT:]:
            text = cut_at_clause(line, _OPENING_CHARS)
            self.found.append(Entry(Section.ERROR, text, order, stamp, worth=_WORTH_ERROR))
        if call is None:
            self._quote(order, stamp, "Tool output", result.text)
        elif call.tasks is None:
            self._finish(call, called, at, result)
            if not result.is_short:
                self._quote(order, stamp, f"{call.tool} output", result.text)

    def _quote(self, order: int, stamp: str, speaker: str, text: str) -> None:
        for line, form in sentences(text):
            is_code = form is Form.CODE
            self.found.append(Entry(Section.NOTED, line, order, stamp, speaker, 0, _WORTH_QUOTED[form], is_code))

    def _finish(self, call: Call, order: int, stamp: str, result: Result | None) -> None:
        """Note a call and its result; None when that is not known."""
        has_failed = result is not None and result.has_failed
        for path in call.paths:
            ended = "" if result is None else " failed" if has_failed else " ok"
            self._touch(path, order, f"{call.tool}{ended}", is_change=not call.is_reader)
        if call.subject is not None:
            worth = _WORTH_FAILED_CALL if has_failed else _WORTH_CALL[call.is_reader]
            text = call.told("" if result is None else result.outcome)
            self.found.append(Entry(Section.COMMAND, text, order, stamp, worth=worth))

    def _touch(self, path: str, order: int, use: str, *, is_change: bool) -> None:
        file = self.files.setdefault(cut_at_clause(path, _OPENING_CHARS), _File())
        file.order = order
        file.weight = max(file.weight, int(is_change))
        file.uses.pop(use, None)
        file.uses[use] = None


def _classified(text: str, form: Form, order: int, stamp: str, speaker: str) -> Entry:
    """A sentence of a user or an assistant: open item, decision or note."""
    if form is Form.CODE:
        return Entry(Section.NOTED, text, order, stamp, speaker, 0, _WORTH_CODE, is_code=True)
    if form is Form.HEADING:
        return Entry(Section.NOTED, text, order, stamp, speaker, worth=_WORTH_HEADING)
    if is_open(text):
        return Entry(Section.OPEN, text, order, stamp, speaker, worth=_WORTH_OPEN)
    weight = decision_weight(text)
    if weight > 1:
        return Entry(Section.DECIDED, text, order, stamp, speaker, weight, _WORTH_DECIDED)
    return Entry(Section.NOTED, text, order, stamp, speaker, worth=_WORTH_USER if speaker else _WORTH_PROSE)


def _state(pieces: Sequence[Piece]) -> str:
    """The opening of an answer without headings and sentences that say nothing, unless it has no others."""
    prose = [text for text, form in pieces if form is Form.PROSE] or [pieces[0][0]]
    telling = [text for text in prose[: 2 * _OPENING_SENTENCES] if _tells(text)]
    return _joined(telling[:_OPENING_SENTENCES] or prose[:1])


def _tells(text: str) -> bool:
    return information(text) >= LEAST_INFORMATION


def _joined(spoken: Sequence[str]) -> str:
    """As many whole sentences as fit in an opening; the first one at least in part."""
    text = spoken[0]
    for sentence in spoken[1:]:
        if len(text) + len(sentence) >= _OPENING_CHARS:
            break
        text = f"{text}{' ' if text.endswith(SENTENCE_ENDS) else '; '}{sentence}"
    return cut_at_clause(text, _OPENING_CHARS)


def _once(entries: list[Entry]) -> Iterator[Entry]:
    """Each quoted line once, at its first place; one that was found more often is boilerplate, worth less."""
    counts = Counter([entry.text for entry in entries if entry.is_quoted])
    for entry in entries:
        count = counts.get(entry.text, 1)
        if count == 1 or not entry.is_quoted:
            yield entry
        elif count:
            counts[entry.text] = 0
            yield entry._replace(worth=entry.worth // count)
