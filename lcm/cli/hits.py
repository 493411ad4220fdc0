"""How one hit of a search is printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lcm.cli.output import shown_time, write, write_wrapped
from lcm.retrieval.search import SearchHit
from lcm.storage.contracts.project import ProjectStorage

if TYPE_CHECKING:  # a search needs no regular expressions
    from lcm.retrieval.grep import GrepHit


def print_hit(hit: SearchHit | GrepHit, project: ProjectStorage | None, *, mark: str = "") -> None:
    """Id, who and when on one line, then the snippet; `project` is named when several were searched."""
    who = _who(hit)
    place = f"  in {project.root}" if project else ""
    write(f"{mark}{hit.id}  {who}  {shown_time(hit.occurred_at)}{place}")
    write_wrapped(hit.snippet, indent=6)


def _who(hit: SearchHit | GrepHit) -> str:
    if not isinstance(hit, SearchHit) and hit.line is not None:
        stands_in = f", in message {hit.conversation_id}:{hit.seq}" if hit.seq is not None else ""
        return f"{hit.file_name or 'file'}, line {hit.line:,}{stands_in}"
    return hit.role.value if hit.role else f"summary, depth {hit.depth}"
