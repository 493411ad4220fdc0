"""The user's own patterns: a text file with one RE2 regular expression a line, `#` comments and blank lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import re2

from lcm.errors import InvalidInput, NotFound
from lcm.redaction.engine import compile_regex

#: What RE2 says, without the part of the pattern that it quotes, and what a person can do.
_REASONS = {
    "invalid perl operator": "it uses lookaround or another construct that RE2 does not have",
    "invalid named capture group": "a named group is written (?P<name>...)",
    "invalid escape sequence": "it uses a backreference or an unknown escape",
    "missing )": "a closing parenthesis is missing",
    "unexpected )": "a closing parenthesis has no opening one",
    "missing ]": "a closing bracket is missing",
    "invalid character class range": "a character class has an invalid range or an unknown name",
    "invalid character class": "a character class is not valid",
    "invalid repetition size": "a repetition count is above 1000 or not in order",
    "no argument for repetition operator": "a repetition has nothing to repeat",
    "bad repetition operator": "two repetitions follow each other",
    "trailing \\": "it ends with a backslash",
    "invalid UTF-8": "it is not valid text",
    "pattern too large - compile failed": "it is too large",
}


def parse_patterns(text: str) -> list[str]:
    r"""The patterns of a file, in order, without outer white space; not validated. A literal first `#` is `\#`."""
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def validate_pattern(pattern: str) -> None:
    """Refuses what the engine cannot run or what never matches any text.

    Raises:
        InvalidInput: says why in one line, without the pattern (it may hold what it should hide).
    """
    reason = _refusal(pattern)
    if reason is not None:
        raise InvalidInput(f"The redaction pattern is refused: {reason}.")


def checked_patterns(patterns: Sequence[str], category: str) -> tuple[str, ...]:
    """The same patterns, all valid.

    Raises:
        InvalidInput: names the category and the place (from 1) of the first pattern that is refused.
    """
    for number, pattern in enumerate(patterns, 1):
        reason = _refusal(pattern)
        if reason is not None:
            raise InvalidInput(f"The {category} redaction pattern {number} is refused: {reason}.")
    return tuple(patterns)


def add_pattern(text: str, pattern: str) -> str:
    """The file with the pattern as its last line; unchanged when it has it already.

    Raises:
        InvalidInput: the pattern is not valid.
    """
    line = _as_line(pattern)
    validate_pattern(line)
    if line in parse_patterns(text):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    separator = "" if not text or text.endswith("\n") else newline
    return f"{text}{separator}{line}{newline}"


def remove_pattern(text: str, pattern: str) -> str:
    """The file without the pattern's lines; comments, blank lines and order stay.

    Raises:
        NotFound: the file does not have this pattern.
    """
    line = _as_line(pattern)
    if line not in parse_patterns(text):
        raise NotFound("The list has no such redaction pattern; see `lcm sensitive list`.")
    return "\n".join(kept for kept in text.split("\n") if kept.strip() != line)


def _as_line(pattern: str) -> str:
    """The pattern as it stands in a file."""
    line = pattern.strip()
    return f"\\{line}" if line.startswith("#") else line


def _refusal(pattern: str) -> str | None:
    """Why the pattern is refused, or None."""
    if not pattern.strip():
        return "it is empty"
    if "\n" in pattern or "\r" in pattern:
        return "it spans several lines"
    if _has_byte_escape(pattern):
        return "it matches single bytes (\\C), which may cut a character"
    try:
        compile_regex(pattern)
    except UnicodeEncodeError:
        return "it is not valid text"
    except re2.error as error:
        return _reason(error)
    return "it can match only the empty text" if _matches_only_empty(pattern) else None


def _has_byte_escape(pattern: str) -> bool:
    return "\\C" in pattern.replace("\\\\", "")


def _reason(error: Exception) -> str:
    """RE2's complaint in our words; the pattern, which RE2 quotes after the colon, is left out."""
    raw: Any = error.args[0] if error.args else b""
    said = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    return _REASONS.get(said.split(":", 1)[0], "it is not a valid RE2 regular expression")


def _matches_only_empty(pattern: str) -> bool:
    """True for anchors and empty groups: the range of possible matches at a fixed place is the empty text alone."""
    try:
        return bool(compile_regex(f"^(?:{pattern})").possiblematchrange(1) == (b"", b""))
    except re2.error:
        return False
