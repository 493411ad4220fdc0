"""A finding of drift: one difference between the database and what its revision should look like."""

from __future__ import annotations

from dataclasses import dataclass

_CREATE = {
    "index": "Create it again as expected.",
    "trigger": "Create it again as expected.",
    "fts": "Create it again as expected and refill the search index from the stored text.",
}
_RECREATE = {
    "index": "Drop it and create it again as expected.",
    "trigger": "Drop it and create it again as expected.",
    "fts": "Drop it, create it again as expected and refill the search index from the stored text.",
}
_RESTORE = "Restore the database from a backup."
_DROP = "Drop it; lcm does not know it."


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference.

    Attributes:
        kind: what happened to which kind of object, for example `missing_index`, `changed_check`, `extra_trigger`.
        object: its name; a column as `table.column`, a migration by its id.
        expected: its definition, of a changed object only the parts that differ; None when it should not exist.
        found: the same of what is there; None when it is missing.
        remedy: what to do, one sentence.
    """

    kind: str
    object: str
    expected: str | None
    found: str | None
    remedy: str


def remedy_for(change: str, object_kind: str) -> str:
    """What to do about a `missing`, `extra` or `changed` object."""
    if change == "extra":
        return _DROP
    return (_CREATE if change == "missing" else _RECREATE).get(object_kind, _RESTORE)
