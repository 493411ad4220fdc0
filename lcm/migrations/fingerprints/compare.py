"""Compares two inventories. Pure; one finding for each difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lcm.migrations.findings import Finding, remedy_for
from lcm.migrations.fingerprints.document import Fact, SchemaObject

#: Kinds that stand alone; all others are attached to one of these.
_HOLDERS = ("table", "fts")


def compare_schemas(expected: Iterable[SchemaObject], found: Iterable[SchemaObject]) -> tuple[Finding, ...]:
    """Differences, ordered by table, kind and name.

    Tables that are not expected are somebody else's and no finding; whatever is attached to an expected table is one.
    A missing table is one finding, without its columns, constraints, indexes and triggers.
    """
    wanted = {o.key: o for o in expected}
    present = {o.key: o for o in found}
    managed = {o.table for o in wanted.values()}
    gone = {o.table for key, o in wanted.items() if o.kind in _HOLDERS and key not in present}
    findings = []
    for key in sorted(wanted.keys() | present.keys()):
        table, kind, _ = key
        if table in managed and (table not in gone or kind in _HOLDERS):
            findings.append(_compare_object(wanted.get(key), present.get(key)))
    return tuple(finding for finding in findings if finding is not None)


def _compare_object(wanted: SchemaObject | None, present: SchemaObject | None) -> Finding | None:
    if wanted is None:
        return _finding("extra", present, None, present.definition) if present else None
    if present is None:
        return _finding("missing", wanted, wanted.definition, None)
    names = [name for name in sorted({*wanted.definition, *present.definition}) if _differ(name, wanted, present)]
    if not names:
        return None
    return _finding("changed", wanted, _choose(wanted.definition, names), _choose(present.definition, names))


def _differ(name: str, wanted: SchemaObject, present: SchemaObject) -> bool:
    return wanted.definition.get(name) != present.definition.get(name)


def _choose(definition: Mapping[str, Fact], names: list[str]) -> dict[str, Fact]:
    return {name: definition.get(name) for name in names}


def _finding(
    change: str, subject: SchemaObject, expected: Mapping[str, Fact] | None, found: Mapping[str, Fact] | None
) -> Finding:
    return Finding(
        kind=f"{change}_{subject.kind}",
        object=subject.name,
        expected=_as_text(expected),
        found=_as_text(found),
        remedy=remedy_for(change, subject.kind),
    )


def _as_text(definition: Mapping[str, Fact] | None) -> str | None:
    if definition is None:
        return None
    return "; ".join(f"{name}: {_fact_text(fact)}" for name, fact in sorted(definition.items())) or "present"


def _fact_text(fact: Fact) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, list):
        return ", ".join(fact)
    return "none" if fact is None else str(fact)
