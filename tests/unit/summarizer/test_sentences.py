from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.summarizer.sentences import Form, cut_at_clause, sentences, unwrapped


def prose(text: str) -> list[str]:
    return [piece for piece, form in sentences(text) if form is Form.PROSE]


class TestSentences:
    def test_a_line_is_split_at_the_ends_of_sentences(self) -> None:
        """Small letters and numbers of lists do not begin a sentence; full-width marks need no space."""
        assert prose("See e.g. this one. Then 2. Next! 好的。完成了。") == [
            "See e.g. this one.",
            "Then 2. Next!",
            "好的。",
            "完成了。",
        ]

    def test_a_colon_takes_the_next_line_along(self) -> None:
        """A line that ends with a colon never stands alone."""
        assert prose("Instead of:\n\n- two files\n- three files") == ["Instead of: two files", "three files"]

    @pytest.mark.parametrize("following", ["```\ncode\n```", "const a = 1;", ""])
    def test_a_colon_before_code_or_nothing_is_dropped(self, following: str) -> None:
        """An introduction to code that is not shown says nothing."""
        assert prose(f"Instead of:\n{following}") == []

    def test_bullets_line_numbers_and_stars_are_removed(self) -> None:
        """What only lays out a line is not part of it."""
        assert prose("  12→- **Goal**: done\n3. third\n> quoted\n| a | b |\n|---|---|") == [
            "Goal: done",
            "third",
            "quoted",
            "a | b",
        ]

    def test_forms_are_told_apart(self) -> None:
        """Fenced lines and lines that look like code are code, titles are headings."""
        text = "## Title\nplain\n```\nplain in a fence\n```\nreturn x;"

        assert [form for _, form in sentences(text)] == [Form.HEADING, Form.PROSE, Form.CODE, Form.CODE]

    @given(st.text(max_size=300))
    def test_pieces_are_single_printable_lines(self, text: str) -> None:
        """Whatever the text, a piece is one line without a control character, of at most 480 characters."""
        assert all(piece.isprintable() or "\n" not in piece for piece, _ in sentences(text))
        assert all(0 < len(piece) <= 480 for piece, _ in sentences(text))


class TestUnwrapped:
    @pytest.mark.parametrize(
        ("text", "plain"),
        [
            ("<command-name>/clear</command-name>\n <command-args></command-args>", "/clear "),
            ("&lt;local-command-stdout&gt;done&lt;/local-command-stdout&gt;", "done"),
            ("a<system-reminder>secret <b> text</system-reminder>b", "ab"),
            ("a<system-reminder>never closed", "anever closed"),
            ("if a < b and c > d", "if a < b and c > d"),
        ],
    )
    def test_tags_of_clients_are_removed(self, text: str, plain: str) -> None:
        """Tags, reminders and entities go, what a person wrote stays."""
        assert unwrapped(text) == plain


class TestCutAtClause:
    @pytest.mark.parametrize(
        ("text", "max_chars", "cut"),
        [
            ("short", 10, "short"),
            ("We keep the file, but we close it early", 30, "We keep the file…"),
            ("one two three four five", 12, "one two…"),
            ("我们使用新的解析器、因为旧的太慢了", 12, "我们使用新的解析器…"),
            ("abcdefghijkl", 6, "abcde…"),
        ],
    )
    def test_it_cuts_between_clauses_then_words_then_characters(self, text: str, max_chars: int, cut: str) -> None:
        """The cut is at the last border that leaves a third of the room used."""
        assert cut_at_clause(text, max_chars) == cut
