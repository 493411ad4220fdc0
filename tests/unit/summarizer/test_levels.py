from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.summaries import EscalationLevel
from lcm.summarizer.contract import SourceText
from lcm.summarizer.levels import max_output_tokens, target_tokens

NORMAL, AGGRESSIVE, FALLBACK = EscalationLevel.NORMAL, EscalationLevel.AGGRESSIVE, EscalationLevel.FALLBACK


def source(token_count: int, *, depth: int = 0, target: int = 1200) -> SourceText:
    return SourceText(conversation_id=1, text="x", token_count=token_count, depth=depth, target_tokens=target)


class TestTargetTokens:
    @pytest.mark.parametrize(
        ("token_count", "normal", "aggressive"),
        [(100, 192, 96), (1000, 350, 200), (3000, 1050, 600), (20_000, 1200, 640)],
    )
    def test_a_leaf_gets_a_share_of_its_input_within_bounds(
        self, token_count: int, normal: int, aggressive: int
    ) -> None:
        """A leaf's targets are 35 % and 20 % of the input, from 192 and 96 up to 1,200 and 640."""
        found = [target_tokens(source(token_count), level) for level in (NORMAL, AGGRESSIVE)]

        assert found == [normal, aggressive]

    @pytest.mark.parametrize(
        ("token_count", "configured", "normal", "aggressive"),
        [(20_000, 2000, 2000, 1066), (20_000, 100, 512, 256), (1800, 900, 900, 480), (1000, 2000, 600, 350)],
    )
    def test_a_condensed_summary_gets_the_configured_target_below_its_input(
        self, token_count: int, configured: int, normal: int, aggressive: int
    ) -> None:
        """A condensed target is the configured one, at least 512, and always a good deal less than the input."""
        text = source(token_count, depth=1, target=configured)

        assert [target_tokens(text, level) for level in (NORMAL, AGGRESSIVE)] == [normal, aggressive]

    def test_the_fallback_has_512_tokens(self) -> None:
        """The deterministic fallback aims at 512 tokens at any depth."""
        assert target_tokens(source(20_000, depth=3), FALLBACK) == 512

    @given(st.integers(0, 10**7), st.integers(0, 9), st.integers(1, 10**7))
    def test_aggressive_never_asks_for_more_than_normal(self, token_count: int, depth: int, target: int) -> None:
        """For every source the aggressive target is positive and at most the normal one."""
        text = source(token_count, depth=depth, target=target)

        assert 1 <= target_tokens(text, AGGRESSIVE) <= target_tokens(text, NORMAL)


class TestMaxOutputTokens:
    def test_the_limit_leaves_a_margin_over_the_target(self) -> None:
        """An answer may overshoot its target by half, and by 256 tokens at least."""
        assert [max_output_tokens(target) for target in (96, 1200, 2000)] == [352, 1800, 3000]
