"""Search the text of stored files: which files are in scope, where each stands, and the first line that matches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lcm.domain.large_files import LargeFile
from lcm.domain.messages import Role
from lcm.errors import StorageError, UnknownFile
from lcm.large_files.reference import referenced_files
from lcm.large_files.scan import FileSearch, LineMatch, ScanBudget, find_in_file
from lcm.large_files.store import open_bytes
from lcm.storage.contracts.lexical_search import SearchFilters, TextRow
from lcm.storage.contracts.project import ProjectStorage

_MAX_BYTES = 400_000_000
_MAX_SECONDS = 10.0
_REFERENCE_START = "[lcm file file_"
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Mention:
    """The earliest message of the scope that refers to a file; `seq` and `role` are None when none does."""

    conversation_id: int
    session_id: str
    occurred_at: datetime
    seq: int | None = None
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that matches, where it stands, and its first matching line."""

    file: LargeFile
    mention: Mention
    match: LineMatch


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Matching files, newest first; `is_complete`: all of every file in scope that is text was looked at."""

    files: tuple[FoundFile, ...]
    is_complete: bool


async def grep_files(project: ProjectStorage, wanted: FileSearch, filters: SearchFilters) -> FoundFiles:
    """Look through every stored file that a message within the filters refers to; without filters, through every file.

    The time of a file is that of the earliest such message. Files whose bytes are gone make the answer incomplete.
    """
    scope = await _files_in_scope(project, filters)
    budget = ScanBudget(_MAX_BYTES, _MAX_SECONDS)
    found: list[FoundFile] = []
    is_complete = True
    for file, mention in scope:
        if budget.is_spent:
            return FoundFiles(tuple(found), is_complete=False)
        try:
            match = await asyncio.to_thread(_find, project.files_folder, file, wanted, budget)
        except (UnknownFile, StorageError):
            is_complete = False
            continue
        if match is not None:
            found.append(FoundFile(file, mention, match))
        elif budget.is_spent:
            is_complete = False
    return FoundFiles(tuple(found), is_complete)


def _find(folder: Path, file: LargeFile, wanted: FileSearch, budget: ScanBudget) -> LineMatch | None:
    with open_bytes(folder, file) as stream:
        return find_in_file(stream, wanted, budget)


async def _files_in_scope(project: ProjectStorage, filters: SearchFilters) -> list[tuple[LargeFile, Mention]]:
    """Newest first, then by file id."""
    files = await project.large_files.list_files()
    mentions = await _mentions(project, filters) if files else {}
    scope = [(file, mentions[file.file_id]) for file in files if file.file_id in mentions]
    if filters == SearchFilters():
        sessions = {each.conversation_id: each.session_id for each in await project.conversations.list_conversations()}
        scope += [
            (file, Mention(file.conversation_id, sessions.get(file.conversation_id, ""), file.created_at))
            for file in files
            if file.file_id not in mentions
        ]
    return sorted(scope, key=lambda each: (-each[1].occurred_at.timestamp(), each[0].file_id))


async def _mentions(project: ProjectStorage, filters: SearchFilters) -> Mapping[str, Mention]:
    """By file id; one scan of the messages with a reference, whatever the number of files."""
    found: dict[str, Mention] = {}
    before_id = None
    while True:
        rows = await project.lexical_search.scan_messages([_REFERENCE_START], filters, before_id=before_id, limit=_PAGE)
        for row in rows:
            _note(found, row)
        if len(rows) < _PAGE:
            return found
        before_id = rows[-1].row_id


def _note(found: dict[str, Mention], row: TextRow) -> None:
    if row.occurred_at is None:
        return
    for file_id in referenced_files(row.content):
        known = found.get(file_id)
        if known is None or row.occurred_at <= known.occurred_at:  # rows come newest id first
            found[file_id] = Mention(row.conversation_id, row.session_id, row.occurred_at, row.seq, row.role)
