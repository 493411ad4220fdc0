"""How one hit of a search is printed for people."""

from __future__ import annotations

from lcm.cli.output import shown_time, write, write_wrapped
from lcm.retrieval.grep import GrepHit
from lcm.retrieval.search import SearchHit
from lcm.storage.contracts.project import ProjectStorage


def print_hit(hit: SearchHit | GrepHit, project: ProjectStorage | None, *, mark: str = "") -> None:
    """Id, who and when on one line, then the snippet; `project` is named when several were searched."""
    who = hit.role.value if hit.role else f"summary, depth {hit.depth}"
    place = f"  in {project.root}" if project else ""
    write(f"{mark}{hit.id}  {who}  {shown_time(hit.occurred_at)}{place}")
    write_wrapped(hit.snippet, indent=6)
