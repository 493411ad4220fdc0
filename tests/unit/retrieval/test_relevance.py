from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lcm.retrieval.hits import Hit, find_hits
from lcm.retrieval.relevance import Query, Reading, best_place, read
from lcm.retrieval.relevance import relevance as relevance_of
from lcm.retrieval.stems import fold, stem
from lcm.retrieval.terms import parse_query


def relevance(query: str, text: str) -> float:
    prepared = Query.of(parse_query(query))
    return relevance_of(prepared, read(prepared, text))


def relevance_beside(query: str, text: str, *, before: str = "", two_before: str = "", after: str = "") -> float:
    prepared = Query.of(parse_query(query))
    beside = [read(prepared, each) for each in (before, two_before, after)]
    return relevance_of(prepared, read(prepared, text), beside)


def place(query: str, text: str) -> int:
    prepared = Query.of(parse_query(query))
    return best_place(prepared, text, read(prepared, text).hits)


class TestRelevance:
    def test_nothing_in_common_is_zero(self) -> None:
        """A text without any term has relevance 0."""
        assert relevance("database migration", "the weather is fine") == 0.0

    def test_all_words_rank_above_some(self) -> None:
        """A text with both words ranks above one that repeats one of them."""
        assert relevance("database migration", "a migration of the database") > relevance(
            "database migration", "migration migration migration"
        )

    def test_neighbours_rank_above_scattered_words(self) -> None:
        """Words side by side rank above the same words far apart."""
        far = "database " + "and other things " * 5 + "migration"

        assert relevance("database migration", "x " * 45 + "database migration") > relevance("database migration", far)

    def test_phrase_counts_wholly_only_side_by_side(self) -> None:
        """A quoted phrase found word by word counts about half."""
        assert relevance('"out of memory"', "it ran out of memory") > 0.8
        assert relevance('"out of memory"', "memory of the way out") < 0.5

    def test_other_forms_of_a_word_match(self) -> None:
        """Plural and tense do not matter."""
        assert relevance("database migration", "we migrated both databases") > 0.5

    def test_accents_and_case_do_not_matter(self) -> None:
        """`cafe` finds `Café`."""
        assert relevance("cafe", "at the Café") == relevance("cafe", "at the cafe")

    def test_short_text_ranks_above_a_long_one(self) -> None:
        """The same single word says more about a short text."""
        assert relevance("migration", "the migration ran") > relevance(
            "migration", "the migration ran " + "word " * 500
        )

    def test_camel_case_and_snake_case_find_each_other(self) -> None:
        """The parts of a name match another spelling of it."""
        assert relevance("maxTokens", "set max_tokens") > 0.4
        assert relevance("max_tokens", "set maxTokens") > 0.2

    def test_cjk_by_pairs_of_characters(self) -> None:
        """A run counts by the share of its pairs."""
        assert relevance("全文検索", "これは全文検索です") > relevance("全文検索", "これは全文を検索する") > 0.5

    def test_word_at_the_end_of_a_huge_text_is_found(self) -> None:
        """Text far behind the beginning counts, and its place is known."""
        text = "x " * 100_000 + "the migration ran"

        assert place("migrations", text) == 200_004
        assert relevance("migrations", text) > 0.5

    def test_best_place_is_where_most_is_said(self) -> None:
        """The passage with both words is chosen, not the first with one."""
        text = "database " + "filler " * 60 + "the database migration"

        assert place("database migration", text) == 433

    def test_query_without_terms_scores_zero(self) -> None:
        """Punctuation alone says nothing about any text."""
        assert read(Query.of(parse_query("-> (")), "-> (") == Reading((), 0.0, ())
        assert relevance("-> (", "-> (") == 0.0

    def test_words_of_the_message_before_count_in_part(self) -> None:
        """An answer is read with its question: the word that it lacks counts 0.6 of its own."""
        alone = relevance("database migration", "the migration ran")
        answered = relevance_beside("database migration", "the migration ran", before="and the database?")
        whole = relevance("database migration", "the database, the migration ran")

        assert alone < answered < whole

    def test_nearer_neighbours_count_more(self) -> None:
        """The message before counts most, then the one after, then the one two before."""
        query, text, other = "database migration", "the migration ran", "the database"

        values = [
            relevance(query, text),
            relevance_beside(query, text, two_before=other),
            relevance_beside(query, text, after=other),
            relevance_beside(query, text, before=other),
        ]

        assert values == sorted(set(values))

    def test_neighbours_alone_are_nothing(self) -> None:
        """A text without any word of the query stays at 0, whatever stands beside it."""
        assert relevance_beside("database migration", "fine", before="database migration", after="database") == 0.0

    def test_neighbours_do_not_change_a_text_with_every_word(self) -> None:
        """What a text says itself counts once."""
        text = "the database migration"

        assert relevance_beside("database migration", text, before=text) == relevance("database migration", text)

    @given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
    def test_is_between_zero_and_one(self, query: str, text: str) -> None:
        """For any query and text, also for a text that repeats the query."""
        assert 0.0 <= relevance(query, text) <= 1.0
        assert 0.0 <= relevance(query, f"{query} {text} {query}") <= 1.0
        assert 0.0 <= relevance_beside(query, text, before=query, after=query) <= 1.0


class TestFindHits:
    def test_finds_parts_of_camel_case_words(self) -> None:
        """A part in the middle of a name is a hit with its own place."""
        assert find_hits("the parseHTTPHeader call", frozenset({"header"})) == [Hit(13, 19, "header")]

    def test_ignores_the_middle_of_a_word(self) -> None:
        """`art` is not found in `party`."""
        assert find_hits("a party", frozenset({"art"})) == []

    def test_finds_every_part_of_a_camel_case_word(self) -> None:
        """Parts are found apart from each other, in order."""
        found = find_hits("parseHTTPHeader", frozenset({"pars", "header"}))

        assert found == [Hit(0, 5, "pars"), Hit(9, 15, "header")]

    def test_lower_case_may_be_longer_than_the_text(self) -> None:
        """A letter whose small form is two characters does not move the places behind it."""
        assert find_hits("\u0130\u0130 Login", frozenset({"login"})) == [Hit(3, 8, "login")]


class TestStem:
    def test_forms_of_one_word(self) -> None:
        """Forms of a word share one stem, without case and accents."""
        assert {stem(word) for word in ("Connect", "connected", "connection", "CONNECTING")} == {"connect"}
        assert stem("Résumé") == stem("resume")

    def test_folding_keeps_places(self) -> None:
        """Accents go letter for letter, so the text keeps its length."""
        assert fold("Żółw über") == "Zołw uber"
