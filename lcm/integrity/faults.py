"""What the proof can find: kinds of faults with their remedies, and a bounded list of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

#: So many faults of one kind are listed; the rest is counted, so that memory stays bounded on a badly damaged project.
MAX_FAULTS_PER_KIND = 1000


class FaultKind(StrEnum):
    """What is wrong; the name says it of the object of the fault."""

    INVALID_VALUE = "invalid_value"
    NEGATIVE_COUNTER = "negative_counter"

    MISSING_CONVERSATION = "missing_conversation"
    MISSING_BASE = "missing_base"
    WRONG_BASE_MESSAGE = "wrong_base_message"
    BASE_CYCLE = "base_cycle"

    MISSING_MESSAGE = "missing_message"
    REPEATED_SEQ = "repeated_seq"
    CHANGED_MESSAGE = "changed_message"
    UNREADABLE_MESSAGE = "unreadable_message"
    MISSING_PART = "missing_part"
    ORPHAN_PART = "orphan_part"
    WRONG_PART_SPAN = "wrong_part_span"
    MESSAGE_IN_NO_PLACE = "message_in_no_place"
    MESSAGE_IN_TWO_PLACES = "message_in_two_places"

    DANGLING_CONTEXT_ITEM = "dangling_context_item"
    FOREIGN_CONTEXT_ITEM = "foreign_context_item"
    REPEATED_POSITION = "repeated_position"
    SHOWN_TWICE = "shown_twice"
    SUPERSEDED_IN_CONTEXT = "superseded_in_context"
    WRONG_ORDER = "wrong_order"
    WRONG_EXCLUSION = "wrong_exclusion"

    SUMMARY_WITHOUT_SOURCES = "summary_without_sources"
    WRONG_SOURCE_KIND = "wrong_source_kind"
    MISSING_LINK = "missing_link"
    DANGLING_LINK = "dangling_link"
    ORPHAN_LINK = "orphan_link"
    FOREIGN_SOURCE = "foreign_source"
    WRONG_LINK_CONVERSATION = "wrong_link_conversation"
    WRONG_LINK_STATE = "wrong_link_state"
    DUPLICATE_LIVE_UPPER = "duplicate_live_upper"
    SUMMARY_CYCLE = "summary_cycle"
    CHANGED_SUMMARY = "changed_summary"
    WRONG_DEPTH = "wrong_depth"
    WRONG_COUNTS = "wrong_counts"
    WRONG_TIME_RANGE = "wrong_time_range"
    WRONG_TOKEN_COUNT = "wrong_token_count"  # noqa: S105 - tokens of a text
    WRONG_FILE_REFERENCES = "wrong_file_references"
    MISSING_SUCCESSOR = "missing_successor"
    WRONG_SUCCESSOR = "wrong_successor"
    SUPERSEDED_BELOW_LIVE = "superseded_below_live"
    UNREACHABLE_SUMMARY = "unreachable_summary"

    MISSING_FILE_ROW = "missing_file_row"
    MISSING_FILE_BYTES = "missing_file_bytes"
    CHANGED_FILE_BYTES = "changed_file_bytes"
    WRONG_FILE_SIZE = "wrong_file_size"

    SEARCH_INDEX = "search_index"


_RESTORE = "Restore the project from a backup, or import its transcripts into a new project."
_RESTORE_BYTES = "Restore the file in the project's folder from a backup; the messages keep only a reference to it."
_RESTORE_CONTEXT = "Restore the project from a backup; the message itself is stored and searchable."
_RESTORE_SUMMARIES = "Restore the project from a backup; the messages themselves are stored and searchable."

_SUMMARY_KINDS = frozenset(
    {
        FaultKind.SHOWN_TWICE,
        FaultKind.SUPERSEDED_IN_CONTEXT,
        FaultKind.WRONG_ORDER,
        FaultKind.SUMMARY_WITHOUT_SOURCES,
        FaultKind.WRONG_SOURCE_KIND,
        FaultKind.MISSING_LINK,
        FaultKind.WRONG_LINK_CONVERSATION,
        FaultKind.WRONG_LINK_STATE,
        FaultKind.DUPLICATE_LIVE_UPPER,
        FaultKind.SUMMARY_CYCLE,
        FaultKind.CHANGED_SUMMARY,
        FaultKind.WRONG_DEPTH,
        FaultKind.WRONG_COUNTS,
        FaultKind.WRONG_TIME_RANGE,
        FaultKind.WRONG_TOKEN_COUNT,
        FaultKind.WRONG_FILE_REFERENCES,
        FaultKind.MISSING_SUCCESSOR,
        FaultKind.WRONG_SUCCESSOR,
        FaultKind.SUPERSEDED_BELOW_LIVE,
        FaultKind.UNREACHABLE_SUMMARY,
    }
)
_REMEDIES = {
    FaultKind.MESSAGE_IN_NO_PLACE: _RESTORE_CONTEXT,
    FaultKind.MESSAGE_IN_TWO_PLACES: _RESTORE_CONTEXT,
    FaultKind.WRONG_EXCLUSION: _RESTORE_CONTEXT,
    **dict.fromkeys(_SUMMARY_KINDS, _RESTORE_SUMMARIES),
    FaultKind.MISSING_FILE_BYTES: _RESTORE_BYTES,
    FaultKind.CHANGED_FILE_BYTES: _RESTORE_BYTES,
    FaultKind.SEARCH_INDEX: "Run `lcm verify --rebuild-search`; the stored texts are not affected.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding.

    Attributes:
        kind: stable name of what is wrong.
        object: what it is about, as a person can find it: `message 3:17` (conversation:seq), `summary sum_...`,
            `context 3`, `conversation 3`, `source 3`, `file file_...`, `compaction state 3` (of the conversation),
            `messages`, `search index`.
        finding, remedy: what was found and what to do, one sentence each, without stored text.
    """

    kind: FaultKind
    object: str
    finding: str
    remedy: str

    def to_json(self) -> dict[str, str]:
        return {**asdict(self), "kind": self.kind.value}


def fault(kind: FaultKind, about: str, finding: str) -> Fault:
    """A fault with the remedy of its kind."""
    return Fault(kind, about, finding, _REMEDIES.get(kind, _RESTORE))


class FaultList:
    """Faults in order of finding, bounded for each kind."""

    def __init__(self, *, limit: int = MAX_FAULTS_PER_KIND) -> None:
        self._limit = limit
        self._faults: list[Fault] = []
        self._counts: Counter[FaultKind] = Counter()

    def extend(self, found: Iterable[Fault]) -> None:
        for each in found:
            self._counts[each.kind] += 1
            if self._counts[each.kind] <= self._limit:
                self._faults.append(each)

    def all(self) -> tuple[Fault, ...]:
        """What was found; at the end one fault for every kind of which not all are listed."""
        more = [
            fault(kind, f"{count - self._limit} more", "More objects have this fault than are listed.")
            for kind, count in self._counts.items()
            if count > self._limit
        ]
        return (*self._faults, *more)
