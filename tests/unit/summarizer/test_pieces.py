from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.summarizer.pieces import split_text
from lcm.tokens import estimate_tokens


def message(number: int, words: int = 30) -> str:
    return f"[2026-02-17 07:{number:02} UTC] user\n" + " ".join(f"word{number}" for _ in range(words))


class TestSplitText:
    def test_a_text_that_fits_is_one_piece(self) -> None:
        """Nothing is cut without need."""
        assert split_text("one two", 2) == ["one two"]

    @pytest.mark.parametrize("text", ["", " \n\n "])
    def test_a_blank_text_is_no_piece(self, text: str) -> None:
        """There is nothing to read."""
        assert split_text(text, 5) == []

    def test_messages_stay_whole(self) -> None:
        """Ten messages of 52 tokens in pieces of 130: each piece begins with the line of a message."""
        text = "\n\n".join(message(number) for number in range(10))

        pieces = split_text(text, 130)

        assert "\n\n".join(pieces) == text
        assert all(piece.startswith("[2026-02-17 07:") for piece in pieces)

    def test_pieces_are_of_about_equal_size(self) -> None:
        """What is a little too long is halved, not split into a whole and a crumb."""
        sizes = [estimate_tokens(piece) for piece in split_text("word " * 1000, 1200)]

        assert sizes == [719, 531]

    @pytest.mark.parametrize(
        ("text", "pieces"),
        [
            ("aaaa bbbb\n\ncccc dddd", ["aaaa bbbb", "cccc dddd"]),
            ("aaaa bbbb\ncccc dddd", ["aaaa bbbb", "cccc dddd"]),
            ("aaaaaaaa bbbbbbbb", ["aaaaaaaa", "bbbbbbbb"]),
        ],
    )
    def test_cuts_at_blank_lines_then_lines_then_words(self, text: str, pieces: list[str]) -> None:
        """The best boundary in the second half of a piece is taken."""
        assert split_text(text, 3) == pieces

    @pytest.mark.parametrize("character", ["👩‍👩‍👧‍👦", "e\u0301", "🇩🇪", "한"])
    def test_no_character_is_split_in_an_endless_word(self, character: str) -> None:
        """Joined emoji, combining marks, flags and syllables stay whole; nothing is lost."""
        text = character * 200

        pieces = split_text(text, 40)

        assert "".join(pieces) == text
        assert len(pieces) > 1
        assert all(len(piece) % len(character) == 0 for piece in pieces)

    @given(st.text(max_size=400), st.integers(1, 60))
    def test_everything_but_white_space_is_kept_in_order(self, text: str, max_tokens: int) -> None:
        """No piece is blank, and together they are the text."""
        pieces = split_text(text, max_tokens)

        assert "".join("".join(piece.split()) for piece in pieces) == "".join(text.split())
        assert all(piece.strip() for piece in pieces)

    @given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=400), st.integers(1, 60))
    def test_no_piece_is_longer_than_asked_for(self, text: str, max_tokens: int) -> None:
        """As far as no single character is longer."""
        assert all(estimate_tokens(piece) <= max_tokens for piece in split_text(text, max_tokens))
