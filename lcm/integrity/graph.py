"""The summary DAG of a project in memory, without texts: what lies below what, and the sums that nodes must carry."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lcm.storage.contracts.integrity import SummaryRow

Nodes = Mapping[uuid.UUID, SummaryRow]


@dataclass(frozen=True, slots=True)
class Totals:
    """What a summary must say about its sources, recomputed from the messages up."""

    depth: int
    descendant_count: int
    descendant_token_count: int
    source_message_token_count: int
    earliest_at: datetime | None
    latest_at: datetime | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a context shows through its summaries.

    Attributes:
        shown: summaries that stand in it. below: those under one of them. repeated: those found twice under them.
    """

    shown: frozenset[uuid.UUID]
    below: frozenset[uuid.UUID]
    repeated: frozenset[uuid.UUID]


class SummaryGraph:
    """Nodes by key, and the keys that stand in each context, by position."""

    def __init__(self, nodes: Nodes, shown: Mapping[int, Sequence[uuid.UUID]]) -> None:
        self.nodes = nodes
        self.totals = compute_totals(nodes)
        self.cycles = find_cycles(nodes, self.totals)
        self._shown = shown
        self._live_uppers = _live_uppers(nodes.values())

    def is_shown(self, conversation_id: int, key: uuid.UUID) -> bool:
        return key in self._shown.get(conversation_id, ())

    def live_uppers(self, key: uuid.UUID) -> dict[int, list[uuid.UUID]]:
        """The summaries with a live link to it, by the conversation of the link."""
        return self._live_uppers.get(key, {})

    def anchored(self, conversation_id: int) -> frozenset[uuid.UUID]:
        """Summaries that are in this context or lead to it by live links of this conversation."""
        found = set(self._shown.get(conversation_id, ()))
        waiting = list(found)
        while waiting:
            node = self.nodes.get(waiting.pop())
            for link in node.children if node else ():
                if link.is_live and link.conversation_id == conversation_id and link.child_key not in found:
                    found.add(link.child_key)
                    waiting.append(link.child_key)
        return frozenset(found)

    def coverage(self, conversation_id: int) -> Coverage:
        """Everything below the summaries of a context, by any link."""
        shown = frozenset(self._shown.get(conversation_id, ()))
        below: set[uuid.UUID] = set()
        repeated: set[uuid.UUID] = set()
        waiting = list(shown)
        while waiting:
            node = self.nodes.get(waiting.pop())
            for link in node.children if node else ():
                if link.child_key in below:
                    repeated.add(link.child_key)
                else:
                    below.add(link.child_key)
                    waiting.append(link.child_key)
        return Coverage(shown, frozenset(below), frozenset(repeated))


def compute_totals(nodes: Nodes) -> dict[uuid.UUID, Totals]:
    """Totals from the leaves up; what is on a cycle or above one is absent."""
    uppers: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    missing: Counter[uuid.UUID] = Counter()
    for key, node in nodes.items():
        for link in node.children:
            if link.child_key in nodes:
                uppers[link.child_key].append(key)
                missing[key] += 1
    ready = [key for key in nodes if not missing[key]]
    totals: dict[uuid.UUID, Totals] = {}
    while ready:
        key = ready.pop()
        totals[key] = _total(nodes[key], nodes, totals)
        for upper in uppers[key]:
            missing[upper] -= 1
            if not missing[upper]:
                ready.append(upper)
    return totals


def find_cycles(nodes: Nodes, totals: Mapping[uuid.UUID, Totals]) -> frozenset[uuid.UUID]:
    """The summaries on a cycle or between two: what has no totals, less what merely stands above."""
    rest = {key for key in nodes if key not in totals}
    while True:
        held = {link.child_key for key in rest for link in nodes[key].children}
        if rest <= held:
            return frozenset(rest)
        rest &= held


def _total(node: SummaryRow, nodes: Nodes, totals: Mapping[uuid.UUID, Totals]) -> Totals:
    children = [link.child_key for link in node.children if link.child_key in nodes]
    below = [totals[key] for key in children]
    starts = [*(each.earliest_at for each in node.sources), *(each.earliest_at for each in below)]
    ends = [*(each.latest_at for each in node.sources), *(each.latest_at for each in below)]
    return Totals(
        depth=1 + max(each.depth for each in below) if below else 0,
        descendant_count=sum(1 + each.descendant_count for each in below),
        descendant_token_count=sum(nodes[key].token_count + totals[key].descendant_token_count for key in children),
        source_message_token_count=sum(each.token_count for each in node.sources)
        + sum(each.source_message_token_count for each in below),
        earliest_at=min((each for each in starts if each is not None), default=None),
        latest_at=max((each for each in ends if each is not None), default=None),
    )


def _live_uppers(nodes: Iterable[SummaryRow]) -> dict[uuid.UUID, dict[int, list[uuid.UUID]]]:
    uppers: dict[uuid.UUID, dict[int, list[uuid.UUID]]] = {}
    for node in nodes:
        for link in node.children:
            if link.is_live:
                by_conversation = uppers.setdefault(link.child_key, {})
                by_conversation.setdefault(link.conversation_id, []).append(node.summary_key)
    return uppers
