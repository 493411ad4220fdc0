from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lcm.retrieval.snippet import place_of, snippet_at


class TestSnippetAt:
    def test_short_text_is_shown_whole_on_one_line(self) -> None:
        """Line breaks become blanks."""
        assert snippet_at("first line\nsecond  line", 11) == "first line second line"

    def test_starts_at_a_word_before_the_place(self) -> None:
        """What is left out before is marked, and no word is cut at the start."""
        text = "word " * 100 + "needle in the hay"

        assert snippet_at(text, 500) == "…" + "word " * 8 + "needle in the hay"

    @given(st.text(st.characters(codec=None)), st.integers(0, 50))
    def test_is_one_line_of_at_most_200_characters(self, text: str, place: int) -> None:
        """For any text and place."""
        shown = snippet_at(text * 20, min(place, len(text)))

        assert len(shown) <= 200
        assert "\n" not in shown


class TestPlaceOf:
    def test_first_literal_found_in_any_case(self) -> None:
        """The first literal that occurs decides; 0 when none does."""
        assert place_of("say Hello there", ["absent", "hello"]) == 4
        assert place_of("say Hello there", ["absent"]) == 0
