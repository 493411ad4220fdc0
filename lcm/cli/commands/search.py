"""`lcm search`."""

from __future__ import annotations

from datetime import datetime

import click

from lcm.cli.hits import print_hit
from lcm.cli.options import Moment, WholeNumber, json_option, project_option
from lcm.cli.output import jsonable, print_json, say
from lcm.cli.running import run, session
from lcm.retrieval.search import MAX_LIMIT, SearchAnswer, SearchHit, search
from lcm.storage.contracts.lexical_search import SearchFilters
from lcm.storage.contracts.project import ProjectStorage


@click.command("search")
@click.argument("query")
@click.option("--limit", type=WholeNumber(MAX_LIMIT), default=5, show_default=True, help="Most hits.")
@click.option("--since", type=Moment(), help="Only what happened at or after this time.")
@click.option("--until", type=Moment(), help="Only what happened at or before this time.")
@click.option("--session", "session_id", metavar="ID", help="Only this session.")
@project_option
@json_option
def command(
    query: str,
    limit: int,
    since: datetime | None,
    until: datetime | None,
    session_id: str | None,
    selector: str | None,
    as_json: bool,
) -> None:
    """Find messages and summaries by QUERY: words, a phrase in quotes, or a question in plain language."""

    async def work() -> None:
        filters = SearchFilters(session_id=session_id, since=since, until=until)
        async with session() as current:
            projects = await current.select(selector)
            answers = [(each, await search(each, query, limit=limit, filters=filters)) for each in projects]
        hits = _best(answers, limit)
        if as_json:
            print_json(
                {
                    "hits": [{"project_id": project.project_id, **jsonable(hit)} for project, hit in hits],
                    "scope": [answer.scope for _, answer in answers],
                    "complete": all(answer.complete for _, answer in answers),
                }
            )
            return
        _print(hits, is_complete=all(answer.complete for _, answer in answers), many=len(answers) > 1)

    run(work)


def _best(answers: list[tuple[ProjectStorage, SearchAnswer]], limit: int) -> list[tuple[ProjectStorage, SearchHit]]:
    """Relevance means the same in every project, so the answers merge by it; one project's order stays."""
    hits = [(project, hit) for project, answer in answers for hit in answer.hits]
    if len(answers) > 1:
        hits.sort(key=lambda each: -each[1].relevance)
    return hits[:limit]


def _print(hits: list[tuple[ProjectStorage, SearchHit]], *, is_complete: bool, many: bool) -> None:
    if not hits:
        say("Nothing found.")
    for project, hit in hits:
        print_hit(hit, project if many else None, mark=f"{hit.relevance:.2f}  ")
    if not is_complete:
        say("More texts may match; add words, or narrow the time or session.")
