from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.domain.messages import Exclusion
from lcm.errors import InvalidInput, OutOfRange
from lcm.retrieval.search import SearchAnswer, search
from lcm.storage.contracts.lexical_search import SearchFilters, TextKind
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import START, make_conversation, make_message, make_summary


async def store(project: ProjectStorage, *contents: str, session_id: str = "session-1") -> int:
    """A conversation with these messages, one minute apart."""
    conversation = await project.conversations.create_conversation(make_conversation(session_id))
    messages = [make_message(content, minutes=number) for number, content in enumerate(contents)]
    await project.conversations.append_messages(conversation.conversation_id, messages)
    return conversation.conversation_id


def ids(answer: SearchAnswer) -> list[str]:
    return [hit.id for hit in answer.hits]


class TestSearch:
    async def test_question_in_plain_language(self, project: ProjectStorage) -> None:
        """A question finds the message that answers it, in another form of its words."""
        await store(project, "The weather is fine.", "We fixed the login bug by renewing tokens.", "Lunch?")

        answer = await search(project, "How did we fix the login bugs?")

        assert ids(answer) == ["1:1"]
        assert answer.hits[0].snippet == "We fixed the login bug by renewing tokens."
        assert (answer.hits[0].seq, answer.hits[0].session_id, answer.complete) == (1, "session-1", True)

    async def test_all_words_before_some(self, project: ProjectStorage) -> None:
        """Messages with every word rank before those with one, then the newest first."""
        await store(project, "database", "the database migration", "database", "nothing")

        assert ids(await search(project, "database migration")) == ["1:1", "1:2", "1:0"]

    async def test_cjk(self, project: ProjectStorage) -> None:
        """A run inside a longer text without spaces is found, and so is a single character."""
        await store(project, "データベースの全文検索を実装した", "天気がいい")

        assert ids(await search(project, "全文検索")) == ["1:0"]
        assert ids(await search(project, "天")) == ["1:1"]

    async def test_part_of_a_word_is_found_by_a_scan(self, project: ProjectStorage) -> None:
        """When the index has nothing, the letters are looked for."""
        await store(project, "raised ConnectionResetError here", "other")

        answer = await search(project, "ResetErr")

        assert (ids(answer), answer.hits[0].relevance, answer.complete) == (["1:0"], 0.3, True)

    async def test_punctuation_is_found_by_a_scan(self, project: ProjectStorage) -> None:
        """A query without letters is looked for as typed."""
        await store(project, "a -> b", "a b")

        assert ids(await search(project, "->")) == ["1:0"]

    async def test_another_spelling_of_a_name(self, project: ProjectStorage) -> None:
        """Snake case finds camelCase, and the reverse, beside words that only look alike."""
        await store(project, "call verifyInvoiceLedger() first", "call verify_invoice_ledger() first", "verify it")

        assert set(ids(await search(project, "verify_invoice_ledger"))[:2]) == {"1:0", "1:1"}
        assert ids(await search(project, "verifyInvoiceLedger"))[:2] == ["1:0", "1:1"]

    async def test_answer_is_read_with_its_question(self, project: ProjectStorage) -> None:
        """Of two texts that say the same, the one that follows a message with the other word comes first."""
        await store(project, "where is the invoice?", "kept in Oslo", "x", "y", "z", "and the mail?", "kept in Oslo")

        hits = (await search(project, "invoice kept Oslo")).hits

        assert [hit.id for hit in hits[:2]] == ["1:1", "1:6"]
        assert hits[0].relevance > hits[1].relevance

    @pytest.mark.parametrize("exclusion", [Exclusion.META, Exclusion.CLIENT_SUMMARY, Exclusion.DUPLICATE])
    async def test_background_ranks_behind_conversation(self, project: ProjectStorage, exclusion: Exclusion) -> None:
        """What a client put in comes after an equal text of the conversation, although it is newer."""
        conversation = await project.conversations.create_conversation(make_conversation())
        messages = [make_message("run the tests"), make_message("run the tests", minutes=1, exclusion=exclusion)]
        await project.conversations.append_messages(conversation.conversation_id, messages)

        hits = (await search(project, "run tests")).hits

        assert [hit.id for hit in hits] == ["1:0", "1:1"]
        assert hits[1].relevance == round(0.6 * hits[0].relevance, 6)

    async def test_rewound_branch_ranks_like_conversation(self, project: ProjectStorage) -> None:
        """A person typed it, so only its age decides."""
        conversation = await project.conversations.create_conversation(make_conversation())
        messages = [make_message("run it"), make_message("run it", minutes=1, exclusion=Exclusion.REWOUND)]
        await project.conversations.append_messages(conversation.conversation_id, messages)

        assert ids(await search(project, "run")) == ["1:1", "1:0"]

    async def test_summaries_are_not_crowded_out(self, project: ProjectStorage) -> None:
        """Among many better messages one of five places is kept for a summary."""
        conversation_id = await store(project, *["login bug"] * 20)
        summary = await project.summaries.insert_summary(
            make_summary(conversation_id, "The login bug was found, " + "among other things, " * 10)
        )

        answer = await search(project, "login bug")

        assert len(answer.hits) == 5
        assert [hit.id for hit in answer.hits if hit.kind is TextKind.SUMMARY] == [summary.summary_id]

    async def test_layers_choose_the_kind(self, project: ProjectStorage) -> None:
        """Only summaries are searched when asked so, and the scope says it."""
        conversation_id = await store(project, "login bug")
        await project.summaries.insert_summary(make_summary(conversation_id, "the login bug"))

        answer = await search(project, "login", layers=frozenset({TextKind.SUMMARY}))

        assert [hit.kind for hit in answer.hits] == [TextKind.SUMMARY]
        assert answer.scope.startswith("summaries of project ")
        assert answer.considered == {TextKind.SUMMARY: 1}

    async def test_filters_apply_before_the_limit(self, project: ProjectStorage) -> None:
        """A session filter finds its one message among many of another session."""
        await store(project, *["login bug"] * 150)
        await store(project, "a login", session_id="other")

        answer = await search(project, "login bug", limit=1, filters=SearchFilters(session_id="other"))

        assert ids(answer) == ["2:0"]
        assert answer.scope.endswith(", session other")

    async def test_time_filter_is_inclusive(self, project: ProjectStorage) -> None:
        """Messages from the given moment on are found."""
        await store(project, "login", "login", "login")

        answer = await search(project, "login", filters=SearchFilters(since=START + timedelta(minutes=1)))

        assert ids(answer) == ["1:2", "1:1"]

    async def test_more_matches_than_preselected_is_told(self, project: ProjectStorage) -> None:
        """An answer from the best 100 of more is not complete."""
        await store(project, *["login"] * 101)

        assert not (await search(project, "login")).complete

    async def test_as_many_whole_matches_as_preselected(self, project: ProjectStorage) -> None:
        """A hundred texts with all words leave no place for the one with some: not complete."""
        await store(project, "login", *["login bug"] * 100)

        assert not (await search(project, "login bug")).complete

    async def test_all_matches_are_complete(self, project: ProjectStorage) -> None:
        """As many matches as are preselected are all there are."""
        await store(project, *["login"] * 100)

        assert (await search(project, "login")).complete

    @pytest.mark.parametrize(
        "query", [" ".join(f"w{number}" for number in range(65)), "".join(map(chr, range(0x4E00, 0x4E50)))]
    )
    async def test_more_terms_than_are_looked_for(self, project: ProjectStorage, query: str) -> None:
        """A query of more terms than are looked for is answered, but not completely."""
        await store(project, query)

        answer = await search(project, query)

        assert (ids(answer), answer.complete) == (["1:0"], False)

    @pytest.mark.parametrize("query", ["", " \n"])
    async def test_empty_query(self, project: ProjectStorage, query: str) -> None:
        """Nothing to search for is an error, not an empty answer."""
        with pytest.raises(InvalidInput):
            await search(project, query)

    @pytest.mark.parametrize("limit", [0, 1001, -1, True])
    async def test_limit_out_of_range(self, project: ProjectStorage, limit: int) -> None:
        """The limit is 1 to 1000."""
        with pytest.raises(OutOfRange):
            await search(project, "login", limit=limit)

    async def test_time_without_zone(self, project: ProjectStorage) -> None:
        """A naive time is refused."""
        with pytest.raises(InvalidInput):
            await search(project, "login", filters=SearchFilters(since=START.replace(tzinfo=None)))

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(query=st.text(st.characters(codec=None), min_size=1).filter(lambda query: query.strip() != ""))
    async def test_any_query_is_safe(self, project: ProjectStorage, query: str) -> None:
        """Any text that is not blank is answered, with relevance in 0..1."""
        answer = await search(project, query)

        assert all(0.0 <= hit.relevance <= 1.0 for hit in answer.hits)
