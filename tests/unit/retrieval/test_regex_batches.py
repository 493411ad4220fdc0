from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from lcm.retrieval.regex_batches import RegexBatches


def batches(pattern: str) -> RegexBatches:
    return RegexBatches(pattern, re2.Options())


class TestRegexBatches:
    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("b", [1, 2]),
            ("^b", [1]),
            ("b$", [1, 2]),
            (r"\Ab\z", [1]),
            (r"^b\n", []),
            (r"(?-m)^a$", [0]),
            (r"\Bb", [2]),
            (r"^$", [3]),
            ("a|x", [0, 2]),
            ("[^a]", [1, 2]),
        ],
    )
    def test_places_of_matches(self, pattern: str, expected: list[int]) -> None:
        """Each text is matched by itself, whatever stands beside it in the batch."""
        assert list(batches(pattern).match_texts([b"a", b"b", b"xb", b""])) == expected

    def test_empty_batch(self) -> None:
        """Nothing matches in nothing, also for a pattern that matches the empty text."""
        assert list(batches("x*").match_texts([])) == []

    def test_many_batches_with_matches(self) -> None:
        """Looking text by text from some batch on gives the same."""
        matcher = batches("b")

        assert [list(matcher.match_texts([b"a", b"b"])) for _ in range(20)] == [[1]] * 20

    @given(
        st.lists(st.text("ab \n-_é", max_size=6), max_size=8),
        st.lists(
            st.sampled_from(["a", "b", ".", "^", "$", r"\b", r"\B", r"\s", "[^a]", "a*", "(?:a|b)", r"\A", r"\z", "é"]),
            min_size=1,
            max_size=4,
        ),
    )
    def test_equal_to_text_by_text(self, texts: list[str], pieces: list[str]) -> None:
        """The common look leaves out no match and adds none."""
        pattern = "".join(pieces)
        expected = [at for at, text in enumerate(texts) if re2.search(pattern, text) is not None]

        assert list(batches(pattern).match_texts([text.encode() for text in texts])) == expected
