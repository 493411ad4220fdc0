"""How well a ranking answers: recall at a depth, and the reciprocal rank of the first right hit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: its group, the share of the right ones among the first 5 and 10, 1/rank of the first right one."""

    group: str
    recall_at_5: float
    recall_at_10: float
    reciprocal_rank: float

    @classmethod
    def of(cls, group: str, ranked: Sequence[object], right: AbstractSet[object]) -> Outcome:
        """Of hits in order; the reciprocal rank is 0 when none of the first ten is right."""
        first = next((rank for rank, hit in enumerate(ranked[:10], 1) if hit in right), None)
        return cls(group, _recall(ranked[:5], right), _recall(ranked[:10], right), 1 / first if first else 0.0)


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over `n` questions."""

    n: int
    recall_at_5: float
    recall_at_10: float
    mrr: float

    def to_json(self) -> dict[str, Any]:
        return {name: value if name == "n" else round(value, 4) for name, value in asdict(self).items()}


def means(outcomes: Iterable[Outcome]) -> Figures:
    """Of at least one outcome."""
    given = list(outcomes)
    return Figures(
        len(given),
        sum(each.recall_at_5 for each in given) / len(given),
        sum(each.recall_at_10 for each in given) / len(given),
        sum(each.reciprocal_rank for each in given) / len(given),
    )


def by_group(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Means of every group, by name, and of all."""
    groups = sorted({each.group for each in outcomes})
    found = {group: means(each for each in outcomes if each.group == group) for group in groups}
    return {**found, "all": means(outcomes)}


def _recall(hits: Sequence[object], right: AbstractSet[object]) -> float:
    return len(right & set(hits)) / len(right)
