from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lcm.compaction.policy import CompactionPolicy
from lcm.settings.load import load_settings
from lcm.settings.model import Settings
from tests.unit.compaction.items import POLICY


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(environ={"HOME": str(tmp_path), "LCM_HOME": str(tmp_path), "LCM_LEAF_CHUNK_TOKENS": "4000"})


class TestCompactionPolicy:
    def test_automatic_takes_everything_from_the_settings(self, settings: Settings) -> None:
        """Configured and default values arrive."""
        policy = CompactionPolicy.automatic(settings)

        assert policy.leaf_chunk_tokens == 4000
        assert (policy.fresh_tail_count, policy.leaf_min_fanout, policy.condensed_min_fanout) == (32, 8, 4)
        assert (policy.leaf_target_tokens, policy.condensed_target_tokens) == (1200, 2000)
        assert policy.context_threshold == 0.75

    def test_manual_differs_in_the_fresh_tail(self, settings: Settings) -> None:
        """By hand the tail is 8 messages, all else as configured."""
        automatic = CompactionPolicy.automatic(settings)

        assert CompactionPolicy.manual(settings) == replace(automatic, fresh_tail_count=8)

    def test_condensation_needs_the_target_or_a_tenth_of_a_chunk(self) -> None:
        """The greater of the two."""
        assert replace(POLICY, condensed_target_tokens=900, leaf_chunk_tokens=20_000).condensation_min_tokens == 2000
        assert replace(POLICY, condensed_target_tokens=900, leaf_chunk_tokens=4_000).condensation_min_tokens == 900

    @pytest.mark.parametrize(
        ("before", "after", "is_saving"),
        [(100, 90, True), (100, 91, False), (1, 0, True), (0, 0, False), (5, 9, False)],
    )
    def test_a_pass_must_save_a_tenth(self, before: int, after: int, is_saving: bool) -> None:
        """Exactly 10 % is enough, and nothing out of nothing is not."""
        assert POLICY.is_saving(before, after) is is_saving
