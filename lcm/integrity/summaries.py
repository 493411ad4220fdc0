"""What can be wrong with one summary: its links, its sums, and its way to the context. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lcm.domain.summaries import SummaryKind
from lcm.integrity.conversations import Chain
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.integrity.graph import SummaryGraph, Totals
from lcm.storage.contracts.integrity import SummaryRow

#: A character costs at most this many tokens in any estimate; more is a damaged number.
_MOST_TOKENS_PER_CHAR = 4


@dataclass(frozen=True, slots=True)
class _Links:
    """The links of a summary to messages or to summaries, alike."""

    conversation_ids: frozenset[int]
    states: frozenset[bool]
    is_contiguous: bool
    missing_count: int
    owners: frozenset[int]


def summary_name(row: SummaryRow) -> str:
    return f"summary {row.summary_id}"


def check_summary(row: SummaryRow, graph: SummaryGraph, chain: Chain, owners: Collection[int]) -> Iterator[Fault]:
    """Everything about one summary.

    `chain` is its conversation with those that this is based on; it may cover messages of those, and of further
    `owners`, of which its transcripts hold copies.
    """
    about = summary_name(row)
    yield from _check_kind(row, about)
    yield from _check_links(row, graph, chain, owners, about)
    if row.summary_key in graph.cycles:
        yield fault(FaultKind.SUMMARY_CYCLE, about, "It lies below itself.")
    totals = graph.totals.get(row.summary_key)
    if totals is not None:
        yield from _check_totals(row, totals, about)
    yield from _check_text(row, about)
    yield from _check_tokens(row, about)
    yield from _check_carried_files(row, graph, about)
    yield from _check_uppers(row, graph, about)


def _check_kind(row: SummaryRow, about: str) -> Iterator[Fault]:
    if row.kind not in (SummaryKind.LEAF, SummaryKind.CONDENSED):
        yield fault(FaultKind.INVALID_VALUE, about, "Its kind is not one that lcm knows.")
        return
    is_leaf = row.kind == SummaryKind.LEAF
    if not (row.sources if is_leaf else row.children):
        yield fault(FaultKind.SUMMARY_WITHOUT_SOURCES, about, "It is linked to nothing that it was made from.")
    if row.children if is_leaf else row.sources:
        finding = "A leaf merges no summaries." if is_leaf else "A condensed summary covers no messages itself."
        yield fault(FaultKind.WRONG_SOURCE_KIND, about, finding)


def _check_links(
    row: SummaryRow, graph: SummaryGraph, chain: Chain, owners: Collection[int], about: str
) -> Iterator[Fault]:
    for links, allowed in ((_message_links(row), owners), (_child_links(row, graph), chain)):
        if not links.is_contiguous:
            yield fault(FaultKind.MISSING_LINK, about, "Its links are not numbered 0, 1, 2, ...: one is gone.")
        if links.missing_count:
            yield fault(FaultKind.DANGLING_LINK, about, f"{links.missing_count} of its sources are gone.")
        if not links.owners <= set(allowed):
            finding = "It covers what belongs neither to its conversation nor to one that this is based on."
            yield fault(FaultKind.FOREIGN_SOURCE, about, finding)
        if not links.conversation_ids <= {row.conversation_id}:
            finding = f"It belongs to conversation {row.conversation_id}, but some of its links to another."
            yield fault(FaultKind.WRONG_LINK_CONVERSATION, about, finding)
        if (row.superseded_by_key is not None) in links.states:
            finding = (
                "It is superseded, but its links are live." if row.superseded_by_key else "Its links are not live."
            )
            yield fault(FaultKind.WRONG_LINK_STATE, about, finding)


def _message_links(row: SummaryRow) -> _Links:
    groups = row.sources
    count = sum(each.link_count for each in groups)
    lowest = min((each.lowest_ordinal for each in groups), default=0)
    highest = max((each.highest_ordinal for each in groups), default=-1)
    ordinal_sum = sum(each.ordinal_sum for each in groups)
    return _Links(
        conversation_ids=frozenset(each.conversation_id for each in groups),
        states=frozenset(each.is_live for each in groups),
        is_contiguous=(lowest, highest, ordinal_sum) == (0, count - 1, count * (count - 1) // 2),
        missing_count=sum(each.link_count for each in groups if each.message_owner is None),
        owners=frozenset(each.message_owner for each in groups if each.message_owner is not None),
    )


def _child_links(row: SummaryRow, graph: SummaryGraph) -> _Links:
    children = [graph.nodes[link.child_key] for link in row.children if link.child_key in graph.nodes]
    return _Links(
        conversation_ids=frozenset(each.conversation_id for each in row.children),
        states=frozenset(each.is_live for each in row.children),
        is_contiguous=[each.ordinal for each in row.children] == list(range(len(row.children))),
        missing_count=len(row.children) - len(children),
        owners=frozenset(each.conversation_id for each in children),
    )


def _check_totals(row: SummaryRow, totals: Totals, about: str) -> Iterator[Fault]:
    if row.depth != totals.depth or (row.kind == SummaryKind.LEAF) != (row.depth == 0):
        finding = f"Its depth is {row.depth}; a {row.kind} over its sources has {totals.depth}."
        yield fault(FaultKind.WRONG_DEPTH, about, finding)
    counts = (
        ("summaries below", row.descendant_count, totals.descendant_count),
        ("tokens of summaries below", row.descendant_token_count, totals.descendant_token_count),
        ("tokens of messages below", row.source_message_token_count, totals.source_message_token_count),
    )
    wrong = [f"{name}: {found} instead of {expected}" for name, found, expected in counts if found != expected]
    if wrong:
        yield fault(FaultKind.WRONG_COUNTS, about, f"Its counts differ from its sources: {', '.join(wrong)}.")
    if (row.earliest_at, row.latest_at) != (totals.earliest_at, totals.latest_at):
        yield fault(FaultKind.WRONG_TIME_RANGE, about, "Its time range is not that of its sources.")


def _check_text(row: SummaryRow, about: str) -> Iterator[Fault]:
    """A summary's id is made from its text: an edited text no longer fits it."""
    if not row.has_own_text:
        yield fault(FaultKind.CHANGED_SUMMARY, about, "Its text is not the one that was stored.")


