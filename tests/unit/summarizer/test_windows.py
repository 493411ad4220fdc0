from __future__ import annotations

from dataclasses import replace

import pytest

from lcm.domain.summaries import EscalationLevel
from lcm.summarizer.contract import SourceText
from lcm.summarizer.levels import max_output_tokens
from lcm.summarizer.prompts import build_request
from lcm.summarizer.windows import fit
from lcm.tokens import estimate_tokens

TEXT = "A sentence about the parser. " * 3000
SOURCE = SourceText(1, TEXT, estimate_tokens(TEXT), depth=0, target_tokens=1200, previous="What came before. " * 300)

both_levels = pytest.mark.parametrize("level", [EscalationLevel.NORMAL, EscalationLevel.AGGRESSIVE])


class TestFit:
    @both_levels
    @pytest.mark.parametrize("depth", [0, 1, 3])
    @pytest.mark.parametrize("window", [4096, 8192, 32_768, 128_000])
    def test_a_full_request_and_its_answer_fit(self, level: EscalationLevel, depth: int, window: int) -> None:
        """Text of the whole room, prompt and answer take at most four fifths of the window."""
        source = replace(SOURCE, depth=depth)
        fitted = fit(source, level, window)

        text = TEXT[: 4 * fitted.room]
        request = build_request(replace(fitted.source, text=text, token_count=estimate_tokens(text)), level)

        used = estimate_tokens(request.system + request.prompt) + max_output_tokens(request.target_tokens)
        assert fitted.room >= 256
        assert used <= 0.8 * window + 1

    @both_levels
    def test_a_large_window_changes_nothing(self, level: EscalationLevel) -> None:
        """Target and preceding summary stay as they are."""
        assert fit(SOURCE, level, 128_000).source == SOURCE

    def test_a_small_window_shortens_the_preceding_summary_and_the_target(self) -> None:
        """An eighth of what is usable for the one, a quarter for the other."""
        source = fit(SOURCE, EscalationLevel.NORMAL, 4096).source

        assert source.previous is not None
        assert SOURCE.previous is not None
        assert SOURCE.previous.startswith(source.previous)
        assert (estimate_tokens(source.previous), source.target_tokens) == (409, 819)

    def test_a_window_that_holds_no_more_than_the_prompt_is_of_no_use(self) -> None:
        """There is no room at all rather than a crumb."""
        assert fit(SOURCE, EscalationLevel.NORMAL, 1024).room == 0
