"""Which projects a command works on: the current folder's, a folder's, one by id, or all."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

from lcm.composition.build import OpenProjects
from lcm.composition.peek import find_owner, find_root, list_databases
from lcm.errors import InvalidInput, MigrationError, NotFound, StorageError
from lcm.identity.project import project_root
from lcm.settings.model import Settings
from lcm.storage.contracts.project import ProjectStorage

ALL = "all"
_UNREADABLE = "The project database cannot be read; see what is wrong with `lcm verify-schema --project all`."


async def select_projects(
    projects: OpenProjects, settings: Settings, selector: str | None, *, cwd: Path
) -> list[ProjectStorage]:
    """The selected projects, opened, by root. None is the project of `cwd`.

    Raises:
        NotFound: nothing is stored for what was named.
        StorageError: a project cannot be opened.
    """
    if selector == ALL:
        return await _open_all(projects)
    project = await projects.find(select_root(settings, selector, cwd=cwd))
    if project is None:
        where = "this folder" if selector is None else "that folder"
        raise NotFound(
            f"Nothing is stored for {where} yet; run `lcm import`, or name a project with --project (all: every one)."
        )
    return [project]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A project that could not be opened, and why in one line; `name` is its folder, or that of its database."""

    name: str
    message: str


async def select_readable(
    projects: OpenProjects, settings: Settings, selector: str | None, *, cwd: Path
) -> tuple[list[ProjectStorage], list[Unreadable]]:
    """Like `select_projects`, but of all projects those that cannot be opened are told instead of ending the work."""
    if selector != ALL:
        return await select_projects(projects, settings, selector, cwd=cwd), []
    found: list[ProjectStorage] = []
    failed: list[Unreadable] = []
    for path in list_databases(settings):
        owner = find_owner(path)
        if owner is None:
            failed.append(Unreadable(path.parent.name, _UNREADABLE))
            continue
        try:
            project = await projects.find(owner.root)
        except (StorageError, MigrationError) as error:
            failed.append(Unreadable(owner.root, str(error)))
        else:
            found += [project] if project is not None else []
    return found, failed


def select_root(settings: Settings, selector: str | None, *, cwd: Path) -> str:
    """The root of the one selected project, which need not be stored unless it is named by its id.

    Raises:
        InvalidInput: all projects were selected. NotFound: no project has this id.
    """
    if selector == ALL:
        raise InvalidInput("Name one project here, by its folder or id.")
    project_id = _as_uuid(selector)
    if project_id is not None:
        return find_root(settings, project_id)
    return project_root(str(cwd if selector is None else cwd / selector))


async def _open_all(projects: OpenProjects) -> list[ProjectStorage]:
    try:
        found = [await projects.find(root) for root in await projects.list_roots()]
    except StorageError as error:
        raise type(error)(f"{error} See which with `lcm verify-schema --project all`.") from None
    return [project for project in found if project is not None]


def _as_uuid(text: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        return None
