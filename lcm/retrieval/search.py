"""Find messages and summaries by a plain-language query: the index preselects, one relevance orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lcm.domain.messages import Role
from lcm.errors import InvalidInput, OutOfRange
from lcm.rendering.xml import timestamp
from lcm.retrieval.relevance import Query, Scored, score
from lcm.retrieval.snippet import place_of, snippet_at
from lcm.retrieval.terms import QueryTerms, parse_query
from lcm.storage.contracts.lexical_search import LexicalSearchRepository, Preselection, SearchFilters, TextKind, TextRow
from lcm.storage.contracts.project import ProjectStorage

MAX_LIMIT = 1_000
ALL_LAYERS = frozenset(TextKind)
NO_FILTERS = SearchFilters()
_PRESELECTED = 100
#: Of a text that only holds the letters of the query, not its words.
_SUBSTRING_RELEVANCE = 0.3
_MAX_LITERAL_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message or summary that answers the query.

    Attributes:
        id: `conversation_id:seq` of a message, the summary id of a summary.
        relevance: 0..1, comparable within one answer and between equal texts anywhere.
        snippet: one line of at most 200 code points around the best place.
    """

    kind: TextKind
    id: str
    conversation_id: int
    session_id: str
    occurred_at: datetime | None
    snippet: str
    relevance: float
    seq: int | None = None
    role: Role | None = None
    summary_id: str | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits by descending relevance, then newest first.

    Attributes:
        scope: what was searched, in words.
        complete: every text that may match was considered; False when only the best of the index (or the newest of a
            scan) were.
        considered: how many texts of each kind were scored.
    """

    hits: tuple[SearchHit, ...]
    scope: str
    complete: bool
    considered: Mapping[TextKind, int]


async def search(
    project: ProjectStorage,
    query: str,
    *,
    limit: int = 5,
    filters: SearchFilters = NO_FILTERS,
    layers: frozenset[TextKind] = ALL_LAYERS,
) -> SearchAnswer:
    """Messages and summaries that answer a query; any text is a valid query.

    Texts with all words come before texts with some; when the index has neither, texts that hold the query's letters
    are found by a scan. A quarter of the places is kept for each kind, so that neither crowds out the other.

    Raises:
        InvalidInput: the query is empty or blank, or a time without zone.
        OutOfRange: a limit outside 1..1000.
    """
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise OutOfRange("limit", f"1 to {MAX_LIMIT}")
    if not query.strip():
        raise InvalidInput("The search query is empty.")
    if not layers:
        raise InvalidInput("Name at least one layer to search.")
    require_zones(filters)
    found = await _find(project.lexical_search, query, filters, layers, max(_PRESELECTED, limit))
    return SearchAnswer(
        hits=tuple(_hit(row, result) for row, result in _best(found.scored, limit)),
        scope=scope_text(project, filters, layers),
        complete=found.is_complete,
        considered=found.considered,
    )


def require_zones(filters: SearchFilters) -> None:
    """Raises `InvalidInput` for a time without zone: it would mean another moment on another machine."""
    if any(at is not None and at.tzinfo is None for at in (filters.since, filters.until)):
        raise InvalidInput("A time needs its zone, for example 2026-02-17T07:37:00Z.")


def scope_text(project: ProjectStorage, filters: SearchFilters, layers: frozenset[TextKind]) -> str:
    """What is searched, for example `messages and summaries of project demo, session s1`."""
    kinds = " and ".join({TextKind.MESSAGE: "messages", TextKind.SUMMARY: "summaries"}[kind] for kind in sorted(layers))
    limits = (
        ("conversation", filters.conversation_id),
        ("session", filters.session_id),
        ("since", filters.since and timestamp(filters.since)),
        ("until", filters.until and timestamp(filters.until)),
    )
    words = [f"{name} {value}" for name, value in limits if value is not None]
    return ", ".join([f"{kinds} of project {project.display_name}", *words])


@dataclass(frozen=True, slots=True)
class _Found:
    """Scored rows in the order of the answer, and how many of each kind."""

    scored: Sequence[tuple[TextRow, Scored]]
    is_complete: bool
    considered: Mapping[TextKind, int]


async def _find(
    index: LexicalSearchRepository, query: str, filters: SearchFilters, layers: frozenset[TextKind], limit: int
) -> _Found:
    """By the index, or when it gives nothing by a scan."""
    terms = parse_query(query)
    prepared = Query.of(terms)
    selections = {kind: await _preselect(index, kind, terms, filters, limit) for kind in sorted(layers)}
    rows = [row for selection in selections.values() for row in selection.rows]
    scored = [(row, score(prepared, row.content)) for row in rows]
    if not rows:
        literals = _literals(query, terms)
        selections = {kind: await _scan(index, kind, literals, filters, limit) for kind in sorted(layers)}
        rows = [row for selection in selections.values() for row in selection.rows]
        scored = [(row, _score_scanned(prepared, row.content, literals)) for row in rows]
    return _Found(
        scored=sorted(scored, key=_order),
        is_complete=all(selection.is_complete for selection in selections.values()),
        considered={kind: len(selection.rows) for kind, selection in selections.items()},
    )


async def _preselect(
    index: LexicalSearchRepository, kind: TextKind, terms: QueryTerms, filters: SearchFilters, limit: int
) -> Preselection:
    """Rows with all terms, then rows with any, until the limit."""
    if terms.is_empty:
        return Preselection((), is_complete=True)
    match = index.match_messages if kind is TextKind.MESSAGE else index.match_summaries
    strict = await match(terms.match_all(), filters, limit=limit)
    if len(strict.rows) == limit:
        return strict
    loose = await match(terms.match_any(), filters, limit=limit)
    rows = {row.row_id: row for row in (*strict.rows, *loose.rows)}
    return Preselection(tuple(rows.values())[:limit], is_complete=loose.is_complete and len(rows) <= limit)


async def _scan(
    index: LexicalSearchRepository, kind: TextKind, literals: Sequence[str], filters: SearchFilters, limit: int
) -> Preselection:
    """The newest rows that contain every literal."""
    if not literals:
        return Preselection((), is_complete=True)
    scan = index.scan_messages if kind is TextKind.MESSAGE else index.scan_summaries
    rows = await scan(literals, filters, before_id=None, limit=limit + 1)
    return Preselection(tuple(rows[:limit]), is_complete=len(rows) <= limit)


def _literals(query: str, terms: QueryTerms) -> list[str]:
    """What a scan looks for: the words, or the query as typed when it has none."""
    words = [*terms.words, *(word for phrase in terms.phrases for word in phrase), *terms.cjk]
    typed = "".join(character for character in query.strip() if character != "\0" and not _is_surrogate(character))
    return [word[:_MAX_LITERAL_CHARS] for word in words] or [typed[:_MAX_LITERAL_CHARS]] * bool(typed)


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _score_scanned(query: Query, text: str, literals: Sequence[str]) -> Scored:
    result = score(query, text)
    if result.relevance >= _SUBSTRING_RELEVANCE:
        return result
    return Scored(_SUBSTRING_RELEVANCE, place_of(text, literals))


def _order(scored: tuple[TextRow, Scored]) -> tuple[float, float, str, int]:
    row, result = scored
    newest_first = -row.occurred_at.timestamp() if row.occurred_at else float("inf")
    return (-result.relevance, newest_first, row.kind, row.row_id)


def _best(scored: Sequence[tuple[TextRow, Scored]], limit: int) -> list[tuple[TextRow, Scored]]:
    """The first of each kind, a quarter of the places each, then the most relevant of all; in order."""
    kept: set[int] = set()
    for kind in TextKind:
        kept.update([at for at, (row, _) in enumerate(scored) if row.kind is kind][: limit // 4])
    for at in range(len(scored)):
        if len(kept) >= limit:
            break
        kept.add(at)
    return [scored[at] for at in sorted(kept)]


def _hit(row: TextRow, result: Scored) -> SearchHit:
    return SearchHit(
        kind=row.kind,
        id=text_id(row),
        conversation_id=row.conversation_id,
        session_id=row.session_id,
        occurred_at=row.occurred_at,
        snippet=snippet_at(row.content, result.best_at),
        relevance=result.relevance,
        seq=row.seq,
        role=row.role,
        summary_id=row.summary_id,
        depth=row.depth,
    )


def text_id(row: TextRow) -> str:
    """What a person types to see the text: `conversation_id:seq` or the summary id."""
    return row.summary_id or f"{row.conversation_id}:{row.seq}"
