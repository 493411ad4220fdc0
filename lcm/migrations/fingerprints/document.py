"""Schema objects and the fingerprint file that lists them: sorted JSON, one object a line, reviewed as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lcm.errors import MigrationError
from lcm.migrations.assets import Assets

Fact = str | int | bool | list[str] | None


@dataclass(frozen=True, slots=True)
class SchemaObject:
    """One object of a schema.

    Attributes:
        kind: `table`, `column`, `primary_key`, `unique`, `foreign_key`, `check`, `index`, `trigger` or `fts`.
        table: the table it is or belongs to.
        name: unique within kind and table; a column is `table.column`.
        definition: facts by name; SQL in them is normalised.
    """

    kind: str
    table: str
    name: str
    definition: Mapping[str, Fact]

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.table, self.kind, self.name)


def render_fingerprint(dialect: str, revision: str, objects: Iterable[SchemaObject]) -> str:
    """The text of a fingerprint file: equal schemas give equal text."""
    lines = ",\n".join(
        json.dumps({"kind": o.kind, "table": o.table, "name": o.name, **dict(sorted(o.definition.items()))})
        for o in sorted(objects, key=lambda o: o.key)
    )
    return f'{{"dialect": "{dialect}", "revision": "{revision}", "objects": [\n{lines}\n]}}\n'


def parse_fingerprint(text: str) -> tuple[SchemaObject, ...]:
    """The objects of a fingerprint file, in its order."""
    return tuple(
        SchemaObject(
            kind=entry.pop("kind"),
            table=entry.pop("table"),
            name=entry.pop("name"),
            definition=entry,
        )
        for entry in json.loads(text)["objects"]
    )


def load_fingerprint(dialect: str, revision: str, assets: Assets) -> tuple[SchemaObject, ...]:
    """What a database at this revision consists of.

    Raises:
        MigrationError: the file is missing or cannot be read.
    """
    try:
        return parse_fingerprint(assets.fingerprint(dialect, revision).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        raise MigrationError(f"The schema fingerprint of {revision} cannot be read; install lcm again.") from None
