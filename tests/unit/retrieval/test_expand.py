from __future__ import annotations

from dataclasses import dataclass

import pytest

from lcm.domain.messages import Role
from lcm.domain.summaries import Summary, SummaryKind
from lcm.errors import OutOfRange, UnknownSummary
from lcm.retrieval.expand import ChildSnippet, expand
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import make_conversation, make_messages, make_summary


@dataclass(frozen=True, slots=True)
class Dag:
    """A condensed summary of two leaves of two messages each."""

    root: Summary
    leaves: tuple[Summary, Summary]


@pytest.fixture
async def dag(project: ProjectStorage) -> Dag:
    conversation = await project.conversations.create_conversation(make_conversation())
    stored = await project.conversations.append_messages(conversation.conversation_id, make_messages(4, token_count=10))
    leaves = []
    for number in range(2):
        new = make_summary(conversation.conversation_id, f"leaf {number}", token_count=5)
        leaf = await project.summaries.insert_summary(new)
        sources = stored[2 * number : 2 * number + 2]
        await project.summaries.link_messages(leaf.summary_key, [message.message_id for message in sources])
        leaves.append(leaf)
    root = await project.summaries.insert_summary(make_summary(conversation.conversation_id, "both", depth=1))
    await project.summaries.link_children(root.summary_key, [leaf.summary_key for leaf in leaves])
    return Dag(root, (leaves[0], leaves[1]))


class TestExpand:
    async def test_default_is_flat_children_without_messages(self, project: ProjectStorage, dag: Dag) -> None:
        """One level: the children as snippets, the root and they cited, their tokens summed."""
        expansion = await expand(project, dag.root.summary_id)

        assert [each.summary_id for each in expansion.expansions] == [dag.root.summary_id]
        assert expansion.expansions[0].children == (
            ChildSnippet(dag.leaves[0].summary_id, SummaryKind.LEAF, "leaf 0", 5),
            ChildSnippet(dag.leaves[1].summary_id, SummaryKind.LEAF, "leaf 1", 5),
        )
        assert expansion.expansions[0].messages == ()
        assert expansion.cited_ids == (dag.root.summary_id, *(leaf.summary_id for leaf in dag.leaves))
        assert (expansion.total_tokens, expansion.truncated, expansion.tree) == (10, False, None)

    async def test_leaf_alone_gives_nothing_more(self, project: ProjectStorage, dag: Dag) -> None:
        """A leaf has no summaries below it; it is cited itself."""
        expansion = await expand(project, dag.leaves[0].summary_id, depth=3)

        assert (expansion.expansions[0].children, expansion.cited_ids) == ((), (dag.leaves[0].summary_id,))

    async def test_messages_of_a_leaf_on_request(self, project: ProjectStorage, dag: Dag) -> None:
        """The source messages come whole, in order, with place and role."""
        expansion = await expand(project, dag.leaves[1].summary_id, include_messages=True)

        messages = expansion.expansions[0].messages
        assert [(each.conversation_id, each.seq, each.role, each.content) for each in messages] == [
            (1, 2, Role.USER, "message 2"),
            (1, 3, Role.USER, "message 3"),
        ]
        assert expansion.total_tokens == 20

    async def test_messages_are_the_level_below_their_leaf(self, project: ProjectStorage, dag: Dag) -> None:
        """From the condensed summary two levels reach the messages, one does not."""
        one = await expand(project, dag.root.summary_id, include_messages=True)
        two = await expand(project, dag.root.summary_id, include_messages=True, depth=2)

        assert [len(each.expansions[0].messages) for each in (one, two)] == [0, 4]

    async def test_nested_tree(self, project: ProjectStorage, dag: Dag) -> None:
        """The tree holds the same summaries and messages where they belong."""
        tree = (await expand(project, dag.root.summary_id, depth=2, include_messages=True, nested=True)).tree

        assert tree is not None
        assert tree.summary_id == dag.root.summary_id
        assert [(child.snippet, [each.seq for each in child.messages]) for child in tree.children] == [
            ("leaf 0", [0, 1]),
            ("leaf 1", [2, 3]),
        ]

    async def test_token_cap_stops(self, project: ProjectStorage, dag: Dag) -> None:
        """With room for one child the second is left out and the answer says so."""
        expansion = await expand(project, dag.root.summary_id, token_cap=9)

        assert [child.snippet for child in expansion.expansions[0].children] == ["leaf 0"]
        assert (expansion.total_tokens, expansion.truncated) == (5, True)

    async def test_token_cap_cuts_a_message(self, project: ProjectStorage, dag: Dag) -> None:
        """The message that does not fit is cut to the tokens left; nothing follows."""
        expansion = await expand(project, dag.leaves[0].summary_id, include_messages=True, token_cap=2)

        assert [each.content for each in expansion.expansions[0].messages] == ["message "]
        assert (expansion.total_tokens, expansion.truncated) == (2, True)

    async def test_snippet_is_one_line_of_200_characters(self, project: ProjectStorage, dag: Dag) -> None:
        """Long summaries are shown by their beginning."""
        long = make_summary(dag.root.conversation_id, "word\n" * 100)
        leaf = await project.summaries.insert_summary(long)
        top = await project.summaries.insert_summary(make_summary(dag.root.conversation_id, "top", depth=1))
        await project.summaries.link_children(top.summary_key, [leaf.summary_key])

        snippet = (await expand(project, top.summary_id)).expansions[0].children[0].snippet

        assert snippet == ("word " * 40).rstrip()

    @pytest.mark.parametrize("depth", [0, -1, 2**53, True])
    async def test_depth_is_a_positive_safe_integer(self, project: ProjectStorage, dag: Dag, depth: int) -> None:
        """Zero, negative, unsafe and boolean depths are refused; there is no maximum below that."""
        with pytest.raises(OutOfRange):
            await expand(project, dag.root.summary_id, depth=depth)

    async def test_largest_depth(self, project: ProjectStorage, dag: Dag) -> None:
        """Any number of levels may be asked for."""
        assert len((await expand(project, dag.root.summary_id, depth=2**53 - 1)).cited_ids) == 3

    async def test_unknown_summary(self, project: ProjectStorage) -> None:
        """An id that names nothing is an error."""
        with pytest.raises(UnknownSummary):
            await expand(project, "sum_0000000000000000")
