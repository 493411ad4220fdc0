"""How conversations stand under each other."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from lcm.domain.conversation_tree import ConversationNode, grow_trees, walk
from lcm.domain.conversations import Conversation, ConversationOverview, Relation
from tests.factories import START


def overview(conversation_id: int, relation: Relation = Relation.ROOT, **fields: Any) -> ConversationOverview:
    known: dict[str, Any] = {
        "session_id": f"session-{conversation_id}",
        "client": "claude",
        "title": None,
        "base_conversation_id": None,
        "base_message_id": None,
        "parent_tool_call_id": None,
        "context_revision": 0,
        "bootstrapped_at": None,
        "created_at": START,
        "updated_at": START,
        **fields,
    }
    conversation = Conversation(conversation_id, uuid.UUID(int=conversation_id), relation=relation, **known)
    return ConversationOverview(conversation, 1, 0, None, 1, 1, 1, START, START)


Shape = list[tuple[int, "Shape"]]


def shape(nodes: Sequence[ConversationNode]) -> Shape:
    return [(node.overview.conversation.conversation_id, shape(node.children)) for node in nodes]


def grown(
    *overviews: ConversationOverview, callers: dict[str, int] | None = None, rewound: dict[int, int] | None = None
) -> list[ConversationNode]:
    return grow_trees(overviews, callers=callers or {}, rewound=rewound or {})


class TestGrowTrees:
    def test_forks_and_resumes_stand_under_their_base(self) -> None:
        """Each under what it is based on, in the order given, however deep."""
        trees = grown(
            overview(1),
            overview(2),
            overview(3, Relation.FORK, base_conversation_id=1),
            overview(4, Relation.RESUME, base_conversation_id=3),
            overview(5, Relation.RESUME, base_conversation_id=1),
        )

        assert shape(trees) == [(1, [(3, [(4, [])]), (5, [])]), (2, [])]
        assert trees[0].children[0].children[0].parent_id == 3

    def test_a_subagent_stands_under_its_caller(self) -> None:
        """The conversation that made the call counts, not the session."""
        agent = overview(3, Relation.SUBAGENT, session_id="session-1", parent_tool_call_id="call")

        assert shape(grown(overview(1), overview(2), agent, callers={"call": 2})) == [(1, []), (2, [(3, [])])]

    def test_a_subagent_of_an_unknown_call_stands_under_its_session(self) -> None:
        """The first of it that is no subagent; without one it stands at the top."""
        first = overview(1, Relation.SUBAGENT, session_id="s", parent_tool_call_id="gone")
        second = overview(2, session_id="s")
        alone = overview(3, Relation.SUBAGENT, session_id="t")

        assert shape(grown(first, second, alone)) == [(2, [(1, [])]), (3, [])]

    def test_a_base_that_is_not_listed_is_no_parent(self) -> None:
        """Nothing is lost for want of a parent."""
        assert shape(grown(overview(2, Relation.FORK, base_conversation_id=1))) == [(2, [])]

    def test_a_circle_is_cut(self) -> None:
        """A damaged store shows every conversation once all the same."""
        one = overview(1, Relation.FORK, base_conversation_id=2)
        two = overview(2, Relation.FORK, base_conversation_id=3)
        three = overview(3, Relation.FORK, base_conversation_id=1)
        own = overview(4, Relation.FORK, base_conversation_id=4)

        listed = [node.overview.conversation.conversation_id for node, _ in walk(grown(one, two, three, own))]
        assert sorted(listed) == [1, 2, 3, 4]

    def test_rewound_messages_are_counted(self) -> None:
        """Zero where there are none."""
        trees = grown(overview(1), overview(2), rewound={2: 5})

        assert [each.rewound_messages for each in trees] == [0, 5]


class TestWalk:
    def test_goes_down_before_it_goes_on(self) -> None:
        """With, for each level, whether the node or what it stands under is the last there."""
        trees = grown(
            overview(1),
            overview(2, Relation.FORK, base_conversation_id=1),
            overview(3, Relation.FORK, base_conversation_id=2),
            overview(4, Relation.FORK, base_conversation_id=1),
        )

        assert [(node.overview.conversation.conversation_id, levels) for node, levels in walk(trees)] == [
            (1, (True,)),
            (2, (True, False)),
            (3, (True, False, True)),
            (4, (True, True)),
        ]
