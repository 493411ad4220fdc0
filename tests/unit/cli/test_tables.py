from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lcm.cli.tables import Column, layout, text_width

COLUMNS = (Column("id"), Column("count", is_number=True), Column("client", drop=1), Column("title", may_shrink=True))
ROWS: list[list[object]] = [["sum_1", 1234, "claude", "A title that is rather long"], ["sum_22", None, "codex", ""]]


class TestLayout:
    def test_in_full_without_a_width(self) -> None:
        """Output to a file is as wide as it needs to be; numbers stand to the right."""
        assert layout(COLUMNS, ROWS, None) == [
            "id      count  client  title",
            "sum_1   1,234  claude  A title that is rather long",
            "sum_22      -  codex   -",
        ]

    def test_a_long_text_is_cut_first(self) -> None:
        """A title gives up its end before a column is left out."""
        assert layout(COLUMNS, ROWS, 40)[1] == "sum_1   1,234  claude  A title that is…"

    def test_a_column_is_left_out_when_that_is_not_enough(self) -> None:
        """The column with a drop number goes; ids and numbers stay whole."""
        assert layout(COLUMNS, ROWS, 30) == [
            "id      count  title",
            "sum_1   1,234  A title that i…",
            "sum_22      -  -",
        ]

    def test_wide_characters_take_two_columns(self) -> None:
        """Columns stand below each other in every script."""
        assert layout((Column("a"), Column("b")), [["登录", "x"], ["e\u0301", "y"]], None) == [
            "a     b",
            "登录  x",
            "e\u0301     y",
        ]

    def test_a_title_cannot_control_the_terminal(self) -> None:
        """Escape sequences and line breaks do not reach the output."""
        assert layout((Column("a"),), [["one\n\x1b[31mtwo\x1b[0m"]], None)[1] == "one two"

    @given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.integers(15, 60))
    def test_texts_that_shrink_always_fit(self, titles: list[str], width: int) -> None:
        """Whatever the titles are, no line is wider than the terminal."""
        lines = layout((Column("title", may_shrink=True),), [[title] for title in titles], width)

        assert all(text_width(line) <= width for line in lines)
