"""Which texts need no look at the values in their JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.redaction.patterns import RULES
from lcm.redaction.scrub import Scrubber

SCRUBBER = Scrubber()
KEYWORDS = sorted({keyword for rule in RULES for keyword in rule.keywords})
PIECES = st.sampled_from(
    [
        *KEYWORDS[::20],
        "password",
        "secret",
        "hunter2Xy9",
        "name",
        "value",
        "p\u017f",
        "-p",
        "cookie",
        "\n",
        '"',
        "\\",
        "/",
    ]
)
TEXTS = st.lists(PIECES, max_size=4).map("".join)
VALUES = st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


class TestIsClear:
    @pytest.mark.parametrize("is_ascii", [False, True])
    def test_no_keyword_is_overlooked_in_json(self, *, is_ascii: bool) -> None:
        """However JSON escapes a keyword, a text that holds it is not clear."""
        texts = {keyword: json.dumps([keyword], ensure_ascii=is_ascii) for keyword in KEYWORDS}

        assert [keyword for keyword, text in texts.items() if SCRUBBER.is_clear(text)] == []

    @pytest.mark.parametrize("text", ['{"\\u0070assword": "q8Zt77xxPq"}', '{"url": "https:\\/\\/u:q8Zt77xx@h"}'])
    def test_escaped_letters_are_not_clear(self, text: str) -> None:
        """What stands behind an escape cannot be told by searching."""
        assert not SCRUBBER.is_clear(text)

    @given(value=VALUES)
    def test_a_clear_text_has_nothing_to_replace(self, value: object) -> None:
        """Neither the text nor the JSON in it would be changed by a scrub."""
        text = json.dumps(value, ensure_ascii=False)

        if SCRUBBER.is_clear(text):
            assert SCRUBBER.scrub(text).text == text
            assert SCRUBBER.scrub_json(json.loads(text)) == (value, {})

    def test_ordinary_arguments_are_clear(self) -> None:
        """Otherwise the search would be for nothing."""
        assert SCRUBBER.is_clear('{"command":"ls -l src","description":"List the files"}')

    def test_with_a_pattern_of_ones_own_nothing_is_clear(self) -> None:
        """Such a pattern has no keyword that would announce it."""
        assert not Scrubber(global_patterns=["ls"]).is_clear("plain")


class TestScrubName:
    def test_it_is_scrubbed_like_any_text(self) -> None:
        """Asked twice, the answer is the same, and a secret in the name is replaced."""
        name = "mcp__AKIAQWERTYUIOP123456"

        assert SCRUBBER.scrub_name(name) == SCRUBBER.scrub_name(name) == SCRUBBER.scrub(name).text
        assert "AKIA" not in SCRUBBER.scrub_name(name)
