"""`lcm describe`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click

from lcm.cli import exit_codes
from lcm.cli.options import WholeNumber, json_option, project_option
from lcm.cli.output import jsonable, print_json, say, shown_time, write, write_fact
from lcm.cli.running import run, session
from lcm.composition.lookup import find_in_one
from lcm.errors import InvalidInput
from lcm.large_files.pages import (
    DEFAULT_CHARS,
    DEFAULT_LINES,
    MAX_CHARS,
    MAX_LINES,
    MIN_CHARS,
    FilePage,
    PageSize,
    Place,
    parse_place,
)
from lcm.retrieval.describe import (
    ConversationDescription,
    Description,
    FileDescription,
    MessageDescription,
    SummaryDescription,
    describe,
)


class FilePlace(click.ParamType[Place]):
    """A place in a stored file: `120` is a line, `1:20001` a character of it."""

    name = "PLACE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        if isinstance(value, Place):
            return value
        try:
            return parse_place(value)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


@click.command("describe")
@click.argument("identifier", metavar="ID")
@click.option(
    "--from", "start", type=FilePlace(), default="1", help="Where a file's page starts: LINE or LINE:CHARACTER."
)
@click.option(
    "--lines",
    type=WholeNumber(MAX_LINES),
    default=DEFAULT_LINES,
    show_default=True,
    help="Most lines of a file's page.",
)
@click.option(
    "--chars",
    type=WholeNumber(MAX_CHARS, minimum=MIN_CHARS),
    default=DEFAULT_CHARS,
    show_default=True,
    help="Most characters of a file's page; a longer line is continued by the next page.",
)
@project_option
@json_option
def command(identifier: str, start: Place, lines: int, chars: int, selector: str | None, as_json: bool) -> None:
    """Show everything about one ID: a summary (sum_...), a file (file_...), a conversation, or a message (3:17).

    Of a file also its content, a page at a time; the last line tells how to get the next one.
    """

    async def work() -> int:
        async with session() as current:
            projects = await current.select(selector)
            page_size = PageSize(lines, chars)
            project, found = await find_in_one(
                projects, lambda each: describe(each, identifier, start=start, page_size=page_size)
            )
        if as_json:
            print_json({"project_id": project.project_id, **jsonable(found)})
        else:
            _print(found)
        if isinstance(found, FileDescription) and found.problem:
            say(f"lcm: {found.problem}")
            return exit_codes.FAILURE
        return exit_codes.DONE

    run(work)


def _print(found: Description) -> None:
    for name, value in _facts(found):
        write_fact(name, str(value))
    for text in _texts(found):
        write("")
        write(text)
    if isinstance(found, FileDescription) and found.page:
        _say_what_follows(found.file.file_id, found.page)


def _say_what_follows(file_id: str, page: FilePage) -> None:
    if page.encoding is None:
        say("This file is no text; only its first bytes are shown.")
    elif page.next:
        say(f"The next page: lcm describe {file_id} --from {page.next}")


def _facts(found: Description) -> list[tuple[str, Any]]:
    match found:
        case SummaryDescription(summary=summary):
            return [
                ("summary", summary.summary_id),
                ("kind", f"{summary.kind.value}, depth {summary.depth}"),
                ("covers", f"{shown_time(summary.earliest_at)} to {shown_time(summary.latest_at)}"),
                ("tokens", f"{summary.token_count:,} for {summary.source_message_token_count:,} of messages"),
                ("below it", f"{summary.descendant_count:,} summaries"),
                ("written by", f"{summary.origin.value} ({summary.level.value}, {summary.model or 'no model'})"),
                ("made from", ", ".join([*found.source_ids, *_ranges(found.message_ids)]) or "-"),
                ("merged into", ", ".join(found.upper_ids) or "-"),
                ("files", ", ".join(summary.file_ids) or "-"),
            ]
        case FileDescription(file=file):
            return [
                ("file", file.file_id),
                ("name", file.file_name or "-"),
                ("type", file.mime_type or "-"),
                ("size", f"{file.size_bytes:,} bytes"),
                ("sha256", file.content_sha256.hex()),
                ("stored as", file.storage_uri),
            ]
        case ConversationDescription(overview=overview):
            conversation = overview.conversation
            return [
                ("conversation", conversation.conversation_id),
                ("key", conversation.conversation_key),
                ("session", conversation.session_id),
                ("title", conversation.title or "-"),
                ("relation", conversation.relation.value),
                ("messages", f"{overview.message_count:,}"),
                ("summaries", f"{overview.summary_count:,}"),
                ("context", f"{overview.context_tokens:,} of {overview.raw_tokens:,} tokens"),
                ("time", f"{shown_time(overview.first_at)} to {shown_time(overview.last_at)}"),
            ]
        case MessageDescription(message=message):
            return [
                ("message", f"{message.conversation_id}:{message.seq}"),
                ("role", message.role.value),
                ("time", shown_time(message.occurred_at)),
                ("tokens", f"{message.token_count:,}"),
                ("parts", ", ".join(part.part_type.value for part in found.parts) or "-"),
                ("out of context", message.exclusion.value if message.exclusion else "no"),
                ("key", message.ingest_key.hex()),
            ]


def _ranges(message_ids: Sequence[str]) -> list[str]:
    """`3:4 to 3:9` for messages that follow each other."""
    places = [(each.partition(":")[0], int(each.partition(":")[2])) for each in message_ids]
    ranges = []
    for _, group in groupby(enumerate(places), key=lambda each: (each[1][0], each[1][1] - each[0])):
        (conversation, first), *rest = [place for _, place in group]
        ranges.append(f"{conversation}:{first}" + (f" to {conversation}:{rest[-1][1]}" if rest else ""))
    return ranges


def _texts(found: Description) -> list[str]:
    match found:
        case SummaryDescription(summary=summary):
            texts = [summary.content]
        case MessageDescription(message=message, parts=parts):
            texts = [*(part.text for part in parts if part.text), message.content]
        case FileDescription(exploration_summary=summary, page=page):
            texts = [summary or "", page.text.removesuffix("\n") if page else ""]
        case _:
            texts = []
    return [text for text in texts if text]
