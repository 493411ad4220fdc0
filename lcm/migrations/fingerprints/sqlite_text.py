"""Normalises the SQL text that SQLite keeps of its objects and takes a CREATE TABLE apart. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<literal> [xX]?'(?:[^']|'')*' )
    | (?P<quoted> "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] )
    | (?P<word> [\w$]+ )
    | (?P<sign> <= | >= | <> | != | == | \|\| | << | >> | ->>? | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONSTRAINT_KINDS = {"primary": "primary_key", "unique": "unique", "check": "check", "foreign": "foreign_key"}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a table.

    Attributes:
        kind: `primary_key`, `unique`, `check` or `foreign_key`.
        name: None when it was written without one.
        columns: the columns it is on, in order; empty for a check.
        sql: normalised, without the name.
    """

    kind: str
    name: str | None
    columns: tuple[str, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class TableText:
    """A CREATE TABLE taken apart: what follows each column's name, the constraints, what follows the last bracket."""

    columns: Mapping[str, str]
    constraints: tuple[Constraint, ...]
    options: str


def normalise_sql(sql: str) -> str:
    """The statement without comments, in single spaces; words and needlessly quoted names in lower case."""
    return _join(_tokens(sql))


def parse_table(sql: str) -> TableText:
    """Takes a CREATE TABLE statement apart, as SQLite itself keeps it (never `AS SELECT`)."""
    tokens = list(_tokens(sql))
    body, end = _bracketed(tokens, tokens.index("("))
    columns: dict[str, str] = {}
    constraints: list[Constraint] = []
    for item in _split_at_commas(body):
        if item[0] == "constraint" or item[0] in _CONSTRAINT_KINDS:
            constraints.append(_constraint(item))
        else:
            columns[item[0]] = _join(item[1:])
    return TableText(columns, tuple(constraints), _join(tokens[end + 1 :]))


def _constraint(item: Sequence[str]) -> Constraint:
    name = item[1] if item[0] == "constraint" else None
    tokens = item if name is None else item[2:]
    kind = _CONSTRAINT_KINDS.get(tokens[0], tokens[0])
    columns: tuple[str, ...] = ()
    if kind != "check" and "(" in tokens:
        body, _ = _bracketed(tokens, tokens.index("("))
        columns = tuple(part[0] for part in _split_at_commas(body))
    return Constraint(kind, name, columns, _join(tokens))


def _tokens(sql: str) -> Iterator[str]:
    for match in _TOKEN.finditer(sql):
        token = match.group()
        if match.lastgroup == "quoted":
            yield _name(token)
        elif match.lastgroup == "word":
            yield token.lower()
        elif match.lastgroup != "space":
            yield token


def _name(quoted: str) -> str:
    mark = quoted[-1]
    name = quoted[1:-1].replace(mark * 2, mark)
    if _PLAIN_NAME.fullmatch(name):
        return name.lower()
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _join(tokens: Iterable[str]) -> str:
    text: list[str] = []
    previous = "("
    for token in tokens:
        is_tight = previous in ("(", ".") or token in (",", ")", ".", ";")
        text.append(token if is_tight else f" {token}")
        previous = token
    return "".join(text)


def _bracketed(tokens: Sequence[str], start: int) -> tuple[Sequence[str], int]:
    """The tokens inside the bracket that opens at `start`, and where it closes."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index] == "(") - (tokens[index] == ")")
        if depth == 0:
            return tokens[start + 1 : index], index
    return tokens[start + 1 :], len(tokens)


def _split_at_commas(tokens: Sequence[str]) -> list[list[str]]:
    items: list[list[str]] = [[]]
    depth = 0
    for word in tokens:
        depth += (word == "(") - (word == ")")
        if word == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(word)
    return [item for item in items if item]
