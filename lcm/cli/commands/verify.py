"""`lcm verify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from lcm.cli import exit_codes
from lcm.cli.options import json_option, project_option
from lcm.cli.output import jsonable, print_json, say, shown_count, write, write_fact
from lcm.cli.projects import print_project
from lcm.cli.running import Session, current_folder, run, session
from lcm.composition.lookup import find_in_one
from lcm.composition.selection import ALL, Unreadable, select_readable, select_root
from lcm.errors import StorageError
from lcm.ids import digest
from lcm.integrity.verify import Verification, verify_project
from lcm.retrieval.identify import resolve_conversation
from lcm.storage.contracts.project import ProjectStorage

Proof = tuple[ProjectStorage, Verification]


@click.command("verify")
@click.option("--conversation", metavar="ID", help="Only one conversation.")
@click.option("--rebuild-search", is_flag=True, help="First refill the search index from the stored texts.")
@project_option
@json_option
def command(conversation: str | None, rebuild_search: bool, selector: str | None, as_json: bool) -> None:
    """Prove that every stored message is whole, reachable and in exactly one place. Exit code 1 when it is not so.

    Exit code 3: it cannot be told, because a database cannot be read or is of a newer version.
    """

    async def work() -> int:
        async with session() as current:
            projects, failed = await _readable(current, selector)
            chosen: list[tuple[ProjectStorage, int | None]] = [(each, None) for each in projects]
            if conversation is not None and projects:
                project, found = await find_in_one(projects, lambda each: resolve_conversation(each, conversation))
                chosen = [(project, found.conversation_id)]
            proofs: list[Proof] = []
            for project, conversation_id in chosen:
                try:
                    if rebuild_search:
                        await project.lexical_search.rebuild()
                    proofs.append((project, await verify_project(project, conversation_id=conversation_id)))
                except StorageError as error:
                    failed.append(Unreadable(project.root, str(error)))
        if as_json:
            print_json(_json(proofs, failed, is_all=selector == ALL and conversation is None))
        else:
            _print(proofs, failed)
        return _tell(proofs, failed)

    run(work)


async def _readable(current: Session, selector: str | None) -> tuple[list[ProjectStorage], list[Unreadable]]:
    """The selected projects that can be opened, and those that cannot: whether they are whole cannot be told."""
    cwd = current_folder()
    try:
        return await select_readable(current.projects, current.settings, selector, cwd=cwd)
    except StorageError as error:
        if selector == ALL:
            raise
        return [], [Unreadable(select_root(current.settings, selector, cwd=cwd), str(error))]


def _tell(proofs: Sequence[Proof], failed: Sequence[Unreadable]) -> int:
    for each in failed:
        say(f"lcm: {each.name}: {each.message}")
    if failed:
        return exit_codes.CANNOT_TELL
    if all(proof.ok for _, proof in proofs):
        return exit_codes.DONE
    faults = sum(len(proof.faults) for _, proof in proofs)
    say(f"lcm: {shown_count(faults, 'fault')} found; each is listed with what to do.")
    return exit_codes.FAILURE


def _json(proofs: Sequence[Proof], failed: Sequence[Unreadable], *, is_all: bool) -> dict[str, Any]:
    """One project: its proof as it is. With `--project all` the same keys over all, and each proof."""
    each = [{"project_id": project.project_id, **jsonable(proof.to_json())} for project, proof in proofs]
    unread = [{"project_id": None, "root": one.name, "ok": None, "error": one.message} for one in failed]
    if not is_all:
        return [*each, *unread][0]
    checked: Counter[str] = Counter()
    for one in each:
        checked.update(one["checked"])
    is_whole = all(one["ok"] for one in each)
    return {
        "ok": None if is_whole and failed else is_whole,
        "content_digest": digest(*sorted(one["content_digest"] for one in each)).hex() if not failed else None,
        "checked": dict(checked),
        "faults": [fault for one in each for fault in one["faults"]],
        "projects": [*each, *unread],
    }


def _print(proofs: Sequence[Proof], failed: Sequence[Unreadable]) -> None:
    if not proofs and not failed:
        write("Nothing is stored yet; run `lcm import`.")
    for project, proof in proofs:
        print_project(project)
        checked = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in proof.checked.items())
        write_fact("result", "ok" if proof.ok else shown_count(len(proof.faults), "fault"))
        write_fact("checked", checked)
        write_fact("content", str(proof.to_json()["content_digest"]))
        for fault in proof.faults:
            write_fact(fault.kind, f"{fault.object}: {fault.finding} {fault.remedy}")
