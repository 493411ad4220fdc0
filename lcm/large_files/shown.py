"""Messages as they are summarized: below the reference to a file stands what the file holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lcm.domain.messages import Message
from lcm.large_files.reference import referenced_files, with_summaries
from lcm.storage.contracts.large_files import LargeFileRepository


async def exploration_summaries(files: LargeFileRepository, texts: Iterable[str]) -> dict[str, str]:
    """Exploration summaries by id of the files that are referred to, in order of first reference.

    Files stored without a summary are left out.
    """
    wanted = list(dict.fromkeys(file_id for text in texts for file_id in referenced_files(text)))
    if not wanted:
        return {}
    stored = {each.file_id: each.exploration_summary for each in await files.list_by_id(wanted)}
    return {file_id: summary for file_id in wanted if (summary := stored.get(file_id))}


async def with_file_summaries(files: LargeFileRepository, messages: Sequence[Message]) -> list[Message]:
    """The messages with each file's summary below the first reference to it; spans of parts hold no more."""
    summaries = await exploration_summaries(files, (message.content for message in messages))
    if not summaries:
        return list(messages)
    shown = []
    for message in messages:
        own = {file_id: summaries.pop(file_id) for file_id in referenced_files(message.content) if file_id in summaries}
        shown.append(replace(message, content=with_summaries(message.content, own)) if own else message)
    return shown
