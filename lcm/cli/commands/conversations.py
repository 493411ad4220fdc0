"""`lcm conversations`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from lcm.cli.options import json_option, project_option
from lcm.cli.output import print_json, shown_time, write
from lcm.cli.projects import by_project, print_project
from lcm.cli.running import run, session
from lcm.cli.tables import Column, print_table
from lcm.domain.conversation_tree import ConversationNode, grow_trees, walk
from lcm.domain.conversations import ConversationOverview
from lcm.domain.messages import Exclusion
from lcm.storage.contracts.project import ProjectStorage

_NOTHING = "No conversations yet; `lcm import` brings them in."


@click.command("conversations")
@click.option("--tree", "as_tree", is_flag=True, help="What was resumed, forked or started from another, under it.")
@project_option
@json_option
def command(as_tree: bool, selector: str | None, as_json: bool) -> None:
    """List the stored conversations with their figures, oldest first."""

    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
            if as_tree:
                trees = [(project, tree) for project in projects for tree in await _trees(project)]
                _show_trees(trees, many=len(projects) > 1, as_json=as_json)
                return
            listed = [(project, each) for project in projects for each in await _overviews(project)]
        if as_json:
            print_json({"conversations": [conversation_json(project, each) for project, each in listed]})
        else:
            _print(listed, many=len(projects) > 1)

    run(work)


async def _overviews(project: ProjectStorage) -> list[ConversationOverview]:
    """A subagent that is only known from its parent's call so far has nothing to show."""
    overviews = await project.conversations.list_overviews()
    return [each for each in overviews if each.message_count or each.raw_context_items]


async def _trees(project: ProjectStorage) -> list[ConversationNode]:
    overviews = await _overviews(project)
    calls = [each.conversation.parent_tool_call_id for each in overviews]
    counts = await project.conversations.count_exclusions()
    return grow_trees(
        overviews,
        callers=await project.conversations.find_callers([each for each in calls if each is not None]),
        rewound={key: of_one.get(Exclusion.REWOUND, 0) for key, of_one in counts.items()},
    )


def conversation_json(project: ProjectStorage, overview: ConversationOverview) -> dict[str, Any]:
    conversation = overview.conversation
    return {
        "conversation_id": conversation.conversation_id,
        "project_id": project.project_id,
        "conversation_key": conversation.conversation_key,
        "session_id": conversation.session_id,
        "client": conversation.client,
        "title": conversation.title,
        "relation": conversation.relation,
        "base_conversation_id": conversation.base_conversation_id,
        "base_message_id": conversation.base_message_id,
        "parent_tool_call_id": conversation.parent_tool_call_id,
        "messages": overview.message_count,
        "summaries": overview.summary_count,
        "max_depth": overview.max_depth,
        "raw_context_items": overview.raw_context_items,
        "context_tokens": overview.context_tokens,
        "raw_tokens": overview.raw_tokens,
        "first_at": overview.first_at,
        "last_at": overview.last_at,
    }


def _print(listed: list[tuple[ProjectStorage, ConversationOverview]], *, many: bool) -> None:
    if not listed:
        write(_NOTHING)
    for project, group in by_project(listed):
        if many:
            print_project(project)
        print_table(_COLUMNS, [_row(each) for each in group])


def _show_trees(trees: list[tuple[ProjectStorage, ConversationNode]], *, many: bool, as_json: bool) -> None:
    if as_json:
        print_json({"conversations": [_node_json(project, each) for project, each in trees]})
        return
    if not trees:
        write(_NOTHING)
    for project, group in by_project(trees):
        if many:
            print_project(project)
        print_table(_TREE_COLUMNS, [_tree_row(node, levels) for node, levels in walk(group)])


def _node_json(project: ProjectStorage, node: ConversationNode) -> dict[str, Any]:
    return {
        **conversation_json(project, node.overview),
        "rewound_messages": node.rewound_messages,
        "parent_conversation_id": node.parent_id,
        "children": [_node_json(project, each) for each in node.children],
    }


_TREE_COLUMNS = (
    Column("id", is_drawn=True),
    Column("relation"),
    Column("messages", is_number=True),
    Column("rewound", is_number=True, drop=2),
    Column("summaries", is_number=True, drop=4),
    Column("depth", is_number=True, drop=3),
    Column("tokens", is_number=True),
    Column("last message", drop=1),
    Column("title", may_shrink=True, drop=5),
)


def _tree_row(node: ConversationNode, levels: Sequence[bool]) -> list[object]:
    overview = node.overview
    return [
        f"{_branch(levels)}{overview.conversation.conversation_id}",
        overview.conversation.relation.value,
        overview.message_count,
        node.rewound_messages or None,
        overview.summary_count,
        overview.max_depth,
        overview.context_tokens,
        shown_time(overview.last_at),
        overview.conversation.title,
    ]


def _branch(levels: Sequence[bool]) -> str:
    """The lines in front of an id; a root has none."""
    if len(levels) == 1:
        return ""
    passed = "".join("   " if is_last else "\u2502  " for is_last in levels[1:-1])
    return passed + ("\u2514\u2500 " if levels[-1] else "\u251c\u2500 ")


_COLUMNS = (
    Column("id"),
    Column("session", drop=3),
    Column("client", drop=1),
    Column("relation", drop=4),
    Column("messages", is_number=True),
    Column("summaries", is_number=True),
    Column("tokens", is_number=True),
    Column("last message"),
    Column("title", may_shrink=True, drop=2),
)


def _row(overview: ConversationOverview) -> list[object]:
    conversation = overview.conversation
    return [
        str(conversation.conversation_id),
        conversation.session_id,
        conversation.client,
        conversation.relation.value,
        overview.message_count,
        overview.summary_count,
        overview.context_tokens,
        shown_time(overview.last_at),
        conversation.title,
    ]
