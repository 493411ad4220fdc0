"""Find one thing by id in the selected projects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from lcm.errors import AmbiguousId, NotFound
from lcm.storage.contracts.project import ProjectStorage

Found = TypeVar("Found")


async def find_in_one(
    projects: Sequence[ProjectStorage], find: Callable[[ProjectStorage], Awaitable[Found]]
) -> tuple[ProjectStorage, Found]:
    """The only project in which `find` succeeds, with what it found.

    Raises:
        NotFound: none has it (the error of the last one), or nothing is stored at all.
        AmbiguousId: several things have it, in one project or in several; the candidates name the projects then.
    """
    if len(projects) == 1:
        return projects[0], await find(projects[0])
    found: list[tuple[ProjectStorage, Found]] = []
    candidates: list[str] = []
    missing = NotFound(None if projects else "Nothing is stored yet; run `lcm import`.")
    for project in projects:
        try:
            found.append((project, await find(project)))
            candidates.append(f"--project {project.project_id}")
        except NotFound as error:
            missing = error
        except AmbiguousId as error:
            candidates += [f"{each} --project {project.project_id}" for each in error.candidates]
    if len(candidates) > 1:
        raise AmbiguousId(tuple(candidates))
    if not found:
        raise missing
    return found[0]
