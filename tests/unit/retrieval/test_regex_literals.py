from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.retrieval.regex_literals import required_literals


class TestRequiredLiterals:
    @pytest.mark.parametrize(
        ("pattern", "literals"),
        [
            ("ConnectionError", ["ConnectionError"]),
            (r"foo\.bar", ["foo.bar"]),
            (r"error: \d+ files", ["error: ", " files"]),
            ("colou?r", ["colo"]),
            ("abc*def", ["def", "ab"]),
            ("abc+def", ["abc", "def"]),
            ("abc{0,2}def", ["def", "ab"]),
            ("(optional)?required", ["required"]),
            (r"[abc\]]+tail[]x]", ["tail"]),
            ("^start.end$", ["start", "end"]),
            ("(?i)Timeout", ["Timeout"]),
            ("(?i)Tasks", ["Ta"]),
            ("(?i)Größe", ["Gr"]),
            ("Größe", ["Größe"]),
        ],
    )
    def test_literals(self, pattern: str, literals: list[str]) -> None:
        """Runs at the top level that no match can do without, longest first."""
        assert required_literals(pattern) == literals

    @pytest.mark.parametrize("pattern", ["foo|bar", r"\pL+name", r"\x41bc", r"\Qa.b\E", "a.b.c", ".*", ""])
    def test_nothing_certain(self, pattern: str) -> None:
        """Alternatives, escapes not taken apart and single characters give none."""
        assert required_literals(pattern) == []

    @given(
        st.lists(
            st.sampled_from(
                [
                    "ab",
                    "cde",
                    ".",
                    "x?",
                    "y*",
                    "z+",
                    "(q|r)?",
                    "[fg]",
                    r"\.",
                    r"\d",
                    "{",
                    "w{2}",
                    "v{0,1}",
                    "(?:no)*",
                    "^",
                ]
            ),
            max_size=6,
        ),
        st.text("abcdefgqrvwxyzno.01{", max_size=20),
    )
    def test_every_match_contains_them(self, pieces: list[str], text: str) -> None:
        """Whatever a pattern matches holds all of its required literals."""
        pattern = "".join(pieces)

        if re.search(pattern, text):
            assert all(literal in text for literal in required_literals(pattern))
