"""`lcm verify`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from lcm.cli import exit_codes
from lcm.cli.options import json_option, project_option
from lcm.cli.output import jsonable, print_json, say, shown_count, write, write_fact
from lcm.cli.projects import print_project
from lcm.cli.running import run, session
from lcm.composition.lookup import find_in_one
from lcm.composition.selection import ALL
from lcm.ids import digest
from lcm.integrity.verify import Verification, verify_project
from lcm.retrieval.identify import resolve_conversation
from lcm.storage.contracts.project import ProjectStorage


@click.command("verify")
@click.option("--conversation", metavar="ID", help="Only one conversation.")
@click.option("--rebuild-search", is_flag=True, help="First refill the search index from the stored texts.")
@project_option
@json_option
def command(conversation: str | None, rebuild_search: bool, selector: str | None, as_json: bool) -> None:
    """Prove that every stored message is whole, reachable and in exactly one place. Exit code 1 when it is not so."""

    async def work() -> int:
        async with session() as current:
            projects = await current.select(selector)
            for project in projects if rebuild_search else ():
                await project.lexical_search.rebuild()
            if conversation is None:
                proofs = [(project, await verify_project(project)) for project in projects]
            else:
                project, found = await find_in_one(projects, lambda each: resolve_conversation(each, conversation))
                proofs = [(project, await verify_project(project, conversation_id=found.conversation_id))]
        if as_json:
            print_json(_json(proofs, is_all=selector == ALL and conversation is None))
        else:
            _print(proofs)
        faults = sum(len(proof.faults) for _, proof in proofs)
        if all(proof.ok for _, proof in proofs):
            return exit_codes.DONE
        say(f"lcm: {shown_count(faults, 'fault')} found; each is listed with what to do.")
        return exit_codes.FAILURE

    run(work)


def _json(proofs: list[tuple[ProjectStorage, Verification]], *, is_all: bool) -> dict[str, Any]:
    """One project: its proof as it is. With `--project all` the same keys over all, and each proof."""
    each = [{"project_id": project.project_id, **jsonable(proof.to_json())} for project, proof in proofs]
    if not is_all:
        return each[0]
    checked: Counter[str] = Counter()
    for one in each:
        checked.update(one["checked"])
    return {
        "ok": all(one["ok"] for one in each),
        "content_digest": digest(*sorted(one["content_digest"] for one in each)).hex(),
        "checked": dict(checked),
        "faults": [fault for one in each for fault in one["faults"]],
        "projects": each,
    }


def _print(proofs: list[tuple[ProjectStorage, Verification]]) -> None:
    if not proofs:
        write("Nothing is stored yet; run `lcm import`.")
    for project, proof in proofs:
        print_project(project)
        checked = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in proof.checked.items())
        write_fact("result", "ok" if proof.ok else shown_count(len(proof.faults), "fault"))
        write_fact("checked", checked)
        write_fact("content", str(proof.to_json()["content_digest"]))
        for fault in proof.faults:
            write_fact(fault.kind, f"{fault.object}: {fault.finding} {fault.remedy}")
