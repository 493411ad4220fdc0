"""The redaction of one text or JSON value: pure, idempotent, with what was replaced in coordinates of the input.

Rules see the text again after each replacement, until they find nothing more: what a replacement completes or uncovers
is found too. A match inside a mark is no match, so a text is stable exactly when no rule matches outside its marks.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from lcm.redaction import plausibility
from lcm.redaction.engine import Engine, Span, compile_regex
from lcm.redaction.marks import MARK, composed, outside_marks, replaced, widened
from lcm.redaction.patterns import BUILT_IN, RULES, SECRET_NAME
from lcm.redaction.user_patterns import checked_patterns

__all__ = ["MARK", "JsonValue", "Replacement", "Scrubbed", "Scrubber", "map_offset"]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

GLOBAL = "global"
PROJECT = "project"

#: Part of `Scrubber.version`; grows when the algorithm changes what equal rules redact.
_ALGORITHM = "lcm-redaction-2"
#: After so many passes that still find something, matches grow to their token, line, and at last the whole text.
_PASSES_PER_WIDTH = 4
_SECRET_NAME = compile_regex(SECRET_NAME)
_KEPT_NAMES = 256
#: One of these stands in every name that announces a secret.
_NAME_WORDS = ("pass", "pwd", "kennwort", "secret", "token", "credential", "key", "authorization", "cookie")
#: JSON escapes of ordinary characters, and the two letters outside ASCII that count as `k` and `s`.
_MAY_HIDE_WORDS = ("\\u", "\\/", "\u017f", "\u212a")
_COOKIE_HEADERS = frozenset(("cookie", "set-cookie"))
#: The member of an object that holds what the object, or its member that is a name, is about.
_VALUE_KEY = "value"
_NAME_KEYS = frozenset(("name", "key"))


@dataclass(frozen=True, slots=True)
class Replacement:
    """A half-open range of code points of the input that became one mark."""

    start: int
    end: int
    category: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value still to scrub stands: its key, and what else names it (an object, a sibling, a flag)."""

    holder: Any
    index: Any
    key: str = ""
    owners: tuple[str, ...] = ()


class Scrubbed(NamedTuple):
    """A redacted text.

    Attributes:
        replacements: by start, disjoint.
        counts: replacements per category (`built_in`, `global`, `project`); a category without any is absent.
    """

    text: str
    replacements: tuple[Replacement, ...]
    counts: dict[str, int]


