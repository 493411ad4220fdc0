"""`lcm conversations`."""

from __future__ import annotations

from typing import Any

import click

from lcm.cli.options import json_option, project_option
from lcm.cli.output import print_json, shown_time, write
from lcm.cli.projects import by_project, print_project
from lcm.cli.running import run, session
from lcm.cli.tables import Column, print_table
from lcm.domain.conversations import ConversationOverview
from lcm.storage.contracts.project import ProjectStorage


@click.command("conversations")
@project_option
@json_option
def command(selector: str | None, as_json: bool) -> None:
    """List the stored conversations with their figures, oldest first."""

    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
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
        write("No conversations yet; `lcm import` brings them in.")
    for project, group in by_project(listed):
        if many:
            print_project(project)
        print_table(_COLUMNS, [_row(each) for each in group])


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
