"""How conversations stand to each other: what was resumed, forked or started from another stands under it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lcm.domain.conversations import ConversationOverview, Relation


@dataclass(frozen=True, slots=True)
class ConversationNode:
    """A conversation with those under it, in the order in which they were given.

    Attributes:
        parent_id: the conversation that it stands under; None at the top.
        rewound_messages: of its branches that were abandoned in the client.
    """

    overview: ConversationOverview
    parent_id: int | None
    rewound_messages: int
    children: tuple[ConversationNode, ...]


def grow_trees(
    overviews: Sequence[ConversationOverview], *, callers: Mapping[str, int], rewound: Mapping[int, int]
) -> list[ConversationNode]:
    """The trees of these conversations, each conversation once, roots in the order given.

    A conversation stands under its base; a subagent under the conversation that made its call, else under the first
    of its session that is none. `callers` are conversations by tool call id, `rewound` message counts by conversation.
    """
    parents = _without_circles(_parents(overviews, callers))
    under: dict[int | None, list[ConversationOverview]] = {}
    for each in overviews:
        under.setdefault(parents.get(each.conversation.conversation_id), []).append(each)

    def grow(parent_id: int | None) -> tuple[ConversationNode, ...]:
        return tuple(
            ConversationNode(
                each,
                parent_id,
                rewound.get(each.conversation.conversation_id, 0),
                grow(each.conversation.conversation_id),
            )
            for each in under.get(parent_id, ())
        )

    return list(grow(None))


def walk(
    nodes: Sequence[ConversationNode], above: tuple[bool, ...] = ()
) -> Iterator[tuple[ConversationNode, tuple[bool, ...]]]:
    """Every node before those under it, with, for each level down to its own, whether it is the last there."""
    for number, node in enumerate(nodes, start=1):
        levels = (*above, number == len(nodes))
        yield node, levels
        yield from walk(node.children, levels)


def _parents(overviews: Sequence[ConversationOverview], callers: Mapping[str, int]) -> dict[int, int]:
    known = {each.conversation.conversation_id for each in overviews}
    first_of_session: dict[str, int] = {}
    for each in overviews:
        if each.conversation.relation is not Relation.SUBAGENT:
            first_of_session.setdefault(each.conversation.session_id, each.conversation.conversation_id)
    parents: dict[int, int] = {}
    for each in overviews:
        conversation = each.conversation
        found = conversation.base_conversation_id
        if found is None and conversation.parent_tool_call_id is not None:
            found = callers.get(conversation.parent_tool_call_id)
        if found not in known and conversation.relation is Relation.SUBAGENT:
            found = first_of_session.get(conversation.session_id)
        if found is not None and found in known and found != conversation.conversation_id:
            parents[conversation.conversation_id] = found
    return parents


def _without_circles(parents: Mapping[int, int]) -> dict[int, int]:
    """A conversation that would stand under itself stands at the top instead: a damaged store is shown whole."""
    kept: dict[int, int] = {}
    for child, parent in parents.items():
        above: int | None = parent
        while above is not None and above != child:
            above = kept.get(above)
        if above is None:
            kept[child] = parent
    return kept
