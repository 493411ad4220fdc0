from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.cjk import character_pairs
from lcm.retrieval.terms import QueryTerms, camel_pieces, parse_query
from lcm.storage.contracts.lexical_search import MatchQuery


class TestParseQuery:
    def test_question_keeps_the_words_that_tell(self) -> None:
        """Stop words of a plain question are dropped."""
        assert parse_query("How did we fix the login bug?") == QueryTerms(words=("fix", "login", "bug"))

    def test_stop_words_stay_when_nothing_else_is_left(self) -> None:
        """A query of stop words only still searches for them."""
        assert parse_query("what is it").words == ("what", "is", "it")

    def test_quoted_words_are_a_phrase(self) -> None:
        """Text in double quotes is a phrase, stop words included."""
        assert parse_query('"out of memory" error') == QueryTerms(words=("error",), phrases=(("out", "of", "memory"),))

    @pytest.mark.parametrize(
        ("query", "phrase"),
        [
            ("max_tokens", ("max", "tokens")),
            ("src/app.py", ("src", "app", "py")),
            ("2026-02-17", ("2026", "02", "17")),
            ("lcm::storage", ("lcm", "storage")),
        ],
    )
    def test_identifiers_and_paths_are_phrases(self, query: str, phrase: tuple[str, ...]) -> None:
        """What is written together stands side by side in the index too."""
        assert parse_query(query) == QueryTerms(phrases=(phrase,))

    def test_camel_case_keeps_whole_and_pieces(self) -> None:
        """A camelCase name is one word, and its pieces may match alone."""
        assert parse_query("parseHTTPHeader") == QueryTerms(
            words=("parseHTTPHeader",), pieces=("parse", "HTTP", "Header")
        )

    def test_cjk_runs_stand_apart_from_words(self) -> None:
        """Chinese, Japanese and Korean text is taken as runs, Latin words beside it as words."""
        assert parse_query("FTS5全文検索 test") == QueryTerms(words=("FTS5", "test"), cjk=("全文検索",))

    def test_search_syntax_is_just_text(self) -> None:
        """Operators, stars and brackets of query languages mean nothing."""
        assert parse_query("NEAR(login* AND -bug)").words == ("NEAR", "login", "bug")

    def test_lone_quote_is_just_text(self) -> None:
        """A quote that is not closed changes nothing."""
        assert parse_query('size 5" disk') == QueryTerms(words=("size", "5", "disk"))

    def test_at_most_64_terms(self) -> None:
        """A query of 10,000 characters is cut to 64 terms."""
        assert len(parse_query(" ".join(f"w{number}" for number in range(2_000))).words) == 64

    @given(st.text(st.characters(codec=None)))
    def test_any_text_is_safe(self, query: str) -> None:
        """Whatever is typed, words hold neither quotes nor blanks nor lone surrogates."""
        terms = parse_query(query)

        for word in (*terms.words, *terms.cjk, *(word for phrase in terms.phrases for word in phrase)):
            assert word.encode() != b""
            assert not set(word) & set('" \n\0*()')


class TestMatchQueries:
    def test_all_requires_every_term(self) -> None:
        """The strict query passes terms on as they are."""
        assert parse_query("fix max_tokens").match_all() == MatchQuery(
            words=("fix",), phrases=(("max", "tokens"),), require_all=True
        )

    def test_any_takes_identifiers_and_runs_apart(self) -> None:
        """The loose query is content with a part of an identifier or a pair of characters."""
        assert parse_query("maxTokens a_b 全文検").match_any() == MatchQuery(
            words=("maxTokens", "a", "b", "max", "Tokens"), phrases=(("a", "b"),), cjk=("全文", "文検")
        )


class TestPieces:
    def test_words_of_one_piece_have_none(self) -> None:
        """Plain, capitalised and upper case words are not camelCase."""
        assert [camel_pieces(word) for word in ("plain", "Title", "HTTP", "naïveCase")] == [[], [], [], []]

    def test_single_character_is_its_own_pair(self) -> None:
        """A run of one character stays alone."""
        assert (character_pairs("日"), character_pairs("日本語")) == (["日"], ["日本", "本語"])
