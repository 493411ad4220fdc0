"""`lcm grep`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from lcm.cli.hits import print_hit
from lcm.cli.options import Moment, WholeNumber, json_option, project_option
from lcm.cli.output import jsonable, print_json, say
from lcm.cli.running import run, session
from lcm.composition.lookup import find_in_one
from lcm.retrieval.grep import GrepAnswer, GrepHit, GrepMode, GrepScope, grep
from lcm.retrieval.identify import resolve_conversation
from lcm.retrieval.search import MAX_LIMIT
from lcm.storage.contracts.project import ProjectStorage

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@click.command("grep")
@click.argument("pattern")
@click.option("--mode", type=click.Choice([each.value for each in GrepMode]), default="full-text", show_default=True)
@click.option("--scope", type=click.Choice([each.value for each in GrepScope]), default="both", show_default=True)
@click.option("--since", type=Moment(), help="Only what happened at or after this time.")
@click.option("--session", "session_id", metavar="ID", help="Only this session.")
@click.option("--conversation", metavar="ID", help="Only this conversation, named as for `lcm context`.")
@click.option("--limit", type=WholeNumber(MAX_LIMIT), default=50, show_default=True, help="Most hits.")
@project_option
@json_option
def command(
    pattern: str,
    mode: str,
    scope: str,
    since: datetime | None,
    session_id: str | None,
    conversation: str | None,
    limit: int,
    selector: str | None,
    as_json: bool,
) -> None:
    """Find PATTERN, newest first.

    Every word of PATTERN must occur, in any order and also inside other words; text in quotes must occur as it is. With
    --mode regex it is an RE2 regular expression. --scope both searches messages and summaries; files searches what the
    stored large files hold, line by line; all searches everything.
    """

    async def work() -> None:
        async with session() as current:
            answers = []
            for project, conversation_id in await _places(await current.select(selector), conversation):
                answer = await grep(
                    project,
                    pattern,
                    mode=GrepMode(mode),
                    scope=GrepScope(scope),
                    since=since,
                    conversation_id=conversation_id,
                    session_id=session_id,
                    limit=limit,
                )
                answers.append((project, answer))
        hits = _newest(answers, limit)
        if as_json:
            _print_json(answers, hits)
        else:
            _print(hits, answers)

    run(work)


async def _places(projects: list[ProjectStorage], conversation: str | None) -> list[tuple[ProjectStorage, int | None]]:
    """The projects to search, and the conversation in the only one that has it."""
    if conversation is None:
        return [(project, None) for project in projects]
    project, found = await find_in_one(projects, lambda each: resolve_conversation(each, conversation))
    return [(project, found.conversation_id)]


def _newest(answers: list[tuple[ProjectStorage, GrepAnswer]], limit: int) -> list[tuple[ProjectStorage, GrepHit]]:
    """Each answer is newest first already; those of several projects merge by time."""
    hits = [(project, hit) for project, answer in answers for hit in answer.hits]
    if len(answers) > 1:
        hits.sort(key=lambda each: each[1].occurred_at or _LONG_AGO, reverse=True)
    return hits[:limit]


def _print_json(answers: list[tuple[ProjectStorage, GrepAnswer]], hits: list[tuple[ProjectStorage, GrepHit]]) -> None:
    print_json(
        {
            "hits": [{"project_id": project.project_id, **jsonable(hit)} for project, hit in hits],
            "match_count": sum(answer.match_count for _, answer in answers),
            "scope": [answer.scope for _, answer in answers],
            "complete": all(answer.complete for _, answer in answers),
        }
    )


def _print(hits: list[tuple[ProjectStorage, GrepHit]], answers: list[tuple[ProjectStorage, GrepAnswer]]) -> None:
    if not hits:
        say("Nothing found.")
    for project, hit in hits:
        print_hit(hit, project if len(answers) > 1 else None)
    if not all(answer.complete for _, answer in answers):
        say("The search ended at its bound; narrow it by time or session to see older hits.")
