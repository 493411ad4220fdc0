"""Find messages and summaries by a plain-language query: the index preselects, one relevance orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lcm.domain.messages import Exclusion, Role
from lcm.errors import InvalidInput, OutOfRange
from lcm.rendering.xml import timestamp
from lcm.retrieval.relevance import Query, Reading, best_place, read, relevance
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
#: Instructions and notes that a client put in, its own summaries and second copies: found, but behind conversation.
_BACKGROUND = frozenset({Exclusion.META, Exclusion.CLIENT_SUMMARY, Exclusion.DUPLICATE})
_BACKGROUND_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message or summary that answers the query.

    Attributes:
        id: `conversation_id:seq` of a message, the summary id of a summary.
        relevance: 0..1, comparable between projects; equal for equal texts that stand beside equal ones.
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
            scan) were, or the query has more terms than are looked for.
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
    async with project.snapshot() as view:
        found = await _find(view.lexical_search, query, filters, layers, max(_PRESELECTED, limit))
    return SearchAnswer(
        hits=tuple(_hit(each, found) for each in _best(found.ranked, limit)),
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


#: Conversation id and seq of a message.
_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A row with its relevance; `reading` is missing for one that only holds the letters of the query."""

    row: TextRow
    relevance: float
    reading: Reading | None


@dataclass(frozen=True, slots=True)
class _Found:
    """Rows in the order of the answer, how many of each kind, and what they were ranked by."""

    ranked: Sequence[_Ranked]
    is_complete: bool
    considered: Mapping[TextKind, int]
    query: Query
    literals: Sequence[str]


async def _find(
    index: LexicalSearchRepository, query: str, filters: SearchFilters, layers: frozenset[TextKind], limit: int
) -> _Found:
    """By the index, or when it gives nothing by a scan."""
    terms = parse_query(query)
    prepared, literals = Query.of(terms), _literals(query, terms)
    selections = {kind: await _preselect(index, kind, terms, filters, limit) for kind in sorted(layers)}
    ranked = _rank(prepared, _rows(selections))
    if not ranked:
        selections = {kind: await _scan(index, kind, literals, filters, limit) for kind in sorted(layers)}
        ranked = [_at_least_letters(each) for each in _rank(prepared, _rows(selections))]
    return _Found(
        ranked=sorted(ranked, key=_order),
        is_complete=not terms.is_cut and all(selection.is_complete for selection in selections.values()),
        considered={kind: len(selection.rows) for kind, selection in selections.items()},
        query=prepared,
        literals=literals,
    )


def _rows(selections: Mapping[TextKind, Preselection]) -> list[TextRow]:
    return [row for selection in selections.values() for row in selection.rows]


def _rank(query: Query, rows: Sequence[TextRow]) -> list[_Ranked]:
    """Each row read with its neighbours in the conversation, as far as these were found too."""
    readings = [read(query, row.content) for row in rows]
    by_place: dict[_Place, Reading] = {
        (row.conversation_id, row.seq): reading
        for row, reading in zip(rows, readings, strict=True)
        if row.seq is not None and reading.has_any
    }
    ranked = []
    for row, reading in zip(rows, readings, strict=True):
        beside = _beside(row, by_place)
        share = _BACKGROUND_SHARE if row.exclusion in _BACKGROUND else 1.0
        ranked.append(_Ranked(row, round(share * relevance(query, reading, beside), 6), reading))
    return ranked


def _beside(row: TextRow, by_place: Mapping[_Place, Reading]) -> list[Reading | None]:
    """Of the message before, the one before that, and the one after; a summary stands alone."""
    if row.seq is None:
        return []
    return [by_place.get((row.conversation_id, row.seq + step)) for step in (-1, -2, 1)]


async def _preselect(
    index: LexicalSearchRepository, kind: TextKind, terms: QueryTerms, filters: SearchFilters, limit: int
) -> Preselection:
    """Rows with all terms, then rows with any, until the limit; summaries are few, so theirs mostly come at once."""
    if terms.is_empty:
        return Preselection((), is_complete=True)
    match = index.match_messages if kind is TextKind.MESSAGE else index.match_summaries
    loose = None
    if terms.is_single or kind is TextKind.SUMMARY:
        loose = await match(terms.match_any(), filters, limit=limit)
        if terms.is_single or loose.is_complete:
            return loose
    strict = await match(terms.match_all(), filters, limit=limit)
    if len(strict.rows) == limit:
        return Preselection(strict.rows, is_complete=False)  # those with some of the terms were not asked for
    loose = loose or await match(terms.match_any(), filters, limit=limit)
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


def _at_least_letters(found: _Ranked) -> _Ranked:
    if found.relevance >= _SUBSTRING_RELEVANCE:
        return found
    return _Ranked(found.row, _SUBSTRING_RELEVANCE, None)


def _order(found: _Ranked) -> tuple[float, float, str, int]:
    row = found.row
    newest_first = -row.occurred_at.timestamp() if row.occurred_at else float("inf")
    return (-found.relevance, newest_first, row.kind, row.row_id)


def _best(ranked: Sequence[_Ranked], limit: int) -> list[_Ranked]:
    """The first of each kind, a quarter of the places each, then the most relevant of all; in order."""
    kept: set[int] = set()
    for kind in TextKind:
        kept.update([at for at, each in enumerate(ranked) if each.row.kind is kind][: limit // 4])
    for at in range(len(ranked)):
        if len(kept) >= limit:
            break
        kept.add(at)
    return [ranked[at] for at in sorted(kept)]


def _hit(ranked: _Ranked, found: _Found) -> SearchHit:
    row, reading = ranked.row, ranked.reading
    place = best_place(found.query, row.content, reading.hits) if reading else place_of(row.content, found.literals)
    return SearchHit(
        kind=row.kind,
        id=text_id(row),
        conversation_id=row.conversation_id,
        session_id=row.session_id,
        occurred_at=row.occurred_at,
        snippet=snippet_at(row.content, place),
        relevance=ranked.relevance,
        seq=row.seq,
        role=row.role,
        summary_id=row.summary_id,
        depth=row.depth,
    )


def text_id(row: TextRow) -> str:
    """What a person types to see the text: `conversation_id:seq` or the summary id."""
    return row.summary_id or f"{row.conversation_id}:{row.seq}"
