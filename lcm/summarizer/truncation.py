"""The last level of escalation: the beginning of the source, quoted and marked, without any model."""

from __future__ import annotations

import re
from collections.abc import Callable

from lcm.summarizer.levels import FALLBACK_TOKENS
from lcm.text import clip
from lcm.tokens import estimate_tokens

TRUNCATION_MARKER = "[Truncated for context management]"
NOTHING_SAID = "Nothing was said in this part of the conversation."

_MARKER_WORDS = "truncated for context management"
_MARKER = re.compile(rf"\[?{_MARKER_WORDS}\]?", re.IGNORECASE)
FRAME = "The original text begins as follows; it is quoted, not addressed to the reader."
#: From the most explanatory frame to none: a tiny source has no room for more.
_FRAMES = (f"{FRAME}\n{{}}\n{TRUNCATION_MARKER}", f"{{}}\n{TRUNCATION_MARKER}", "{}")
_LEAST_BODY_TOKENS = (32, 8, 1)
_SMALLEST = "…"
_MOST_CHARS_PER_TOKEN = 4


def strip_marker(text: str) -> str:
    """The text without the truncation marker, however it is written; blank space at the ends goes too."""
    # Looked for in a plain way first: the pattern takes many times longer over a whole source.
    if _MARKER_WORDS in text.lower():
        text = _MARKER.sub("", text)
    return text.strip()


def truncate(text: str, token_count: int) -> str:
    """The beginning of a text that is not blank, as quoted lines and the marker line.

    At most 512 estimated tokens and fewer than `token_count` and than the text's own estimate. A source of a few tokens
    has no room for the frame or the marker and loses them; one of a single token becomes an ellipsis.
    """
    budget = min(FALLBACK_TOKENS, min(token_count, estimate_tokens(text)) - 1)
    source = strip_marker(text)
    for frame, least in zip(_FRAMES, _LEAST_BODY_TOKENS, strict=True):
        room = budget - estimate_tokens(frame.format(""))
        body = _quoted(clip_to_tokens(source, room, shown=_quoted).rstrip())
        if room >= least and body:
            return frame.format(body)
    return _SMALLEST


def clip_to_tokens(text: str, max_tokens: int, *, shown: Callable[[str], str] = str) -> str:
    """The longest beginning of at most `max_tokens` estimated tokens, cut as `lcm.text.clip` does.

    `shown` is what the beginning becomes before it is measured; it must not shrink as the beginning grows.
    """
    low, high = 0, min(len(text), max(0, max_tokens) * _MOST_CHARS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(shown(text[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return clip(text, low)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())
