"""Tell what an id names: a summary with its lineage, a stored file, a conversation, or a message with its parts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from lcm.domain.conversations import ConversationOverview
from lcm.domain.large_files import LargeFile
from lcm.domain.messages import Message, MessagePart
from lcm.domain.summaries import Summary, SummaryKind
from lcm.errors import AmbiguousId, InvalidInput, StorageError, UnknownConversation, UnknownFile, UnknownSummary
from lcm.ids import FILE_PREFIX, SUMMARY_PREFIX
from lcm.large_files.pages import FilePage, PageSize, Place, read_page
from lcm.large_files.store import open_bytes
from lcm.retrieval.identify import MIN_PREFIX_CHARS, find_message, names_message, resolve_conversation
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import require_safe

_MAX_CANDIDATES = 20
_FIRST_PLACE = Place()
_USUAL_PAGE = PageSize()


@dataclass(frozen=True, slots=True)
class LevelOverview:
    """The summaries of one depth below a summary."""

    depth: int
    summaries: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SummaryDescription:
    """A summary and its place in the DAG.

    Attributes:
        source_ids: the summaries it was made from, in order; empty for a leaf.
        message_ids: `conversation_id:seq` of the messages a leaf was made from, in order.
        upper_ids: the summaries made from it.
        levels: the whole subtree by depth, deepest summaries last (a leaf has none).
    """

    summary: Summary
    source_ids: tuple[str, ...]
    message_ids: tuple[str, ...]
    upper_ids: tuple[str, ...]
    levels: tuple[LevelOverview, ...]
    kind: str = field(default="summary", init=False)


@dataclass(frozen=True, slots=True)
class FileDescription:
    """A stored file and a page of it.

    Attributes:
        exploration_summary: what it holds in about 200 tokens, from its row or, for one stored without, made now.
        page: the asked piece of its content; None when the bytes cannot be read.
        problem: why they cannot be read, one safe line; None when they can.
    """

    file: LargeFile
    exploration_summary: str | None = None
    page: FilePage | None = None
    problem: str | None = None
    kind: str = field(default="file", init=False)


@dataclass(frozen=True, slots=True)
class ConversationDescription:
    """A conversation with its figures."""

    overview: ConversationOverview
    kind: str = field(default="conversation", init=False)


@dataclass(frozen=True, slots=True)
class MessageDescription:
    """A message to the last detail."""

    message: Message
    parts: tuple[MessagePart, ...]
    kind: str = field(default="message", init=False)


Description = SummaryDescription | FileDescription | ConversationDescription | MessageDescription


async def describe(
    project: ProjectStorage, identifier: str, *, start: Place = _FIRST_PLACE, page_size: PageSize = _USUAL_PAGE
) -> Description:
    """What an id names. Summary, file, session and conversation ids may be shortened to a unique beginning.

    Forms: `sum_...`, `file_...`, `conversation_id:seq` or the 64 digits of an ingest key for a message, and everything
    that `resolve_conversation` takes. Of a file also a page of its content, from `start`.

    Raises:
        OutOfRange: a page size outside its limits.
        UnknownSummary, UnknownFile, UnknownMessage, UnknownConversation.
        AmbiguousId: a beginning of several ids; lists them.
    """
    require_safe("identifier", identifier)
    wanted = identifier.strip()
    if not wanted:
        raise InvalidInput("The id is empty.")
    if wanted.startswith(SUMMARY_PREFIX):
        return await _describe_summary(project, await resolve_summary(project, wanted))
    if wanted.startswith(FILE_PREFIX):
        return await _describe_file(project, await _resolve_file(project, wanted), start, page_size)
    if names_message(wanted):
        message = await find_message(project, wanted)
        parts = await project.conversations.list_parts([message.message_id])
        return MessageDescription(message, parts.get(message.message_id, ()))
    return await _describe_conversation(project, wanted)


async def resolve_summary(project: ProjectStorage, text: str) -> Summary:
    """The summary with this id, or the only one whose id starts with it (4 characters behind `sum_`).

    Raises:
        UnknownSummary, AmbiguousId.
    """
    try:
        return await project.summaries.get_summary(text)
    except UnknownSummary:
        if len(text) < len(SUMMARY_PREFIX) + MIN_PREFIX_CHARS:
            raise
    found = await project.summaries.find_by_prefix(text, limit=_MAX_CANDIDATES)
    if not found:
        raise UnknownSummary
    if len(found) > 1:
        raise AmbiguousId(tuple(each.summary_id for each in found))
    return found[0]


async def _resolve_file(project: ProjectStorage, text: str) -> LargeFile:
    try:
        return await project.large_files.get_file(text)
    except UnknownFile:
        if len(text) < len(FILE_PREFIX) + MIN_PREFIX_CHARS:
            raise
    found = await project.large_files.find_by_prefix(text, limit=_MAX_CANDIDATES)
    if not found:
        raise UnknownFile
    if len(found) > 1:
        raise AmbiguousId(tuple(each.file_id for each in found))
    return found[0]


async def _describe_file(
    project: ProjectStorage, file: LargeFile, start: Place, page_size: PageSize
) -> FileDescription:
    page_size.validate()
    try:
        return await asyncio.to_thread(_read_file, project.files_folder, file, start, page_size)
    except (UnknownFile, StorageError) as error:
        return FileDescription(file, file.exploration_summary, problem=str(error))


def _read_file(folder: Path, file: LargeFile, start: Place, page_size: PageSize) -> FileDescription:
    with open_bytes(folder, file) as stream:
        summary = file.exploration_summary
        if summary is None:
            from lcm.large_files.explore.explorer import explore  # its parsers are rarely needed here

            summary = explore(stream, name=file.file_name, mime_type=file.mime_type)
        return FileDescription(file, summary, read_page(stream, start, page_size))


async def _describe_summary(project: ProjectStorage, summary: Summary) -> SummaryDescription:
    key = summary.summary_key
    is_leaf = summary.kind is SummaryKind.LEAF
    messages = await project.summaries.list_messages(key) if is_leaf else []
    return SummaryDescription(
        summary=summary,
        source_ids=tuple(each.summary_id for each in await project.summaries.list_children(key)),
        message_ids=tuple(f"{message.conversation_id}:{message.seq}" for message in messages),
        upper_ids=tuple(each.summary_id for each in await project.summaries.list_uppers(key)),
        levels=_levels([entry.summary for entry in await project.summaries.list_subtree(key)]),
    )


def _levels(summaries: list[Summary]) -> tuple[LevelOverview, ...]:
    by_depth: dict[int, list[int]] = {}
    for summary in summaries:
        by_depth.setdefault(summary.depth, []).append(summary.token_count)
    return tuple(
        LevelOverview(depth, len(tokens), sum(tokens)) for depth, tokens in sorted(by_depth.items(), reverse=True)
    )


async def _describe_conversation(project: ProjectStorage, wanted: str) -> ConversationDescription:
    conversation = await resolve_conversation(project, wanted)
    overviews = await project.conversations.list_overviews(conversation.conversation_id)
    if not overviews:
        raise UnknownConversation
    return ConversationDescription(overviews[0])
