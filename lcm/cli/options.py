"""Options that many commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
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
    """An integer from 1 to a maximum."""

    name = "N"

    def __init__(self, maximum: int = MAX_SAFE_INTEGER) -> None:
        self._maximum = maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:  # also of more digits than Python converts
            number = 0
        if not 1 <= number <= self._maximum:
            self.fail(f"give a whole number from 1 to {self._maximum}.", param, ctx)
        return number
