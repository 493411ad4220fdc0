from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.summarizer.salience import LEAST_INFORMATION, Salience, information, words_of
from lcm.summarizer.sections import Entry, Section


def salience(*texts: str) -> Salience:
    read = Salience([Entry(Section.NOTED, text) for text in texts])
    read.read(range(len(texts)))
    return read


class TestInformation:
    @pytest.mark.parametrize("text", ["You're absolutely right!", "Let me see.", "OK, working on it.", "好的。", ""])
    def test_phrases_say_nothing(self, text: str) -> None:
        """Short common words are below what is worth a line, without any list of phrases."""
        assert information(text) < LEAST_INFORMATION

    @pytest.mark.parametrize(
        "text",
        [
            "All 17 tests pass.",
            "It is in lcm/parser.py.",
            "解析器现在可以处理长行了。",
            "Парсер теперь считает строки.",
        ],
    )
    def test_facts_say_something(self, text: str) -> None:
        """Names, numbers, outcomes and sentences of any script are worth a line."""
        assert information(text) >= LEAST_INFORMATION


class TestWordsOf:
    def test_scripts_without_spaces_are_read_in_pairs(self) -> None:
        """Names and paths stay whole, Han characters become overlapping pairs."""
        assert words_of("see src/a-b.ts: 解析器") == ["see", "src/a-b.ts", "解析", "析器"]


class TestSalience:
    def test_rare_words_score_higher(self) -> None:
        """Of two lines alike in length the one with the rarer words wins."""
        read = salience(*["the common sentence"] * 20, "the unusual phrasing")

        assert read.score(20) > read.score(0)

    def test_a_repetition_scores_nothing(self) -> None:
        """Once a line is covered, another one with the same facts adds nothing."""
        read = salience(
            "The parser counts 12 broken lines.", "So the parser counts 12 broken lines!", "Ship it in May."
        )
        read.cover(0)

        assert (read.is_new(1), read.score(1)) == (False, 0)
        assert read.is_new(2)

    def test_encoded_bytes_are_worth_nothing(self) -> None:
        """A line with a long run of letters and digits is never picked."""
        assert salience("key " + "QUJD" * 30).score(0) == 0

    @given(st.lists(st.text(max_size=40), min_size=1, max_size=10))
    def test_covering_never_raises_a_score(self, texts: list[str]) -> None:
        """What is known already can only make other lines less telling."""
        read = salience(*texts)
        before = [read.score(index) for index in range(len(texts))]
        read.cover(0)

        assert all(read.score(index) <= before[index] <= read.most(index) for index in range(len(texts)))
