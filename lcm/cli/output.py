"""How results are printed: data to stdout, everything else to stderr, JSON as one object."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import sys
import textwrap
import uuid
from datetime import UTC, datetime, tzinfo
from enum import Enum
from pathlib import Path
from typing import Any

import click

#: What would move a terminal's cursor or change its colours; line feed and tab stay.
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}

_FACT_INDENT = 18


def print_json(value: object) -> None:
    """One object, keys as documented; times in UTC with zone, bytes as hex."""
    is_unicode = _encoding().lower().replace("-", "").startswith("utf")
    _emit(json.dumps(jsonable(value), ensure_ascii=not is_unicode, indent=2))


def write(text: str) -> None:
    """A line to stdout; on a terminal without what would control it."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    _emit(text.translate(_CONTROLS) if is_terminal else text)


def write_wrapped(text: str, *, indent: int = 0) -> None:
    """One paragraph to stdout, broken at spaces where the width is known."""
    width = output_width()
    if width is None:
        write(" " * indent + text)
        return
    margin = " " * indent
    lines = textwrap.wrap(
        text,
        max(20, width),
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    write("\n".join(lines))


def write_fact(name: str, value: str) -> None:
    """A name and its value; a long value goes on below itself."""
    width = output_width()
    room = None if width is None else max(20, width - _FACT_INDENT)
    lines = [value] if room is None else textwrap.wrap(value, room, break_long_words=False, break_on_hyphens=False)
    write(f"{name:>16}  " + ("\n" + " " * _FACT_INDENT).join(lines))


def say(text: str) -> None:
    """A line to stderr; a reader that went away is no reason to stop."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(text, err=True)


def discard_output() -> None:
    """From now on stdout goes nowhere, so that what is still buffered cannot fail when the process ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stdout = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)


def output_width() -> int | None:
    """Columns of the terminal (or of COLUMNS); None when the output goes to a file or another program."""
    return shutil.get_terminal_size((0, 0)).columns or None


def _emit(text: str) -> None:
    """Characters that the output's encoding lacks are replaced, never an error."""
    click.echo(text.encode(_encoding(), "replace").decode(_encoding()))


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def jsonable(value: object) -> Any:  # noqa: PLR0911 - one return per kind of value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: jsonable(getattr(value, field.name)) for field in fields}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, uuid.UUID | Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(each) for each in value]
    return value


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclasses.dataclass(slots=True)
class _Display:
    """How this process shows things to people; None is the zone of the machine."""

    zone: tzinfo | None = None


_display = _Display()


def show_times_in(zone: tzinfo | None) -> None:
    """Choose the zone of `shown_time`; None is the machine's own."""
    _display.zone = zone


def shown_time(moment: datetime | None) -> str:
    """For people: minutes in their own zone, and its distance from UTC, which unlike its name is never ambiguous."""
    if moment is None:
        return "-"
    local = moment.astimezone(_display.zone)
    return f"{local:%Y-%m-%d %H:%M} {'UTC' if not local.utcoffset() else local.isoformat()[-6:]}"


def shown_count(count: int, noun: str) -> str:
    """`1 message`, `1,234 messages`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
