"""One line of the report: a figure of lcm beside its floor, with the budget that it has to keep."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest allowed value: `times_floor` floors and `plus` on top, in the unit of the line.

    Attributes:
        needs_full_size: at smaller sizes the budget says nothing, so no verdict is given.
    """

    times_floor: float = 0.0
    plus: float = 0.0
    needs_full_size: bool = True

    def limit(self, floor: float | None) -> float:
        return self.times_floor * (floor or 0.0) + self.plus

    def rule(self, unit: str) -> str:
        """The largest allowed value in words, such as `1.5 x floor + 5 ms`."""
        terms = [f"{self.times_floor:g} x floor"] if self.times_floor else []
        if self.plus or not terms:
            terms.append(f"{self.plus:g} {unit}".rstrip())
        return " + ".join(terms)


@dataclass(frozen=True, slots=True)
class Line:
    """What the report shows and `--json` prints.

    Attributes:
        value: lcm's own figure. floor: what it is compared with, None when it stands alone; both in `unit`.
        ratio: value / floor.
        budget: the largest allowed value in `unit`; None for a figure that is only told. rule: the same in words.
        ok: whether the budget is kept; None when there is no verdict.
    """

    name: str
    value: float
    unit: str
    floor: float | None
    ratio: float | None
    budget: float | None
    rule: str | None
    ok: bool | None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        return cls(**fields)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def line(
    name: str,
    value: float,
    unit: str,
    *,
    floor: float | None = None,
    budget: Budget | None = None,
    is_full: bool = True,
) -> Line:
    """A line with its ratio and verdict; without a full-size run only budgets that do not need one are judged."""
    limit = budget.limit(floor) if budget else None
    is_judged = budget is not None and (is_full or not budget.needs_full_size)
    return Line(
        name=name,
        value=value,
        unit=unit,
        floor=floor,
        ratio=value / floor if floor else None,
        budget=limit,
        rule=budget.rule(unit) if budget else None,
        ok=value <= limit if is_judged and limit is not None else None,
    )
