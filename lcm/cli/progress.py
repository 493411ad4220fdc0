"""Progress on stderr while a person watches; nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Watched:
    """Work whose amount becomes known on the way: `expect` adds to it, `advance` tells that one piece is done."""

    expect: Callable[[int], None]
    advance: Callable[[], None]


@contextmanager
def watched(verb: str) -> Iterator[Watched]:
    """A bar on stderr when that is a terminal."""
    if not sys.stderr.isatty():
        yield Watched(lambda _count: None, lambda: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(verb, total=0)
        amount = 0

        def expect(count: int) -> None:
            nonlocal amount
            amount += count
            bar.update(task, total=amount)

        yield Watched(expect, lambda: bar.advance(task))
