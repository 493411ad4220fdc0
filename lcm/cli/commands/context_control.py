"""`lcm context exclude`, `include` and `log`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import click

from lcm.cli.options import json_option, project_option
from lcm.cli.output import print_json, say, shown_count, shown_time, write
from lcm.cli.projects import by_project, print_project
from lcm.cli.running import run, session
from lcm.cli.tables import Column, print_table
from lcm.composition.build import build_scrubber
from lcm.composition.lookup import find_in_one
from lcm.domain.context import AuditAction
from lcm.domain.messages import Message
from lcm.engine.context_control import (
    AuditEntry,
    ContextChange,
    exclude_message,
    find_named_message,
    include_message,
    list_audits,
)
from lcm.retrieval.identify import find_message, names_message, resolve_conversation
from lcm.storage.contracts.project import ProjectStorage

_reason_option = click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept, without secrets.")
_conversation_option = click.option(
    "--conversation",
    metavar="ID",
    help="Whose context: one that is based on the message's own conversation. Default: its own.",
)


@click.command("exclude")
@click.argument("identifier", metavar="ID")
@_reason_option
@_conversation_option
@project_option
@json_option
def exclude(identifier: str, reason: str, conversation: str | None, selector: str | None, as_json: bool) -> None:
    """Take message ID (3:17) out of the context, with the other half of its tool calls. Nothing is deleted.

    It stays stored, searchable and verified. What was compacted already, and a summary itself, cannot be taken out.
    """
    _act(exclude_message, identifier, reason, conversation, selector=selector, as_json=as_json)


@click.command("include")
@click.argument("identifier", metavar="ID")
@_reason_option
@_conversation_option
@project_option
@json_option
def include(identifier: str, reason: str, conversation: str | None, selector: str | None, as_json: bool) -> None:
    """Put message ID (3:17), which was excluded by hand, back where it stood, with what went along with it."""
    _act(include_message, identifier, reason, conversation, selector=selector, as_json=as_json)


def _act(
    action: Callable[..., Awaitable[ContextChange]],
    identifier: str,
    reason: str,
    conversation: str | None,
    *,
    selector: str | None,
    as_json: bool,
) -> None:
    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
            project, message = await find_in_one(projects, lambda each: find_named_message(each, identifier))
            of = await resolve_conversation(project, conversation) if conversation is not None else None
            change = await action(
                project,
                message.message_id,
                reason,
                scrubber=build_scrubber(current.settings, project.root),
                conversation_id=of.conversation_id if of else None,
            )
        if as_json:
            print_json({"project_id": project.project_id, **_change_json(change)})
        else:
            _print_change(change)

    run(work)


def _change_json(change: ContextChange) -> dict[str, Any]:
    return {
        "action": change.action,
        "conversation_id": change.conversation_id,
        "reason": change.reason,
        "messages": [{"id": _place(each.message), "is_partner": each.is_partner} for each in change.messages],
        "context_tokens": change.context_tokens,
        "context_revision": change.context_revision,
        "still_shown_in": change.still_shown_in,
    }


def _print_change(change: ContextChange) -> None:
    is_out = change.action is AuditAction.EXCLUDE
    for each in change.messages:
        along = "  with it, as the other half of a tool call" if each.is_partner else ""
        tokens = shown_count(each.message.token_count, "token")
        write(f"{'out' if is_out else 'in':>3}  {_place(each.message)}  {each.message.role.value}  {tokens}{along}")
    say(f"The context of conversation {change.conversation_id} has {shown_count(change.context_tokens, 'token')} now.")
    for conversation_id in change.still_shown_in:
        say(f"Conversation {conversation_id} still shows it; add --conversation {conversation_id} for that one too.")


@click.command("log")
@click.argument("identifier", metavar="[ID]", required=False)
@project_option
@json_option
def log(identifier: str | None, selector: str | None, as_json: bool) -> None:
    """List what was taken out of contexts by hand and put back: all of it, or of one conversation or message ID."""

    async def work() -> None:
        async with session() as current:
            projects = await current.select(selector)
            if identifier is None:
                listed = [(project, each) for project in projects for each in await list_audits(project)]
            else:
                wanted = identifier
                project, entries = await find_in_one(projects, lambda each: _entries_of(each, wanted))
                listed = [(project, each) for each in entries]
        if as_json:
            print_json({"audits": [_entry_json(project, each) for project, each in listed]})
        else:
            _print_log(listed, many=len(projects) > 1)

    run(work)


async def _entries_of(project: ProjectStorage, identifier: str) -> list[AuditEntry]:
    if names_message(identifier):
        return await list_audits(project, message_id=(await find_message(project, identifier)).message_id)
    conversation = await resolve_conversation(project, identifier)
    return await list_audits(project, conversation_id=conversation.conversation_id)


def _entry_json(project: ProjectStorage, entry: AuditEntry) -> dict[str, Any]:
    return {
        "project_id": project.project_id,
        "created_at": entry.created_at,
        "action": entry.action,
        "conversation_id": entry.conversation_id,
        "message": _place(entry.message),
        "reason": entry.reason,
        "exclusion_before": entry.exclusion_before,
    }


def _print_log(listed: list[tuple[ProjectStorage, AuditEntry]], *, many: bool) -> None:
    if not listed:
        say("Nothing was excluded or put back by hand.")
    for project, group in by_project(listed):
        if many:
            print_project(project)
        print_table(_COLUMNS, [_row(each) for each in group])


_COLUMNS = (
    Column("time"),
    Column("action"),
    Column("message"),
    Column("context", drop=2),
    Column("role", drop=1),
    Column("reason", may_shrink=True),
)


def _row(entry: AuditEntry) -> list[object]:
    return [
        shown_time(entry.created_at),
        entry.action.value,
        _place(entry.message),
        str(entry.conversation_id),
        entry.message.role.value,
        entry.reason,
    ]


def _place(message: Message) -> str:
    return f"{message.conversation_id}:{message.seq}"
