"""Options that many commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import click

from lcm.text import MAX_SAFE_INTEGER

Command = TypeVar("Command", bound=Callable[..., Any])


def project_option(function: Command) -> Command:
    return click.option(
        "--project",
        "selector",
        metavar="DIR|ID|all",
        help="Project by its folder or id, or all of them. Default: the current folder's.",
    )(function)


def json_option(function: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(function)


class Moment(click.ParamType[datetime]):
    """A time: `2026-02-17`, `2026-02-17T07:37`, with or without a zone; without one it is UTC."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail("give a time like 2026-02-17 or 2026-02-17T07:37:00Z.", param, ctx)
        try:
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except OverflowError:
            self.fail("that time is out of range.", param, ctx)


class WholeNumber(click.ParamType[int]):
    """An integer from a minimum (1 unless told) to a maximum."""

    name = "N"

    def __init__(self, maximum: int = MAX_SAFE_INTEGER, *, minimum: int = 1) -> None:
        self._maximum = maximum
        self._minimum = minimum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:  # also of more digits than Python converts
            number = 0
        if not self._minimum <= number <= self._maximum:
            self.fail(f"give a whole number from {self._minimum} to {self._maximum}.", param, ctx)
        return number


class Amount(click.ParamType[Decimal]):
    """An amount of money above 0, with up to six decimals."""

    name = "AMOUNT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            amount = Decimal(value)
        except InvalidOperation:
            amount = Decimal(0)
        if not amount.is_finite() or not _LEAST_AMOUNT <= amount <= _MOST_AMOUNT:
            self.fail(f"give an amount from {_LEAST_AMOUNT} to {_MOST_AMOUNT}, such as 0.50.", param, ctx)
        return amount


_LEAST_AMOUNT, _MOST_AMOUNT = Decimal("0.000001"), Decimal(1_000_000)
