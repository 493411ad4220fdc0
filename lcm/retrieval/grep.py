"""Find texts by what they literally contain, or by a regular expression; every stored text is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lcm.domain.messages import Role
from lcm.errors import InvalidInput, OutOfRange
from lcm.retrieval.regex_literals import required_literals
from lcm.retrieval.search import MAX_LIMIT, require_zones, scope_text, text_id
from lcm.retrieval.snippet import place_of, snippet_at
from lcm.storage.contracts.lexical_search import LexicalSearchRepository, SearchFilters, TextKind, TextRow
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import require_safe

MAX_PATTERN_CHARS = 10_000
_PAGE = 200
#: A scan ends after this much text was given to the pattern; literals that preselect make it rare.
_MAX_EXAMINED_CHARS = 400_000_000
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


@dataclass(frozen=True, slots=True)
class GrepHit:
    """A matching text; `id` is `conversation_id:seq` of a message or the summary id, `snippet` one line."""

    kind: TextKind
    id: str
    conversation_id: int
    session_id: str
    occurred_at: datetime | None
    snippet: str
    seq: int | None = None
    role: Role | None = None
    summary_id: str | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class GrepAnswer:
    """The newest matches first.

    Attributes:
        match_count: all matches found, also those beyond the limit.
        scope: what was searched, in words.
        complete: every text in scope was looked at.
    """

    hits: tuple[GrepHit, ...]
    match_count: int
    scope: str
    complete: bool


@dataclass(frozen=True, slots=True)
class _Search:
    """What to look for: literals that the store preselects by, and the test that decides."""

    literals: Sequence[str]
    match: Matcher


@dataclass(frozen=True, slots=True)
class _Found:
    """The newest matches as (row, place), at most as many as asked for, and the count of all."""

    newest: list[tuple[TextRow, int]]
    count: int
    is_complete: bool


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
    syntax, case as typed, in time linear in the text. `since` is inclusive and needs a zone.

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
    found = [await _scan(project.lexical_search, kind, wanted, filters, limit) for kind in sorted(kinds)]
    newest = sorted((match for each in found for match in each.newest), key=_newest_first)
    return GrepAnswer(
        hits=tuple(_hit(row, place) for row, place in newest[:limit]),
        match_count=sum(each.count for each in found),
        scope=scope_text(project, filters, kinds),
        complete=all(each.is_complete for each in found),
    )


_KINDS = {
    GrepScope.MESSAGES: frozenset({TextKind.MESSAGE}),
    GrepScope.SUMMARIES: frozenset({TextKind.SUMMARY}),
    GrepScope.BOTH: frozenset(TextKind),
}


def _require_pattern(pattern: str) -> None:
    require_safe("pattern", pattern)
    if not pattern.strip():
        raise InvalidInput("The pattern is empty.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidInput(f"The pattern is longer than {MAX_PATTERN_CHARS} characters.")


def _full_text_search(pattern: str) -> _Search:
    _require_pattern(pattern)
    literals = list(dict.fromkeys(quoted or word for quoted, word in _TYPED.findall(pattern)))[:_MAX_LITERALS]
    return _Search(literals, lambda text: place_of(text, literals))


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

    return _Search(required_literals(pattern), match)


async def _scan(
    index: LexicalSearchRepository, kind: TextKind, wanted: _Search, filters: SearchFilters, limit: int
) -> _Found:
    """Look at every preselected text, page by page: ids follow the order of storing, not the times of messages."""
    scan = index.scan_messages if kind is TextKind.MESSAGE else index.scan_summaries
    newest: list[tuple[TextRow, int]] = []
    before_id, count, examined = None, 0, 0
    while examined < _MAX_EXAMINED_CHARS:
        rows = await scan(wanted.literals, filters, before_id=before_id, limit=_PAGE)
        matches = [(row, place) for row in rows if (place := wanted.match(row.content)) is not None]
        count += len(matches)
        newest = sorted(newest + matches, key=_newest_first)[:limit]
        if len(rows) < _PAGE:
            return _Found(newest, count, is_complete=True)
        before_id = rows[-1].row_id
        examined += sum(len(row.content) for row in rows)
    return _Found(newest, count, is_complete=False)


def _newest_first(match: tuple[TextRow, int]) -> tuple[float, str, int]:
    row, _ = match
    return (-row.occurred_at.timestamp() if row.occurred_at else float("inf"), row.kind, -row.row_id)


def _hit(row: TextRow, place: int) -> GrepHit:
    return GrepHit(
        kind=row.kind,
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
