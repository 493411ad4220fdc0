"""Progress on stderr while a person watches; nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_WORTH_SHOWING = 3


def progress(items: Sequence[Item], verb: str) -> Iterator[Item]:
    """The items, with a bar on stderr when that is a terminal and the work is more than a moment."""
    if not sys.stderr.isatty() or len(items) < _WORTH_SHOWING:
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as bar:
        yield from bar.track(items, description=verb)
