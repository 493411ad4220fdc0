"""Whether what replaced a summary stands for the same sources, and is itself in use or replaced in turn. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.integrity.graph import Nodes
from lcm.integrity.order import SourceOrder
from lcm.integrity.summaries import summary_name
from lcm.storage.contracts.integrity import SummaryRow


def compared_leaves(nodes: Nodes) -> frozenset[uuid.UUID]:
    """The summaries whose sources are compared: those that were replaced, and what replaced them."""
    replaced = {row.summary_key: row.superseded_by_key for row in nodes.values() if row.superseded_by_key is not None}
    return frozenset(replaced) | frozenset(replaced.values())


def check_successor(row: SummaryRow, nodes: Nodes, order: SourceOrder) -> Iterator[Fault]:
    """One replacement; a successor that is gone is told elsewhere."""
    successor = nodes.get(row.superseded_by_key) if row.superseded_by_key is not None else None
    if successor is None:
        return
    about = summary_name(row)
    if _comes_back(row, nodes):
        finding = "What superseded it was superseded in turn, and so on back to it: none of them is in use."
        yield fault(FaultKind.WRONG_SUCCESSOR, about, finding)
    place = (row.conversation_id, row.kind, row.depth)
    if place != (successor.conversation_id, successor.kind, successor.depth):
        finding = f"It was superseded by {summary_name(successor)} of another conversation, kind or depth."
        yield fault(FaultKind.WRONG_SUCCESSOR, about, finding)
    elif _sources(row, order) != _sources(successor, order):
        finding = f"It was superseded by {summary_name(successor)}, which has other sources or another order of them."
        yield fault(FaultKind.WRONG_SUCCESSOR, about, finding)


def _comes_back(row: SummaryRow, nodes: Nodes) -> bool:
    """Whether the successors form a ring; a chain that ends ends in a summary in use, or in one that is gone."""
    seen = {row.summary_key}
    following = row.superseded_by_key
    while following is not None and following not in seen:
        seen.add(following)
        node = nodes.get(following)
        following = node.superseded_by_key if node else None
    return following is not None


def _sources(row: SummaryRow, order: SourceOrder) -> tuple[tuple[uuid.UUID, ...], tuple[int, ...]]:
    return tuple(link.child_key for link in row.children), tuple(order.message_ids(row.summary_key))
