"""The form of an exploration summary: a headline and short lines, about 200 tokens at most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lcm.text import one_line
from lcm.tokens import estimate_tokens

MAX_TOKENS = 220
_MAX_LINE_CHARS = 300
_NAME_CHARS = 40


def outline(headline: str, details: Iterable[str] = ()) -> str:
    """The headline and as many of the details, one a line, as fit; how many did not is said."""
    kept = [one_line(headline, _MAX_LINE_CHARS)]
    lines = [line for line in (one_line(each, _MAX_LINE_CHARS) for each in details) if line]
    used = estimate_tokens(kept[0]) + 1
    for number, line in enumerate(lines):
        used += estimate_tokens(line) + 1
        if used > MAX_TOKENS:
            return "\n".join([*kept, f"(and {len(lines) - number} more)"])
        kept.append(line)
    return "\n".join(kept)


def some_of(names: Sequence[str], limit: int, *, total: int | None = None) -> str:
    """`a, b, c and 4 more`; names are cut to 40 characters."""
    shown = ", ".join(one_line(each, _NAME_CHARS) or '""' for each in names[:limit])
    rest = (len(names) if total is None else total) - min(limit, len(names))
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def excerpt(text: str, max_tokens: int) -> str:
    """The beginning of a text on one line, by tokens: scripts differ sixfold in characters for a token."""
    line = one_line(text, 4 * max_tokens)
    tokens = estimate_tokens(line)
    return line if tokens <= max_tokens else one_line(line, len(line) * max_tokens // tokens)


def counted(count: int, noun: str, *, at_least: bool = False) -> str:
    """`1 row`, `1,234 rows`, `at least 5 rows`."""
    words = f"{count:,} {noun}{'' if count == 1 else 's'}"
    return f"at least {words}" if at_least else words
