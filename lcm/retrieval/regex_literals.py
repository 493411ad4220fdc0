"""Literals that every match of a regular expression contains, for a scan to preselect by; conservative."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MIN_CHARS = 2
_MAX_LITERALS = 4
_REPEAT = re.compile(r"\{\d+(?:,\d*)?\}")
_CLASS = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_CASE_FLAG = re.compile(r"\(\?[a-zA-Z]*i")
#: Letters that ignoring case makes equal to letters outside ASCII (the Kelvin sign, the long s), and all of those.
_CASE_UNSAFE = re.compile("[kKsS]|[^\x00-\x7f]+")
#: Escapes that stand for a kind of character or place; the others of letters and digits are not taken apart here.
_KIND_ESCAPES = frozenset("dDwWsSbBAzafnrtv")


@dataclass(slots=True)
class _Runs:
    """Runs of characters found at the top level; `current` is the one still growing."""

    done: list[str] = field(default_factory=list)
    current: str = ""

    def end(self) -> None:
        self.done.append(self.current)
        self.current = ""

    def end_before_optional(self) -> None:
        """The last character may be missing from a match."""
        self.current = self.current[:-1]
        self.end()


def required_literals(pattern: str) -> list[str]:
    """At most four literals, longest first; empty when none is certain. The pattern must be valid RE2."""
    runs = _top_level_runs(pattern)
    if _CASE_FLAG.search(pattern):
        runs = [piece for run in runs for piece in _CASE_UNSAFE.split(run)]
    literals = dict.fromkeys(run for run in runs if len(run) >= _MIN_CHARS)
    return sorted(literals, key=lambda literal: (-len(literal), literal))[:_MAX_LITERALS]


def _top_level_runs(pattern: str) -> list[str]:
    """Runs outside groups, classes and repetitions; none at all with an alternative or an escape not known here."""
    runs = _Runs()
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "|" or (character == "\\" and not _is_simple_escape(pattern, at)):
            return []
        at = _read(pattern, at, character, runs)
    runs.end()
    return runs.done


def _is_simple_escape(pattern: str, at: int) -> bool:
    escaped = pattern[at + 1 : at + 2]
    return escaped in _KIND_ESCAPES or (escaped != "" and escaped.isascii() and not escaped.isalnum())


def _read(pattern: str, at: int, character: str, runs: _Runs) -> int:
    """Take one element into the runs and return where the next starts."""
    if character in "*?":
        runs.end_before_optional()
    elif character == "{" and (repeat := _REPEAT.match(pattern, at)):
        runs.end_before_optional()
        return repeat.end()
    elif character in "+.^${":
        runs.end()
    elif character == "[" and (found := _CLASS.match(pattern, at)):
        runs.end()
        return found.end()
    elif character == "(":
        runs.end()
        return _after_group(pattern, at)
    elif character == "\\":
        _read_escape(pattern[at + 1], runs)
        return at + 2
    else:
        runs.current += character
    return at + 1


def _read_escape(escaped: str, runs: _Runs) -> None:
    if escaped in _KIND_ESCAPES:
        runs.end()
    else:
        runs.current += escaped


def _after_group(pattern: str, at: int) -> int:
    """Behind the parenthesis that closes the one at `at`."""
    depth = 0
    while at < len(pattern):
        if pattern[at] == "[" and (found := _CLASS.match(pattern, at)):
            at = found.end()
            continue
        depth += {"(": 1, ")": -1}.get(pattern[at], 0)
        at += 2 if pattern[at] == "\\" else 1
        if depth == 0:
            break
    return at
