"""How long a summary should be at each level of escalation: pure figures in estimated tokens."""

from __future__ import annotations

from lcm.domain.summaries import EscalationLevel
from lcm.summarizer.contract import SourceText

#: Most tokens of the deterministic fallback.
FALLBACK_TOKENS = 512

#: Fewest tokens that a leaf is asked to have at the normal level, unless configured lower.
LEAST_LEAF_TARGET = 192

_LEAF_LEAST = {EscalationLevel.NORMAL: LEAST_LEAF_TARGET, EscalationLevel.AGGRESSIVE: 96}
_LEAF_SHARE = {EscalationLevel.NORMAL: 0.35, EscalationLevel.AGGRESSIVE: 0.20}
_CONDENSED_LEAST = {EscalationLevel.NORMAL: 512, EscalationLevel.AGGRESSIVE: 256}
#: A condensed summary that keeps more of its sources than this is not worth its call.
_CONDENSED_SHARE = {EscalationLevel.NORMAL: 0.60, EscalationLevel.AGGRESSIVE: 0.35}
_LEAST_MARGIN = 256


def target_tokens(source: SourceText, level: EscalationLevel) -> int:
    """Tokens a summary of this source should have at this level; at least 1.

    A leaf gets a share of its input between a lower bound and the configured target (about half of it when aggressive);
    a condensed summary gets the configured target, but never more than a share of its input.
    """
    if level is EscalationLevel.FALLBACK:
        return FALLBACK_TOKENS
    return _leaf_target(source, level) if source.depth == 0 else _condensed_target(source, level)


def max_output_tokens(target: int) -> int:
    """The output limit sent with a request: a complete answer fits even when it overshoots its target by half."""
    return target + max(_LEAST_MARGIN, target // 2)


def _leaf_target(source: SourceText, level: EscalationLevel) -> int:
    wanted = max(_LEAF_LEAST[level], int(_LEAF_SHARE[level] * source.token_count))
    return max(1, min(wanted, _configured(source, level)))


def _condensed_target(source: SourceText, level: EscalationLevel) -> int:
    wanted = max(_CONDENSED_LEAST[level], _configured(source, level))
    return max(1, min(wanted, int(_CONDENSED_SHARE[level] * source.token_count)))


def _configured(source: SourceText, level: EscalationLevel) -> int:
    """The configured target; the aggressive level takes 640 of 1,200."""
    return source.target_tokens if level is EscalationLevel.NORMAL else source.target_tokens * 8 // 15
