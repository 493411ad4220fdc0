"""Splitting the text of a migration into statements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lcm.migrations.splitting import split_statements

_TRIGGER = "CREATE TRIGGER t BEFORE INSERT ON a BEGIN SELECT 1; SELECT CASE WHEN 1 THEN 2 END; END;"


class TestSplitStatements:
    def test_splits_after_each_semicolon(self) -> None:
        """Comments and blank lines stay with the statement that follows."""
        assert split_statements("-- first\nSELECT 1;\n\nSELECT 2;") == ("-- first\nSELECT 1;", "\n\nSELECT 2;")

    def test_keeps_a_trigger_body_together(self) -> None:
        """Semicolons between BEGIN and END do not split."""
        assert split_statements(f"{_TRIGGER} SELECT 3;") == (_TRIGGER, " SELECT 3;")

    def test_keeps_strings_comments_and_quoted_names_together(self) -> None:
        """A semicolon inside them is text."""
        text = "SELECT 'a;b', \"c;d\" /* e;f */ -- g;h\n;"

        assert split_statements(text) == (text,)

    def test_returns_an_unfinished_statement_as_it_stands(self) -> None:
        """The database is to refuse it."""
        assert split_statements("SELECT 1; SELECT ';") == ("SELECT 1;", " SELECT ';")

    def test_has_no_statement_in_an_empty_text(self) -> None:
        """Nothing in, nothing out."""
        assert split_statements("") == ()

    @given(st.text(alphabet="ab ;'\"-/*\n"))
    def test_loses_and_adds_nothing(self, text: str) -> None:
        """Joined, the statements are the text."""
        assert "".join(split_statements(text)) == text
