"""Find texts and files by what they literally contain, or by a regular expression; every one is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lcm.domain.messages import Role
from lcm.errors import InvalidInput, OutOfRange
from lcm.large_files.scan import FileSearch
from lcm.retrieval.grep_files import FoundFile, grep_files
from lcm.retrieval.regex_batches import RegexBatches
from lcm.retrieval.regex_literals import required_literals
from lcm.retrieval.search import MAX_LIMIT, require_zones, scope_text, text_id
from lcm.retrieval.snippet import place_of, snippet_at
from lcm.storage.contracts.lexical_search import (
    LexicalSearchRepository,
    Matches,
    MatchTexts,
    SearchFilters,
    TextKind,
    TextRow,
)
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import require_safe

MAX_PATTERN_CHARS = 10_000
#: A scan ends after this much text was given to the pattern; literals that preselect make it rare.
_MAX_EXAMINED_BYTES = 400_000_000
_MAX_LITERALS = 32
_TYPED = re.compile(r'"([^"]+)"|(\S+)')

#: Where a text matches (code points), None when it does not.
Matcher = Callable[[str], int | None]


class GrepMode(StrEnum):
    FULL_TEXT = "full-text"
    REGEX = "regex"


class GrepScope(StrEnum):
    MESSAGES = "messages"
    SUMMARIES = "summaries"
    BOTH = "both"
    FILES = "files"
    ALL = "all"


class HitKind(StrEnum):
    MESSAGE = "message"
    SUMMARY = "summary"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class GrepHit:
    """A matching text or file.

    Attributes:
        id: `conversation_id:seq` of a message, the summary id, the file id.
        conversation_id, session_id, occurred_at, seq, role: of a file those of the earliest message in scope that
            refers to it.
        snippet: one line. line: of a file, the number of its first matching line, from 1.
    """

    kind: HitKind
    id: str
    conversation_id: int
    session_id: str
    occurred_at: datetime | None
    snippet: str
    seq: int | None = None
    role: Role | None = None
    summary_id: str | None = None
    depth: int | None = None
    file_name: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class GrepAnswer:
    """The newest matches first.

    Attributes:
        match_count: all matches found, also those beyond the limit.
        scope: what was searched, in words.
        complete: every text in scope was looked at, and all of every file in scope.
    """

    hits: tuple[GrepHit, ...]
    match_count: int
    scope: str
    complete: bool


@dataclass(frozen=True, slots=True)
class _Search:
    """What to look for: literals that the store preselects by, and the tests that decide, of one text and of many."""

    literals: Sequence[str]
    match: Matcher
    match_texts: MatchTexts
    is_regex: bool = False

    @property
    def in_files(self) -> FileSearch:
        return FileSearch(tuple(self.literals), self.match if self.is_regex else None)


async def grep(
    project: ProjectStorage,
    pattern: str,
    *,
    mode: GrepMode = GrepMode.FULL_TEXT,
    scope: GrepScope = GrepScope.BOTH,
    since: datetime | None = None,
    conversation_id: int | None = None,
    session_id: str | None = None,
    limit: int = 50,
) -> GrepAnswer:
    """Texts that match, newest first.

    Full text: every word, or text in double quotes, occurs as typed; ASCII letters match either case. Regex: RE2
    syntax, case as typed, in time linear in the text; in a file it is looked for line by line. `since` is inclusive and
    needs a zone.

    Raises:
        InvalidInput: the pattern is empty, too long or not valid; a time without zone.
        OutOfRange: a limit outside 1..1000.
    """
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise OutOfRange("limit", f"1 to {MAX_LIMIT}")
    filters = SearchFilters(conversation_id=conversation_id, session_id=session_id, since=since)
    require_zones(filters)
    wanted = _regex_search(pattern) if mode is GrepMode.REGEX else _full_text_search(pattern)
    kinds = _KINDS[scope]
    found = [await _find(project.lexical_search, kind, wanted, filters, limit) for kind in sorted(kinds)]
    hits = [_hit(row, wanted.match(row.content) or 0) for each in found for row in each.rows]
    match_count, is_complete = sum(each.count for each in found), all(each.is_complete for each in found)
    if scope in _WITH_FILES:
        files = await grep_files(project, wanted.in_files, filters)
        hits += [_file_hit(each) for each in files.files]
        match_count += len(files.files)
        is_complete = is_complete and files.is_complete
    return GrepAnswer(
        hits=tuple(sorted(hits, key=_newest_hit_first)[:limit]),
        match_count=match_count,
        scope=_scope_text(project, filters, scope),
        complete=is_complete,
    )


_KINDS: dict[GrepScope, frozenset[TextKind]] = {
    GrepScope.MESSAGES: frozenset({TextKind.MESSAGE}),
    GrepScope.SUMMARIES: frozenset({TextKind.SUMMARY}),
    GrepScope.BOTH: frozenset(TextKind),
    GrepScope.FILES: frozenset(),
    GrepScope.ALL: frozenset(TextKind),
}
_WITH_FILES = (GrepScope.FILES, GrepScope.ALL)


def _scope_text(project: ProjectStorage, filters: SearchFilters, scope: GrepScope) -> str:
    words = scope_text(project, filters, _KINDS[scope])
    if scope is GrepScope.FILES:
        return f"files{words}"
    return (
        words.replace("messages and summaries", "messages, summaries and files", 1) if scope in _WITH_FILES else words
    )


def _require_pattern(pattern: str) -> None:
    require_safe("pattern", pattern)
    if not pattern.strip():
        raise InvalidInput("The pattern is empty.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidInput(f"The pattern is longer than {MAX_PATTERN_CHARS} characters.")


def _full_text_search(pattern: str) -> _Search:
    _require_pattern(pattern)
    literals = list(dict.fromkeys(quoted or word for quoted, word in _TYPED.findall(pattern)))[:_MAX_LITERALS]
    return _Search(literals, lambda text: place_of(text, literals), lambda texts: range(len(texts)))


def _regex_search(pattern: str) -> _Search:
    _require_pattern(pattern)
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        raise InvalidInput("The pattern is not a valid RE2 expression, or needs too much memory.") from None

    def match(text: str) -> int | None:
        found = compiled.search(text)
        return None if found is None else int(found.start())

    return _Search(required_literals(pattern), match, RegexBatches(pattern, options).match_texts, is_regex=True)


async def _find(
    index: LexicalSearchRepository, kind: TextKind, wanted: _Search, filters: SearchFilters, limit: int
) -> Matches:
    """The newest matches by the times of the texts, whatever the order of storing."""
    return await index.find_newest(
        kind, wanted.literals, filters, wanted.match_texts, limit=limit, max_bytes=_MAX_EXAMINED_BYTES
    )


def _newest_hit_first(hit: GrepHit) -> tuple[float, str]:
    """Hits of one kind are in order already."""
    return (-hit.occurred_at.timestamp() if hit.occurred_at else float("inf"), hit.kind)


def _hit(row: TextRow, place: int) -> GrepHit:
    return GrepHit(
        kind=HitKind(row.kind),
        id=text_id(row),
        conversation_id=row.conversation_id,
        session_id=row.session_id,
        occurred_at=row.occurred_at,
        snippet=snippet_at(row.content, place),
        seq=row.seq,
        role=row.role,
        summary_id=row.summary_id,
        depth=row.depth,
    )


def _file_hit(found: FoundFile) -> GrepHit:
    return GrepHit(
        kind=HitKind.FILE,
        id=found.file.file_id,
        conversation_id=found.mention.conversation_id,
        session_id=found.mention.session_id,
        occurred_at=found.mention.occurred_at,
        snippet=snippet_at(found.match.text, found.match.place),
        seq=found.mention.seq,
        role=found.mention.role,
        file_name=found.file.file_name,
        line=found.match.line,
    )
