"""What conversations are based on: chains of bases, and what can be wrong with them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.storage.contracts.integrity import ConversationRow

Chain = tuple[int, ...]


def base_chains(conversations: Iterable[ConversationRow]) -> dict[int, Chain]:
    """For each conversation itself and those it is based on, nearest first; a cycle ends before its first repeat."""
    bases = {each.conversation_id: each.base_conversation_id for each in conversations}
    return {conversation_id: _chain(conversation_id, bases) for conversation_id in bases}


def _chain(conversation_id: int, bases: Mapping[int, int | None]) -> Chain:
    chain = [conversation_id]
    while (base := bases.get(chain[-1])) is not None and base not in chain:
        chain.append(base)
    return tuple(chain)


def reachable_owners(chains: Mapping[int, Chain], borrowed: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """For each conversation those whose messages it may show: its chain, and those of which its sources hold copies.

    When a file with copies is read before the one that they were made from, the messages belong to the first.
    """
    lenders: dict[int, set[int]] = {}
    for conversation_id, owner_id in borrowed:
        lenders.setdefault(conversation_id, set()).add(owner_id)
    return {
        conversation_id: frozenset(chain).union(*(lenders.get(each, ()) for each in chain))
        for conversation_id, chain in chains.items()
    }


def check_conversation(row: ConversationRow, chains: Mapping[int, Chain]) -> Iterator[Fault]:
    """Its counter, its base, the message it starts from, and that it is not based on itself."""
    about = f"conversation {row.conversation_id}"
    if row.context_revision < 0:
        yield fault(FaultKind.NEGATIVE_COUNTER, about, "Its context revision is negative.")
    base = row.base_conversation_id
    if base is None:
        return
    if base not in chains:
        yield fault(FaultKind.MISSING_BASE, about, f"Its base, conversation {base}, is gone.")
        return
    chain = chains[base]
    if row.conversation_id in chain:
        yield fault(FaultKind.BASE_CYCLE, about, "It is based on itself, directly or through others.")
    if row.base_message_id is None:
        return
    if row.base_message_owner is None:
        yield fault(FaultKind.WRONG_BASE_MESSAGE, about, f"The message it starts from is gone from base {base}.")
    elif row.base_message_owner not in chain:
        finding = f"The message it starts from is in conversation {row.base_message_owner}, not in its base."
        yield fault(FaultKind.WRONG_BASE_MESSAGE, about, finding)