def _check_tokens(row: SummaryRow, about: str) -> Iterator[Fault]:
    if row.content_chars == 0 or not 0 < row.token_count <= _MOST_TOKENS_PER_CHAR * row.content_chars:
        finding = f"A text of {row.content_chars} characters cannot have {row.token_count} tokens."
        yield fault(FaultKind.WRONG_TOKEN_COUNT, about, finding)


def _check_carried_files(row: SummaryRow, graph: SummaryGraph, about: str) -> Iterator[Fault]:
    """A condensed summary carries the files of what it merges, each once, in order."""
    children = [graph.nodes.get(link.child_key) for link in row.children]
    carried = tuple(dict.fromkeys(file_id for child in children if child for file_id in child.file_ids))
    if row.kind == SummaryKind.CONDENSED and row.children and row.file_ids != carried:
        yield fault(FaultKind.WRONG_FILE_REFERENCES, about, "It does not carry the files of what it merges.")


def _check_uppers(row: SummaryRow, graph: SummaryGraph, about: str) -> Iterator[Fault]:
    uppers = graph.live_uppers(row.summary_key)
    for conversation_id, keys in uppers.items():
        if len(keys) > 1:
            finding = f"It has {len(keys)} live upper summaries in conversation {conversation_id}; one is allowed."
            yield fault(FaultKind.DUPLICATE_LIVE_UPPER, about, finding)
    if row.superseded_by_key is not None:
        if row.superseded_by_key not in graph.nodes:
            yield fault(FaultKind.MISSING_SUCCESSOR, about, "The summary that superseded it is gone.")
        if uppers:
            yield fault(FaultKind.SUPERSEDED_BELOW_LIVE, about, "It is superseded, but has a live upper summary.")
    elif row.conversation_id not in uppers and not graph.is_shown(row.conversation_id, row.summary_key):
        finding = f"It is neither in context {row.conversation_id} nor below a live summary of it."
        yield fault(FaultKind.UNREACHABLE_SUMMARY, about, finding)
