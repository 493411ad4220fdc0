"""How much of a source fits into one request to a model with a limited context. Pure figures in estimated tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lcm.domain.summaries import EscalationLevel
from lcm.summarizer.contract import SourceText
from lcm.summarizer.levels import max_output_tokens
from lcm.summarizer.prompts import build_request
from lcm.summarizer.truncation import clip_to_tokens
from lcm.tokens import estimate_tokens

#: Estimates miss; models count up to so much more than they say.
_USABLE_SHARE = 0.8
#: Of what is usable: most for the preceding summary, and most for the target.
_PREVIOUS_SHARE = 8
_TARGET_SHARE = 4
#: Less text than this at once is not worth a call.
_LEAST_ROOM = 256


@dataclass(frozen=True, slots=True)
class Fitted:
    """A source adapted to a window.

    Attributes:
        source: with a target and a preceding summary that leave room for the text.
        room: most tokens of text in one request; 0 when the window is too small for any use.
    """

    source: SourceText
    room: int


def fit(source: SourceText, level: EscalationLevel, window: int) -> Fitted:
    """What a window of so many tokens, answer included, leaves for the text of a source at this level."""
    usable = int(window * _USABLE_SHARE)
    fitted = replace(
        source,
        previous=_clipped(source.previous, usable // _PREVIOUS_SHARE),
        target_tokens=max(1, min(source.target_tokens, usable // _TARGET_SHARE)),
    )
    request = build_request(replace(fitted, text=""), level)
    fixed = estimate_tokens(request.system) + estimate_tokens(request.prompt)
    room = usable - fixed - max_output_tokens(request.target_tokens)
    return Fitted(fitted, room if room >= _LEAST_ROOM else 0)


def _clipped(text: str | None, max_tokens: int) -> str | None:
    if text is None or estimate_tokens(text) <= max_tokens:
        return text
    return clip_to_tokens(text, max_tokens)
