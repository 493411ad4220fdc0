"""Words and signs that tell decisions, open items, errors and code apart, in several languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What a question ends with.
QUESTION = ("?", "\uff1f")

_DECIDING = re.compile(
    r"(?<![\w-])(?:decid\w+|chosen?|chose|agreed|instead|because|rather than|must(?: not)?|prefer\w*"
    r"|we(?:'ll| will) use|let'?s use|entschied\w*|stattdessen|weil|niemals|immer|muss|d[ée]cid\w+|parce que|toujours"
    r"|jamais|porque|siempre|nunca)(?![\w-])"
    r"|决定|決定|因为|因為|必须|必須|不要|采用|採用|使用する|ことにし|代わりに|결정|때문|대신",
    re.IGNORECASE,
)
#: Elsewhere in a sentence these describe.
_RULING = re.compile(r"(?:\A|\b(?:we|you|i|to|must|should|please|and|but) )(?:never|always)\b", re.IGNORECASE)
_ADVISING = re.compile(r"(?<![\w-])(?:use|keep|do not|don'?t|should(?: not|n'?t)?)(?![\w-])", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:(?-i:TODO|FIXME)|next steps?|still (?:need|to|open|fail|pending)\w*|not yet|blocked (?:by|on|until)"
    r"|(?:is|are) (?:blocked|pending)|follow[- ]?up|left to do|to be done|what remains|remains? (?:to|open|un\w+)"
    r"|remaining (?:work|tasks?|items?|steps?|issues?|problems?)|noch nicht|pas encore|pendiente)\b|\btodo:|\[ \]"
    r"|待办|待辦|未完成|下一步|残り|次に|未対応|미완|다음",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"(?:E\s{1,9}\w+(?:Error|Exception)|E\s{2,9}\S|(?:[\w.]{1,80}\.)?\w{0,60}(?:Error|Exception)\b\s{0,9}:"
    r"|(?:error|fatal|panic|failed|failure|traceback)\b"
    r"|.{0,120}(?:command not found|No such file or directory|Permission denied)"
    r"|.{0,40}exit(?:ed with)? (?:code|status):? [1-9])",
    re.IGNORECASE,
)
#: A cheap look before the dear one: an ASCII text without any of these, in small letters, holds no cue.
_DECIDING_SIGNS = (
    *("decid", "chose", "agree", "instead", "because", "rather", "must", "never", "always", "prefer", "use", "keep"),
    *("do not", "don't", "dont", "should", "entschied", "stattdessen", "weil", "niemals", "immer", "muss", "parce"),
    *("toujours", "jamais", "porque", "siempre", "nunca"),
)
_OPEN_SIGNS = (
    *("todo", "fixme", "next step", "remain", "still ", "not yet", "blocked", "pending", "follow", "left to do"),
    *("to be done", "noch nicht", "pas encore", "pendiente", "[ ]"),
)
_ERROR_SIGNS = (
    *("error", "exception", "fatal", "panic", "fail", "traceback", "not found", "no such", "denied", "exit", "e  "),
)

_CODE_ENDS = "{}[(;=&\\"
_CODE_TAILS = ("',", '",', "),", "],", "`,", "},")
#: What an error message does not end with, but a line of code may.
_NO_ERROR_ENDS = (",", ";", "(", "{", "=>")
#: A line this long, of which less than a share is letters, is a row of figures or a progress bar.
_FIGURES_CHARS = 100
_LEAST_LETTERS = 0.4
_CODE_SIGNS = ("=>", "==", '{"', "</", "/>", " = ", " || ", "((", "){", "):")
_CODE_START = re.compile(
    r"[{}\]();+]|\[(?![\sA-Za-z])|//|/\*|\*/|<[/!?\w]|@@|---|@\w+\(|[\w.]{1,80}\(.*\)$"
    r"|\".*\",$|\"[^\"]{1,80}\":|'[^']{1,80}':|[\w.$'\"]{1,80}(?:: \S{1,80})?,$"
    r"|(?:const|let|var|import|export|from|return|def|class|function|async def|await|public|private|static|interface"
    r"|type|struct|fn|func|if|for|while|elif|else|try|catch|except|finally|switch|case|pub|use|package)\b"
    r".{0,400}[;{}(:=)\]]$"
)


def decision_weight(sentence: str) -> int:
    """How much a sentence sounds like a decision: two for each distinct word of deciding, one for each of advising.

    A question is none.
    """
    if sentence.endswith(QUESTION) or (sentence.isascii() and not _holds(sentence.lower(), _DECIDING_SIGNS)):
        return 0
    deciding = {match.group().lower() for match in _DECIDING.finditer(sentence)}
    advising = {match.group().lower() for match in _ADVISING.finditer(sentence)}
    rules = _RULING.search(sentence) is not None
    return 2 * (len(deciding) + rules) + len(advising)


def is_open(sentence: str) -> bool:
    """Whether a sentence tells of something that remains to be done; rows of tables do not."""
    if sentence.isascii() and not _holds(sentence.lower(), _OPEN_SIGNS):
        return False
    return _OPEN.search(sentence) is not None and " | " not in sentence


def is_error(line: str) -> bool:
    """Whether a line begins as error messages do."""
    if line.endswith(_NO_ERROR_ENDS) or not _holds(line.lower(), _ERROR_SIGNS):
        return False
    return _ERROR_LINE.match(line) is not None


def error_places(lines: Sequence[str]) -> list[int]:
    """Places of the lines that begin, indented or not, as error messages do."""
    return [place for place, line in enumerate(lines) if _holds(line.lower(), _ERROR_SIGNS) and is_error(line.strip())]


def is_code(line: str) -> bool:
    """Whether a line that is not blank and not indented looks like code, data or markup rather than prose."""
    if line[-1] in _CODE_ENDS or line[-2:] in _CODE_TAILS or _holds(line, _CODE_SIGNS):
        return True
    return _CODE_START.match(line) is not None or _is_figures(line)


def _is_figures(line: str) -> bool:
    return len(line) >= _FIGURES_CHARS and sum(map(str.isalpha, line)) < _LEAST_LETTERS * len(line)


def _holds(text: str, signs: tuple[str, ...]) -> bool:
    for sign in signs:  # noqa: SIM110 - any() with a generator takes twice the time
        if sign in text:
            return True
    return False
