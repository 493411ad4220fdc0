"""What text and integers every backend can hold, and how text is shortened without breaking a character."""

from __future__ import annotations

import re
import unicodedata

from lcm.errors import OutOfRange, UnsafeText

MAX_SAFE_INTEGER = 2**53 - 1

#: A cut moves back at most this far; longer joined sequences are not text a person wrote.
_MAX_BACK_OFF = 64
_ZERO_WIDTH_JOINER = "\u200d"

#: Terminal sequences: CSI (colours, cursor), OSC and its kin (titles, links), two-character ones. Bounded, so linear.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|\x9d)[^\x07\x1b\x9c]{0,2048}(?:\x07|\x1b\\|\x9c)|\x1b[ -/]{0,8}[0-~]"
)
#: Controls that are not white space, lone surrogates, and marks that reorder what a person reads.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_LONGEST_ESCAPE = 2100


def require_safe(field: str, text: str) -> None:
    """Refuse text that not every backend can store.

    Raises:
        UnsafeText: it contains U+0000 or a lone surrogate; the error names the field only.
    """
    if "\0" in text:
        raise UnsafeText(field)
    if not text.isascii() and _has_surrogate(text):
        raise UnsafeText(field, "a lone surrogate")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def require_safe_integer(field: str, value: object, minimum: int = 0) -> None:
    """Refuse what is not an integer of `minimum` .. 2^53-1; JSON clients lose precision above.

    Raises:
        OutOfRange: outside the range, a boolean, or no integer at all.
    """
    if type(value) is not int or not minimum <= value <= MAX_SAFE_INTEGER:
        raise OutOfRange(field, f"{minimum} to {MAX_SAFE_INTEGER}")


def clip(text: str, max_chars: int) -> str:
    """The longest beginning of at most `max_chars` code points that does not split what is read as one character.

    Combining marks, emoji joined by U+200D, skin tones, flags and Hangul syllables stay whole; the cut moves back for
    them by at most 64 code points.
    """
    limit = max(0, max_chars)
    if len(text) <= limit:
        return text
    lowest = limit - _MAX_BACK_OFF
    for cut in range(limit, max(0, lowest), -1):
        if not _joins(text, cut):
            return text[:cut]
    return text[:limit] if lowest > 0 else ""


def _joins(text: str, cut: int) -> bool:
    """Whether the characters before and after `cut` belong together."""
    before, after = text[cut - 1], text[cut]
    if after.isascii():
        return before == _ZERO_WIDTH_JOINER
    if _ZERO_WIDTH_JOINER in {before, after} or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if unicodedata.category(after).startswith("M") or _is_jamo_tail(after):
        return True
    return _is_regional(after) and _regional_run(text, cut) % 2 == 1


def _is_jamo_tail(character: str) -> bool:
    """A Hangul vowel or final consonant, which continues the syllable before it."""
    return "\u1160" <= character <= "\u11ff"


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regional_run(text: str, cut: int) -> int:
    """How many regional indicators stand directly before `cut`; two make a flag."""
    start = cut
    while start > max(0, cut - _MAX_BACK_OFF) and _is_regional(text[start - 1]):
        start -= 1
    return cut - start


def one_line(text: str, max_chars: int) -> str:
    """A snippet: one line of at most `max_chars` code points, safe to print.

    Terminal escape sequences, control characters, lone surrogates and direction marks are removed; white space is
    collapsed and stripped. Only as much of a long text is read as the snippet needs.
    """
    window = 4 * max_chars + 2 * _LONGEST_ESCAPE
    while True:
        cleaned = _cleaned(text[:window])
        # What the window may have cut in two lies within one escape of its end, beyond the snippet.
        if window >= len(text) or len(cleaned) > max_chars + _LONGEST_ESCAPE:
            return clip(cleaned, max_chars).rstrip()
        window *= 4


def _cleaned(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", _ESCAPES.sub("", text)).split())
