"""Summaries without a model: what tells most, picked from the source until the target is used."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence

from lcm.domain.summaries import SummaryOrigin
from lcm.errors import EmptySummary
from lcm.summarizer.contract import SourceText, SummaryAnswer, SummaryRequest
from lcm.summarizer.message_extract import extract_messages
from lcm.summarizer.narrative import continued_cost, line_cost, moment_cost, narrate
from lcm.summarizer.prompts import FOOTER
from lcm.summarizer.salience import Salience
from lcm.summarizer.sections import Entry, Extract, Section
from lcm.summarizer.sentences import cut_at_clause
from lcm.summarizer.summary_extract import extract_summaries
from lcm.summarizer.truncation import clip_to_tokens, strip_marker
from lcm.tokens import estimate_tokens

#: One round of picking: sections named twice get two lines a round.
_ROUND = (
    Section.LAST,
    Section.ASKED,
    Section.DECIDED,
    Section.OPEN,
    Section.DECIDED,
    Section.FILE,
    Section.ERROR,
    Section.FILE,
    Section.ASKED,
    Section.COMMAND,
)
#: Rounds end when less than this share of the room is left; the rest goes to whatever tells most.
_LEAST_SHARE_LEFT = 0.5
#: When more of the room is left, lines of code are shown as well.
_MOST_LEFT = 0.1
_MOST_ENTRY_TOKENS = 120
_LEAST_ENTRY_TOKENS = 12
#: Below this, a frame of time range and footer would leave no room for what was said.
_LEAST_FRAMED_TOKENS = 80
_FOOTER_TOKENS = 44
#: No line that says something is shorter.
_LEAST_LINE_TOKENS = 4
#: So many lines in a row of what is left may be too long for the room before the search for a shorter one ends.
_MOST_MISSES = 16
_SMALLEST = "…"

_NAMES = {
    Section.ASKED: "requests",
    Section.DECIDED: "decisions",
    Section.FILE: "files",
    Section.COMMAND: "calls",
    Section.ERROR: "errors",
    Section.OPEN: "open items",
}


class OfflineSummarizer:
    """The extractive summarizer: deterministic, without network, for the same source always the same text."""

    model = "offline"
    origin = SummaryOrigin.EXTRACTIVE
    is_remote = False

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        """The extract of the request's source; see `Summarizer.summarize`.

        Raises:
            EmptySummary: the source is blank.
        """
        if not request.source.text.strip():
            raise EmptySummary
        return SummaryAnswer(extractive_summary(request.source, request.target_tokens))


def extractive_summary(source: SourceText, target_tokens: int) -> str:
    """The most telling lines of a source that is not blank, between a line of its time range and a footer.

    First labelled lines by section, then what else was said and done by time, last the state. At most `target_tokens`
    estimated tokens and fewer than the source has, as long as that leaves one; close to that many when the source says
    so much.
    """
    limit = max(1, min(target_tokens, source.token_count - 1, estimate_tokens(source.text) - 1))
    extract = extract_messages(source.text) if source.depth == 0 else extract_summaries(source.text)
    framed = _framed(extract, limit) if limit >= _LEAST_FRAMED_TOKENS else None
    return framed or _unframed(extract, source.text, limit)


def _framed(extract: Extract, limit: int) -> str | None:
    """The lines that fit in their frame; None when there is none."""
    head = [] if extract.earliest is None else [f"{extract.earliest} - {extract.latest}"]
    room = limit - _FOOTER_TOKENS - sum(estimate_tokens(f"{line}\n") for line in head)
    picked = _picked(extract.entries, room)
    return "\n".join([*head, *narrate(picked), _footer(extract, picked)]) if picked else None


def _unframed(extract: Extract, text: str, limit: int) -> str:
    """For little room: the state and the requests without labels, else the beginning of the source."""
    state = [entry.stamped for entry in extract.entries if entry.section is Section.LAST]
    asked = [entry.stamped for entry in extract.entries if entry.section is Section.ASKED]
    telling = " | ".join([*asked[-1:], *state]) or " ".join(strip_marker(text).split())
    return clip_to_tokens(telling, limit).strip() or _SMALLEST


def _picked(entries: Sequence[Entry], room: int) -> list[Entry]:
    """The entries that fit, in order of time: in rounds over the sections, then by what they add, code last."""
    picker = _Picker(entries, room)
    picker.pick_sections()
    picker.pick_best()
    if picker.room > _MOST_LEFT * room:
        picker.read_code()
        picker.pick_best(reserve=int(_MOST_LEFT * room))
    return picker.in_order()


class _Picker:
    """Takes entries as long as there is room; entries go by index."""

    def __init__(self, entries: Sequence[Entry], room: int) -> None:
        self._entries = entries
        self._candidates = [index for index, entry in enumerate(entries) if not entry.is_code]
        self._salience = Salience(entries)
        self._salience.read(self._candidates)
        self.room = room
        self._most = max(_LEAST_ENTRY_TOKENS, min(_MOST_ENTRY_TOKENS, max(room // 4, min(room // 2, 40))))
        self._picked: dict[int, Entry] = {}
        self._moments: set[str] = set()
        self._quotations: set[tuple[int, str, str]] = set()

    def pick_sections(self) -> None:
        """Rounds over the sections, the best of each first, until less than a share of the room is left."""
        queues = _queues(self._entries)
        reserve = self.room * _LEAST_SHARE_LEFT
        while any(queues.values()) and self.room >= reserve:
            for section in _ROUND:
                if queues[section]:
                    index = queues[section].popleft()
                    if self._is_wanted(index):
                        self._take(index)

    def _is_wanted(self, index: int) -> bool:
        """Whether an entry is more than a repetition; a request is wanted also when the answer repeats its words."""
        is_request = self._entries[index].section is Section.ASKED and self._salience.tells(index)
        return not self._picked or is_request or self._salience.is_new(index)

    def pick_best(self, reserve: int = 0) -> None:
        """Whatever adds most for its length, again and again, until only a reserve is left or the next do not fit."""
        heap = [(-self._salience.most(index), index) for index in self._candidates if index not in self._picked]
        heapq.heapify(heap)
        misses = 0
        while heap and self.room >= max(reserve, _LEAST_LINE_TOKENS) and misses < _MOST_MISSES:
            _, index = heapq.heappop(heap)
            score = self._salience.score(index)
            if heap and score < -heap[0][0]:
                if score:
                    heapq.heappush(heap, (-score, index))
            elif score and self._salience.tells(index):
                misses += not self._take(index)

    def read_code(self) -> None:
        """Go on with the lines of code as candidates."""
        self._candidates = [index for index, entry in enumerate(self._entries) if entry.is_code]
        self._salience.read(self._candidates)

    def in_order(self) -> list[Entry]:
        return [self._picked[index] for index in sorted(self._picked, key=lambda i: (self._entries[i].order, i))]

    def _take(self, index: int) -> bool:
        """Whether the entry fits and was taken."""
        entry = _shortened(self._entries[index], self._most)
        cost = self._cost(entry)
        if cost > self.room:
            return False
        self.room -= cost
        self._picked[index] = entry
        self._salience.cover(index)
        if entry.is_told:
            self._moments.add(entry.stamp)
            self._quotations.add(_quotation(entry))
        return True

    def _cost(self, entry: Entry) -> int:
        if not entry.is_told:
            return line_cost(entry)
        if entry.is_quoted and _quotation(entry) in self._quotations:
            return continued_cost(entry)
        return line_cost(entry) + (0 if entry.stamp in self._moments else moment_cost(entry.stamp))


def _quotation(entry: Entry) -> tuple[int, str, str]:
    """What entries shown in one quotation have in common."""
    return (entry.order, entry.stamp, entry.speaker)


def _queues(entries: Sequence[Entry]) -> dict[Section, deque[int]]:
    """Indexes of each section's entries, the weightiest and then the newest first; the first request leads."""
    found: dict[Section, list[int]] = {section: [] for section in _ROUND}
    for index, entry in enumerate(entries):
        if entry.section is not Section.NOTED:
            found[entry.section].append(index)
    queues = {section: deque(sorted(indexes, key=lambda i: _rank(entries[i], i))) for section, indexes in found.items()}
    if found[Section.ASKED]:
        queues[Section.ASKED].remove(found[Section.ASKED][0])
        queues[Section.ASKED].appendleft(found[Section.ASKED][0])
    return queues


def _rank(entry: Entry, index: int) -> tuple[int, int, int]:
    return (-entry.weight, -entry.order, -index)


def _shortened(entry: Entry, most_tokens: int) -> Entry:
    tokens = estimate_tokens(entry.text)
    if tokens <= most_tokens:
        return entry
    return entry._replace(text=cut_at_clause(entry.text, len(entry.text) * most_tokens // tokens))


def _footer(extract: Extract, picked: Sequence[Entry]) -> str:
    """What is left out, by kind; within 44 tokens."""
    total = Counter(entry.section for entry in extract.entries)
    shown = Counter(entry.section for entry in picked)
    left = {section: total[section] - shown[section] for section in _NAMES}
    left_out = [f"{left[section]} more {name}" for section, name in _NAMES.items() if left[section]]
    return f"{FOOTER} {', '.join([*left_out[:5], 'full messages and outputs'])}"
