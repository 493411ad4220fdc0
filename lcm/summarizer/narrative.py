"""The text of an extractive summary: labelled lines, then what else was said and done, by time, then the state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lcm.summarizer.sections import QUOTED, Entry, Section
from lcm.summarizer.sentences import SENTENCE_ENDS
from lcm.tokens import estimate_tokens

#: Opens what was said and done at one moment.
MOMENT = re.compile(r"At (\d\d-\d\d \d\d:\d\d):")
#: A line of it, with whose words they are unless the assistant's.
TOLD = re.compile(rf"- (?:(User|[\w.:/-]{{1,100}}(?:{'|'.join(QUOTED)})): )?(.+)")
#: Between quoted lines of one message.
BETWEEN = " / "


def narrate(entries: Sequence[Entry]) -> list[str]:
    """The lines of a summary; `entries` are in order of time, equal lines stand once."""
    labelled = [(section, f"{section}: {entry.stamped}") for section in Section for entry in _of(entries, section)]
    facts = [line for section, line in labelled if section is not Section.LAST]
    states = [line for section, line in labelled if section is Section.LAST]
    return [*dict.fromkeys(facts), *_told(entries), *states]


def line_cost(entry: Entry) -> int:
    """At most so many tokens are added by an entry, the line of its moment apart."""
    line = f"- {_prefix(entry)}{entry.text}" if entry.is_told else f"{entry.section}: {entry.stamped}"
    return estimate_tokens(f"{line}\n")


def continued_cost(entry: Entry) -> int:
    """At most so many tokens are added by an entry that continues a quotation."""
    return estimate_tokens(f"{BETWEEN}{entry.text}")


def moment_cost(stamp: str) -> int:
    """Tokens of the line that opens a moment."""
    return estimate_tokens(f"At {stamp}:\n") if stamp else 0


def _of(entries: Sequence[Entry], section: Section) -> list[Entry]:
    return [entry for entry in entries if entry.section is section and not entry.is_told]


def _told(entries: Sequence[Entry]) -> Iterator[str]:
    """Moments in order of their first line; each stands once even when the times go back and forth."""
    moments: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.is_told:
            moments.setdefault(entry.stamp, []).append(entry)
    for stamp, told in moments.items():
        if stamp:
            yield f"At {stamp}:"
        yield from (f"- {_prefix(entry)}{entry.text}" for entry in _joined(told))


def _joined(told: Sequence[Entry]) -> list[Entry]:
    """Quoted lines of one message as one, at the place of the first; whole sentences joined with the one before."""
    lines: list[Entry] = []
    quotations: dict[tuple[int, str], int] = {}
    for entry in told:
        place = quotations.setdefault((entry.order, entry.speaker), len(lines)) if entry.is_quoted else len(lines) - 1
        between = BETWEEN if entry.is_quoted else " "
        if 0 <= place < len(lines) and (entry.is_quoted or _continues(lines[place], entry)):
            lines[place] = lines[place]._replace(text=f"{lines[place].text}{between}{entry.text}")
        else:
            lines.append(entry)
    return lines


def _continues(earlier: Entry, entry: Entry) -> bool:
    is_same = earlier.section is entry.section is Section.NOTED and earlier.speaker == entry.speaker
    are_whole = earlier.text.endswith(SENTENCE_ENDS) and entry.text.endswith(SENTENCE_ENDS)
    return is_same and earlier.order == entry.order and are_whole


def _prefix(entry: Entry) -> str:
    return f"{entry.speaker}: " if entry.speaker else ""
