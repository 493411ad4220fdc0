"""Finds secrets: one pass of a multi-pattern matcher says which rules can match, and only those run, in linear time.

Works on UTF-8 bytes, because that is what both matchers read; offsets become code points only for what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import ahocorasick_rs
import re2

from lcm.redaction.patterns import RULES, Rule
from lcm.redaction.plausibility import Judge, any_value

#: A rejected value up to this many bytes is searched again from its start, for an assignment inside it.
_RESCAN_BYTES = 256


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code points, owned by the rule with this index; built-in rules come first."""

    start: int
    end: int
    rule: int


@dataclass(frozen=True, slots=True)
class _Matcher:
    regex: Any
    judge: Judge
    has_name: bool
    items: Any = None
    needs: tuple[bytes, ...] = ()


class Engine:
    """The built-in rules, then `user_patterns`, which have no keywords and therefore always run."""

    def __init__(self, user_patterns: Sequence[str] = ()) -> None:
        built_in = _built_in_matchers()
        user = (_Matcher(compile_regex(pattern), any_value, has_name=False) for pattern in user_patterns)
        self._matchers = (*built_in, *user)
        self._always = tuple(range(len(built_in), len(self._matchers)))
        self._prefilter, self._rules_of = _built_in_prefilter()

    def find(self, text: str) -> list[Span]:
        """Secrets in `text`: by start, disjoint; of overlapping ones the union, owned by the lowest rule."""
        data = text.encode("utf-8", "surrogatepass")
        lowered = data.lower()
        hits = self._prefilter.find_matches_as_indexes(lowered, overlapping=True)
        if not hits and not self._always:
            return []
        announced = sorted({rule for keyword in {hit[0] for hit in hits} for rule in self._rules_of[keyword]})
        due = [rule for rule in announced if _has_any(lowered, self._matchers[rule].needs)]
        found = [Span(start, end, rule) for rule in (*due, *self._always) for start, end in self._matches(rule, data)]
        return _in_code_points(merge(found), data, text) if found else []

    def is_silent(self, text: str) -> bool:
        """Whether no rule can match anywhere in the text: nothing announces one, and there are no user patterns."""
        if self._always:
            return False
        lowered = text.encode("utf-8", "surrogatepass").lower()
        return not self._prefilter.find_matches_as_indexes(lowered)

    def _matches(self, rule: int, data: bytes) -> Iterable[tuple[int, int]]:
        """Byte ranges of one rule's secrets; empty matches are ignored."""
        matcher = self._matchers[rule]
        position = 0
        while (match := matcher.regex.search(data, position)) is not None:
            start, end = _secret_range(match)
            name = _name(match) if matcher.has_name else ""
            if matcher.items is not None:
                yield from _plausible_items(matcher, name, data[start:end], start)
            elif end > start and matcher.judge(name, _decoded(data[start:end])):
                yield start, end
            elif matcher.has_name and 0 < end - start <= _RESCAN_BYTES:
                position = max(start, position + 1)
                continue
            position = max(match.end(), position + 1)
            if position > len(data):
                break


def _has_any(data: bytes, needs: Sequence[bytes]) -> bool:
    return not needs or any(need in data for need in needs)


def compile_regex(pattern: str) -> Any:
    """The compiled pattern; raises `re2.error` without writing it to standard error."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def merge(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans become one, owned by the lowest rule; touching ones stay apart."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), min(last.rule, span.rule))
        else:
            merged.append(span)
    return merged


def _secret_range(match: Any) -> tuple[int, int]:
    """Bytes of the last group, but for `name`, that took part, or of the whole match when there is no group."""
    name = match.re.groupindex.get("name")
    for group in range(match.re.groups, 0, -1):
        start, end = match.span(group)
        if start >= 0 and group != name:
            return start, end
    start, end = match.span()
    return start, end


def _plausible_items(matcher: _Matcher, name: str, data: bytes, offset: int) -> Iterable[tuple[int, int]]:
    """The secrets among the items of one match, whose bytes begin at `offset`."""
    for item in matcher.items.finditer(data):
        start, end = _secret_range(item)
        if end > start and matcher.judge(name, _decoded(data[start:end])):
            yield offset + start, offset + end


def _name(match: Any) -> str:
    return _decoded(match.group("name"))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _in_code_points(spans: Sequence[Span], data: bytes, text: str) -> list[Span]:
    if len(data) == len(text):
        return list(spans)
    converted = []
    byte, point = 0, 0
    for span in spans:
        start = point + _length(data[byte : span.start])
        end = start + _length(data[span.start : span.end])
        converted.append(Span(start, end, span.rule))
        byte, point = span.end, end
    return converted


def _length(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogatepass"))


@cache
def _built_in_matchers() -> tuple[_Matcher, ...]:
    return tuple(_matcher(rule) for rule in RULES)


def _matcher(rule: Rule) -> _Matcher:
    regex = compile_regex(rule.regex)
    items = compile_regex(rule.items) if rule.items else None
    return _Matcher(regex, rule.judge, "name" in regex.groupindex, items, tuple(need.encode() for need in rule.needs))


@cache
def _built_in_prefilter() -> tuple[ahocorasick_rs.BytesAhoCorasick, tuple[tuple[int, ...], ...]]:
    """The matcher of all keywords, and for each keyword the rules it announces."""
    keywords = sorted(set(chain.from_iterable(rule.keywords for rule in RULES)))
    rules_of = tuple(tuple(i for i, rule in enumerate(RULES) if keyword in rule.keywords) for keyword in keywords)
    # Three times as fast as the automaton that the library would choose for so many keywords.
    automaton = ahocorasick_rs.Implementation.DFA
    return ahocorasick_rs.BytesAhoCorasick([word.encode() for word in keywords], implementation=automaton), rules_of
