import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.tokens import estimate_tokens

ANY_TEXT = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("ab漢かн😀한\u200d")))


class TestEstimateTokens:
    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("é" * 4, 1),
            ("漢", 2),
            ("漢字", 3),
            ("かな", 3),
            ("한글", 3),
            ("😀", 2),
            ("✅✅", 4),
            ("abcd漢字", 4),
            ("привет", 2),
        ],
    )
    def test_a_text_costs_what_its_script_costs(self, text: str, tokens: int) -> None:
        """Four characters are a token, a CJK character one and a half, an emoji two; the sum is rounded up."""
        assert estimate_tokens(text) == tokens

    def test_a_lone_surrogate_is_counted_like_a_letter(self) -> None:
        """Text that is not valid Unicode is estimated, not refused."""
        assert estimate_tokens("\ud800abc") == 1

    @given(ANY_TEXT, ANY_TEXT)
    def test_concatenation_costs_the_sum_or_one_less(self, left: str, right: str) -> None:
        """Splitting a text changes its estimate by one token at most."""
        total = estimate_tokens(left) + estimate_tokens(right)

        assert total - 1 <= estimate_tokens(left + right) <= total

    @given(ANY_TEXT)
    def test_only_the_empty_text_is_free(self, text: str) -> None:
        """The estimate is never negative, and 0 only for the empty text."""
        assert (estimate_tokens(text) > 0) == (text != "")
