"""How results of several projects are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from lcm.cli.output import write
from lcm.storage.contracts.project import ProjectStorage

Item = TypeVar("Item")


def by_project(listed: Sequence[tuple[ProjectStorage, Item]]) -> Iterator[tuple[ProjectStorage, list[Item]]]:
    """Neighbours of one project together, in the given order."""
    for _, group in groupby(listed, key=lambda each: each[0].project_id):
        pairs = list(group)
        yield pairs[0][0], [item for _, item in pairs]


def print_project(project: ProjectStorage) -> None:
    """The heading of one project: its folder and its id, either of which `--project` takes."""
    write(f"{project.root}  {project.project_id}")