class Scrubber:
    """Redacts by the built-in rules, then the global, then the project's patterns; immutable, safe between threads.

    A whole match of a user pattern is replaced, groups or not; empty matches are ignored.

    Args:
        global_patterns, project_patterns: RE2 regular expressions.

    Raises:
        InvalidInput: a pattern is not valid; none is ever dropped silently.
    """

    def __init__(self, *, global_patterns: Sequence[str] = (), project_patterns: Sequence[str] = ()) -> None:
        global_checked = checked_patterns(global_patterns, GLOBAL)
        project_checked = checked_patterns(project_patterns, PROJECT)
        self._engine = Engine((*global_checked, *project_checked))
        self._categories = (
            (BUILT_IN,) * len(RULES) + (GLOBAL,) * len(global_checked) + (PROJECT,) * len(project_checked)
        )
        self._version = _digest(global_checked, project_checked)
        self._names: dict[str, str] = {}

    @property
    def version(self) -> str:
        """Hex SHA-256 of the algorithm, the rules and the patterns: equal versions redact equally."""
        return self._version

    def scrub(self, text: str) -> Scrubbed:
        """The text with every secret replaced by `MARK`; scrubbing the result changes nothing."""
        spans = self._secrets(text)
        if not spans:
            return Scrubbed(text, (), {})
        replacements = tuple(Replacement(span.start, span.end, self._categories[span.rule]) for span in spans)
        return Scrubbed(replaced(text, spans), replacements, dict(Counter(r.category for r in replacements)))

    def scrub_name(self, name: str) -> str:
        """As `scrub`, for the names of tools: a few that come again and again, so their answers are kept."""
        if name not in self._names:
            if len(self._names) >= _KEPT_NAMES:
                self._names.clear()
            self._names[name] = self.scrub(name).text
        return self._names[name]

    def is_clear(self, text: str) -> bool:
        """Whether neither the text nor any JSON text within it holds what `scrub` or `scrub_json` would replace.

        False for many texts without secrets: it tells only what cannot have any, at the price of one search.
        """
        if any(mark in text for mark in _MAY_HIDE_WORDS):
            return False
        lowered = text.lower()
        return not any(word in lowered for word in _NAME_WORDS) and self._engine.is_silent(text)

    def scrub_json(self, value: JsonValue) -> tuple[JsonValue, dict[str, int]]:
        """The value with every string scrubbed, keys too, in the same shape; and the counts per category.

        A string under a key that names a secret is also judged as that secret's value, alone or in a list; so are the
        `value` of an object under such a key or with such a `name`, and what follows such a flag in a list. Keys that
        would collide once scrubbed are numbered, so nothing is lost.
        """
        counts: Counter[str] = Counter()
        root: list[Any] = [value]
        pending = [_Place(root, 0)]
        while pending:
            place = pending.pop()
            item = place.holder[place.index]
            if isinstance(item, str):
                place.holder[place.index] = self._scrub_place(place, item, counts)
            elif isinstance(item, list):
                place.holder[place.index] = copy = list(item)
                pending += [_Place(copy, index, place.key, _flag_before(item, index)) for index in range(len(item))]
            elif isinstance(item, dict):
                place.holder[place.index], children = self._scrub_keys(item, place.key, counts)
                pending += children
        return root[0], dict(counts)

    def _scrub_place(self, place: _Place, text: str, counts: Counter[str]) -> str:
        if any(_is_secret_of(owner, text) for owner in place.owners):
            counts[BUILT_IN] += 1
            return MARK
        return self._scrub_under(place.key, text, counts)

    def _scrub_under(self, key: str, text: str, counts: Counter[str]) -> str:
        """The string scrubbed as it stands, and under a name that announces a secret as that secret's value."""
        names_secret = bool(key) and _names_secret(key)
        if not names_secret and key.lower() not in _COOKIE_HEADERS:
            return self._scrub_counting(text, counts)
        if names_secret and _is_one_word(text) and plausibility.is_quoted_secret(key, _encodable(text)):
            counts[BUILT_IN] += 1
            return MARK
        prefix = f"{key}: "
        scrubbed = self.scrub(prefix + text)
        if not scrubbed.text.startswith(prefix):
            return self._scrub_counting(text, counts)
        counts.update(scrubbed.counts)
        return scrubbed.text[len(prefix) :]

    def _scrub_counting(self, text: str, counts: Counter[str]) -> str:
        scrubbed = self.scrub(text)
        counts.update(scrubbed.counts)
        return scrubbed.text

    def _scrub_keys(
        self, item: dict[str, JsonValue], parent: str, counts: Counter[str]
    ) -> tuple[dict[str, JsonValue], list[_Place]]:
        """A copy with scrubbed keys, and its places still to scrub with the keys they stood under."""
        copy: dict[str, JsonValue] = {}
        places: list[_Place] = []
        names = _names_in(item)
        for key, child in item.items():
            unique = _unused(self._scrub_counting(key, counts), copy)
            copy[unique] = child
            owners = (parent, *names) if key.lower() == _VALUE_KEY else ()
            places.append(_Place(copy, unique, key, owners))
        return copy, places

    def _secrets(self, text: str) -> list[Span]:
        """Everything to replace, found by repeated passes; by start, disjoint, in offsets of `text`."""
        spans: list[Span] = []
        current = text
        passes = 0
        while found := outside_marks(self._engine.find(current), current):
            if passes >= _PASSES_PER_WIDTH:
                found = outside_marks(widened(found, current, passes // _PASSES_PER_WIDTH), current)
            spans = composed(spans, found)
            current = replaced(text, spans)
            passes += 1
        return spans


def map_offset(replacements: Sequence[Replacement], offset: int, *, is_end: bool = False) -> int:
    """An offset of the input as an offset of the output, in code points.

    Inside a replaced range, a start (the default) becomes the mark's start, and an end its end.
    """
    shift = 0
    for replacement in replacements:
        if offset <= replacement.start:
            break
        if offset < replacement.end:
            return replacement.start + shift + (len(MARK) if is_end else 0)
        shift += len(MARK) - (replacement.end - replacement.start)
    return offset + shift


def _names_secret(key: str) -> bool:
    return bool(_SECRET_NAME.search(_encodable(key)))


def _names_in(item: dict[str, JsonValue]) -> list[str]:
    """What an object says its value is called, as in a list of environment variables."""
    return [child for key, child in item.items() if isinstance(child, str) and key.lower() in _NAME_KEYS]


def _flag_before(item: list[JsonValue], index: int) -> tuple[str, ...]:
    before = item[index - 1] if index else None
    return (before,) if isinstance(before, str) and before.startswith("-") else ()


def _is_secret_of(owner: str, text: str) -> bool:
    """Whether a whole string is the secret that its owner, a name or a flag, announces."""
    if not owner or not _is_one_word(text) or not _names_secret(owner):
        return False
    judge = plausibility.is_argument_secret if owner.startswith("-") else plausibility.is_quoted_secret
    return judge(owner, _encodable(text))


def _is_one_word(text: str) -> bool:
    return len(text.split(maxsplit=1)) == 1


def _encodable(text: str) -> str:
    """Lone surrogates become question marks, which the regular expressions can read."""
    return text.encode("utf-8", "replace").decode()


def _unused(key: str, taken: dict[str, JsonValue]) -> str:
    number = 1
    unique = key
    while unique in taken:
        number += 1
        unique = f"{key}#{number}"
    return unique


def _digest(global_patterns: Sequence[str], project_patterns: Sequence[str]) -> str:
    digest = hashlib.sha256(_ALGORITHM.encode())
    built_in = (f"{rule.name}\t{rule.regex}\t{rule.keywords}\t{rule.judge.__name__}" for rule in RULES)
    for category, lines in ((BUILT_IN, built_in), (GLOBAL, global_patterns), (PROJECT, project_patterns)):
        for line in lines:
            digest.update(f"{category}\0{line}\0".encode())
    return digest.hexdigest()
