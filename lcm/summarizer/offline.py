"""Summaries without a model: the lines that matter most, picked from the source under the same targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lcm.domain.summaries import SummaryOrigin
from lcm.errors import EmptySummary
from lcm.summarizer.contract import SourceText, SummaryAnswer, SummaryRequest
from lcm.summarizer.message_extract import extract_messages
from lcm.summarizer.prompts import FOOTER
from lcm.summarizer.sections import Entry, Extract, Section
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
    Section.NOTED,
)
_MOST_ENTRY_TOKENS = 80
_LEAST_ENTRY_TOKENS = 12
#: Below this, a frame of time range and footer would leave no room for what was said.
_LEAST_FRAMED_TOKENS = 80
_FOOTER_TOKENS = 44
_SMALLEST = "…"

_NAMES = {
    Section.ASKED: "requests",
    Section.DECIDED: "decisions",
    Section.FILE: "files",
    Section.COMMAND: "commands",
    Section.ERROR: "errors",
    Section.NOTED: "notes",
    Section.OPEN: "open items",
    Section.LAST: "states",
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
    """The most telling lines of a source that is not blank, one `Label: text` each, with time range and footer.

    At most `target_tokens` estimated tokens and fewer than the source has, as long as that leaves one.
    """
    limit = max(1, min(target_tokens, source.token_count - 1, estimate_tokens(source.text) - 1))
    extract = extract_messages(source.text) if source.depth == 0 else extract_summaries(source.text)
    if limit < _LEAST_FRAMED_TOKENS or not extract.entries:
        return _unframed(extract, source.text, limit)
    return _framed(extract, limit)


def _framed(extract: Extract, limit: int) -> str:
    head = [] if extract.earliest is None else [f"{extract.earliest} - {extract.latest}"]
    room = limit - _FOOTER_TOKENS - sum(_cost(line) for line in head)
    picked = _picked(extract, room)
    return "\n".join([*head, *_lines(picked), _footer(extract, picked)])


def _unframed(extract: Extract, text: str, limit: int) -> str:
    """For little room: the state and the requests without labels, else the beginning of the source."""
    state = [entry.text for entry in extract.entries if entry.section is Section.LAST]
    asked = [entry.text for entry in extract.entries if entry.section is Section.ASKED]
    telling = " | ".join([*asked[-1:], *state]) or " ".join(strip_marker(text).split())
    return clip_to_tokens(telling, limit).strip() or _SMALLEST


def _picked(extract: Extract, room: int) -> list[Entry]:
    """Entries that fit, taken in rounds over the sections; the best of each first."""
    queues = {section: list(_ranked(extract, section)) for section in Section}
    most = max(_LEAST_ENTRY_TOKENS, min(_MOST_ENTRY_TOKENS, room // 4))
    picked: list[Entry] = []
    while any(queues.values()):
        for section in _ROUND:
            if not queues[section]:
                continue
            entry = _shortened(queues[section].pop(0), most)
            cost = _cost(_line(entry))
            if cost <= room:
                room -= cost
                picked.append(entry)
    return picked


def _ranked(extract: Extract, section: Section) -> Iterator[Entry]:
    """Entries of a section, the weightiest and then the newest first; of requests, the first one leads."""
    entries = [entry for entry in extract.entries if entry.section is section]
    if section is Section.ASKED:
        yield from entries[:1]
        entries = entries[1:]
    yield from sorted(entries, key=lambda entry: (-entry.weight, -entry.order))


def _shortened(entry: Entry, most_tokens: int) -> Entry:
    if estimate_tokens(entry.text) <= most_tokens:
        return entry
    return Entry(entry.section, f"{clip_to_tokens(entry.text, most_tokens - 2).rstrip()}…", entry.order, entry.weight)


def _lines(entries: list[Entry]) -> list[str]:
    places = {section: place for place, section in enumerate(Section)}
    ordered = sorted(entries, key=lambda entry: (places[entry.section], entry.order))
    return list(dict.fromkeys(_line(entry) for entry in ordered))


def _line(entry: Entry) -> str:
    return f"{entry.section}: {entry.text}"


def _cost(line: str) -> int:
    return estimate_tokens(f"{line}\n")


def _footer(extract: Extract, picked: list[Entry]) -> str:
    """What is left out, by kind; within 44 tokens."""
    total = Counter(entry.section for entry in extract.entries)
    shown = Counter(entry.section for entry in picked)
    missing = [f"{total[section] - shown[section]} more {_NAMES[section]}" for section in Section]
    left_out = [text for text in missing if not text.startswith("0 ")]
    return f"{FOOTER} {', '.join([*left_out[:5], 'full messages and outputs'])}"
