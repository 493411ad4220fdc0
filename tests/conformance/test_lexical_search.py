"""The contract `LexicalSearchRepository`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.domain.conversations import Conversation
from lcm.domain.messages import Exclusion, Role
from lcm.errors import InvalidInput, OutOfRange, UnsafeText
from lcm.storage.contracts.lexical_search import (
    Matches,
    MatchQuery,
    MatchTexts,
    SearchFilters,
    TextKind,
    TextRow,
)
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import UNSAFE_TEXTS, compact_messages, shown_messages
from tests.factories import START, make_conversation, make_message, make_summary

pytestmark = pytest.mark.needs("lexical_search")

ALL = SearchFilters()
#: What a query language might stumble over.
AWKWARD = (
    '"',
    "'",
    "*",
    "^",
    "(",
    ")",
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    "words:",
    "-",
    "--",
    "\\",
    "%",
    "_",
    ";",
    "{",
    "+",
)


async def store(project: ProjectStorage, conversation: Conversation, *texts: str) -> None:
    batch = [make_message(text, minutes=minutes) for minutes, text in enumerate(texts)]
    await project.conversations.append_messages(conversation.conversation_id, batch)


async def matches(project: ProjectStorage, query: MatchQuery, *, limit: int = 99) -> list[str]:
    found = await project.lexical_search.match_messages(query, ALL, limit=limit)
    return [row.content for row in found.rows]


async def scanned(project: ProjectStorage, *literals: str) -> list[str]:
    rows = await project.lexical_search.scan_messages(literals, ALL, before_id=None, limit=99)
    return [row.content for row in rows]


class TestMatchMessages:
    async def test_a_row_tells_what_search_needs(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Ids, session, text, time, seq and role of the message."""
        (stored,) = await project.conversations.append_messages(
            conversation.conversation_id, [make_message("deploy failed", role="tool", minutes=5)]
        )

        found = await project.lexical_search.match_messages(MatchQuery(words=("deploy",)), ALL, limit=1)

        assert found.is_complete is True
        assert found.rows == (
            TextRow(
                kind=TextKind.MESSAGE,
                row_id=stored.message_id,
                conversation_id=conversation.conversation_id,
                session_id="session-1",
                content="deploy failed",
                occurred_at=START + timedelta(minutes=5),
                seq=0,
                role=Role.TOOL,
            ),
        )

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            (MatchQuery(words=("login",)), {"the login fails", "login token expired"}),
            (MatchQuery(words=("LOGIN",)), {"the login fails", "login token expired"}),
            (MatchQuery(words=("login", "token")), {"the login fails", "login token expired", "token login"}),
            (MatchQuery(words=("login", "token"), require_all=True), {"login token expired", "token login"}),
            (MatchQuery(phrases=(("login", "token"),)), {"login token expired"}),
            (MatchQuery(words=("fails",), phrases=(("token", "login"),)), {"the login fails", "token login"}),
            (MatchQuery(words=("expired",), phrases=(("token", "login"),), require_all=True), set()),
            (MatchQuery(words=("absent",)), set()),
            (MatchQuery(), set()),
        ],
    )
    async def test_terms(
        self, project: ProjectStorage, conversation: Conversation, query: MatchQuery, expected: set[str]
    ) -> None:
        """Any word, all words, phrases; upper or lower case; nothing asked for is nothing found."""
        await store(project, conversation, "the login fails", "login token expired", "token login", "unrelated")
        expected = expected | ({"token login"} if query.words in {("login",), ("LOGIN",)} else set())

        assert set(await matches(project, query)) == expected

    async def test_phrase_written_as_one_word(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The words of a name are found side by side and written together, but not scattered."""
        await store(project, conversation, "set max_tokens", "set maxTokens", "tokens, at the max")
        query = MatchQuery(phrases=(("max", "tokens"),), require_all=True)

        assert set(await matches(project, query)) == {"set max_tokens", "set maxTokens"}

    async def test_exclusion_is_told(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A row says why its message is not in context."""
        meta = make_message("deploy notes", exclusion=Exclusion.META)
        await project.conversations.append_messages(conversation.conversation_id, [meta, make_message("deploy")])

        found = await project.lexical_search.match_messages(MatchQuery(words=("deploy",)), ALL, limit=9)

        assert {row.seq: row.exclusion for row in found.rows} == {0: Exclusion.META, 1: None}

    async def test_inflected_words(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Words of one stem and words without their accents find each other."""
        await store(project, conversation, "migrations were running", "café")

        assert await matches(project, MatchQuery(words=("migration",))) == ["migrations were running"]
        assert await matches(project, MatchQuery(words=("cafe",))) == ["café"]

    @pytest.mark.parametrize(
        ("run", "expected"),
        [
            ("日本語", ["日本語の文章"]),
            ("本語", ["日本語の文章"]),
            ("文章", ["日本語の文章"]),
            ("日語", []),
            ("中", ["中"]),
        ],
    )
    async def test_cjk_runs(
        self, project: ProjectStorage, conversation: Conversation, run: str, expected: list[str]
    ) -> None:
        """A part of a run of CJK characters finds it; the characters must stand side by side."""
        await store(project, conversation, "日本語の文章", "本日は晴天", "中", "plain")

        assert await matches(project, MatchQuery(cjk=(run,))) == expected

    @pytest.mark.parametrize("limit", [0, 1, 3, 4, 9])
    async def test_limit_and_completeness(
        self, project: ProjectStorage, conversation: Conversation, limit: int
    ) -> None:
        """Equal ranks come newest id first; `is_complete` tells whether the limit cut any."""
        await store(project, conversation, *["same words"] * 4)

        found = await project.lexical_search.match_messages(MatchQuery(words=("same",)), ALL, limit=limit)

        assert [row.seq for row in found.rows] == [3, 2, 1, 0][:limit]
        if limit:
            assert found.is_complete is (limit >= 4)

    @pytest.mark.parametrize("text", AWKWARD)
    async def test_any_text_is_safe(self, project: ProjectStorage, conversation: Conversation, text: str) -> None:
        """Nothing in a term is syntax, wherever it stands."""
        await store(project, conversation, "plain words", f"before {text} after")

        for query in (
            MatchQuery(words=(text,)),
            MatchQuery(cjk=(text,)),
            MatchQuery(phrases=((text, "plain"), (text,)), require_all=True),
        ):
            await matches(project, query)
        assert await matches(project, MatchQuery(words=("plain", text))) != []

    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
    async def test_any_generated_text_is_safe(self, project: ProjectStorage, text: str) -> None:
        """No text makes the index fail."""
        await matches(project, MatchQuery(words=(text,), cjk=(text,), phrases=((text, text),), require_all=True))
        await scanned(project, text)

    async def test_many_terms(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A pasted page as a query is searched like any other."""
        await store(project, conversation, "needle")
        words = tuple(f"w{n}" for n in range(2_000))

        assert await matches(project, MatchQuery(words=(*words, "needle"))) == ["needle"]
        assert await matches(project, MatchQuery(words=(*words, "needle"), require_all=True)) == []

    @pytest.mark.parametrize("text", UNSAFE_TEXTS)
    async def test_unsafe_text(self, project: ProjectStorage, text: str) -> None:
        """Terms, literals and session ids that cannot be stored are refused."""
        search = project.lexical_search
        with pytest.raises(UnsafeText, match="query"):
            await search.match_messages(MatchQuery(words=(text,)), ALL, limit=1)
        with pytest.raises(UnsafeText, match="query"):
            await search.match_summaries(MatchQuery(cjk=(text,)), ALL, limit=1)
        with pytest.raises(UnsafeText, match="literal"):
            await search.scan_messages([text], ALL, before_id=None, limit=1)
        with pytest.raises(UnsafeText, match="session_id"):
            await search.scan_summaries(["x"], SearchFilters(session_id=text), before_id=None, limit=1)

    @pytest.mark.parametrize("limit", [-1, 2**53, 2**70])
    async def test_limit_out_of_range(self, project: ProjectStorage, limit: int) -> None:
        """A limit is a safe integer."""
        with pytest.raises(OutOfRange, match="limit"):
            await project.lexical_search.match_messages(MatchQuery(words=("x",)), ALL, limit=limit)
        with pytest.raises(OutOfRange, match="limit"):
            await project.lexical_search.scan_messages(["x"], ALL, before_id=None, limit=limit)


class TestScanMessages:
    @pytest.mark.parametrize(
        ("literals", "expected"),
        [
            (["foo"], ["FooBar", "a foo"]),
            (["FOO"], ["FooBar", "a foo"]),
            (["foo", "bar"], ["FooBar"]),
            (["oB"], ["FooBar"]),
            (["50%"], ["50% done"]),
            (["5%d"], []),
            (["a_b"], ["x a_b y"]),
            (["A_B"], ["x a_b y"]),
            (["C:\\dir"], ["C:\\dir"]),
            (["Ü"], ["Über"]),
            (["ü"], []),
            ([], ["Über", "C:\\dir", "x a_b y", "50% done", "FooBar", "a foo"]),
            ([""], ["Über", "C:\\dir", "x a_b y", "50% done", "FooBar", "a foo"]),
        ],
    )
    async def test_every_literal_must_occur(
        self, project: ProjectStorage, conversation: Conversation, literals: list[str], expected: list[str]
    ) -> None:
        """Substrings, either case of ASCII letters, wildcards as themselves, newest first."""
        await store(project, conversation, "a foo", "FooBar", "50% done", "x a_b y", "C:\\dir", "Über")

        assert await scanned(project, *literals) == expected

    async def test_pages(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Pages go on before the last id seen."""
        await store(project, conversation, *[f"page {n}" for n in range(5)])
        scan = project.lexical_search.scan_messages

        first = await scan(["page"], ALL, before_id=None, limit=2)
        second = await scan(["page"], ALL, before_id=first[-1].row_id, limit=9)

        assert [row.seq for row in first] == [4, 3]
        assert [row.seq for row in second] == [2, 1, 0]
        assert await scan(["page"], ALL, before_id=None, limit=0) == []

    async def test_long_literal(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A literal of 100,000 characters is looked for like a short one."""
        long = "x" * 100_000
        await store(project, conversation, f"before {long} after", "x")

        assert len(await scanned(project, long)) == 1


def every(texts: Sequence[bytes]) -> Sequence[int]:
    return range(len(texts))


async def newest(
    project: ProjectStorage, matching: MatchTexts = every, *literals: str, limit: int = 99, max_bytes: int = 1_000_000
) -> Matches:
    return await project.lexical_search.find_newest(
        TextKind.MESSAGE, literals, ALL, matching, limit=limit, max_bytes=max_bytes
    )


class TestFindNewest:
    async def test_newest_by_time(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Rows come by descending time, whatever the order of storing; equal times by descending id."""
        batch = [make_message(text, minutes=minutes) for text, minutes in (("b", 5), ("a", 1), ("c", 9), ("d", 9))]
        await project.conversations.append_messages(conversation.conversation_id, batch)

        found = await newest(project)

        assert [row.content for row in found.rows] == ["d", "c", "b", "a"]

    async def test_literals_and_the_test_both_decide(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Only texts with every literal are given to the test, as UTF-8, and only those it names are matches."""
        await store(project, conversation, "foo 日本", "FOO bar", "other")
        given: list[bytes] = []

        def matching(texts: Sequence[bytes]) -> Sequence[int]:
            given.extend(texts)
            return [at for at, text in enumerate(texts) if b"bar" in text]

        found = await newest(project, matching, "foo")

        assert [row.content for row in found.rows] == ["FOO bar"]
        assert sorted(given) == [b"FOO bar", "foo 日本".encode()]

    async def test_count_goes_beyond_the_limit(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Every match is counted; as many rows as asked for are given."""
        await store(project, conversation, *[f"word {number}" for number in range(300)])

        found = await newest(project, limit=2)

        assert [row.content for row in found.rows] == ["word 299", "word 298"]
        assert (found.count, found.is_complete) == (300, True)

    async def test_no_limit_is_a_count(self, project: ProjectStorage, conversation: Conversation) -> None:
        """With a limit of 0 matches are only counted."""
        await store(project, conversation, "a", "b")

        found = await newest(project, limit=0)

        assert (found.rows, found.count) == ((), 2)

    async def test_more_rows_than_a_statement_takes(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A limit above a thousand is kept."""
        await store(project, conversation, *["word"] * 1_005)

        assert len((await newest(project, limit=1_003)).rows) == 1_003

    async def test_bytes_are_bounded(self, project: ProjectStorage, conversation: Conversation) -> None:
        """The newest texts are looked at until the bound, and the answer tells that there are more."""
        await store(project, conversation, "old", *["x"] * 64)

        found = await newest(project, max_bytes=10)

        assert (found.count, found.is_complete) == (64, False)
        assert "old" not in {row.content for row in found.rows}

    async def test_literals_with_wildcards(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Percent, underscore and slash stand for themselves."""
        await store(project, conversation, "max_tokens", "max-tokens", "100% sure", "100 sure", "a/_b")

        for literal, expected in (("X_T", "max_tokens"), ("0% s", "100% sure"), ("/_", "a/_b")):
            assert [row.content for row in (await newest(project, every, literal)).rows] == [expected]

    async def test_cancelling_ends_the_scan(self, project: ProjectStorage, conversation: Conversation) -> None:
        """After a cancellation only the batch at hand is looked at, and the project goes on."""
        await store(project, conversation, *["word"] * 2_000)
        loop, started, may_go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        batches = 0

        def matching(texts: Sequence[bytes]) -> Sequence[int]:
            nonlocal batches
            batches += 1
            loop.call_soon_threadsafe(started.set)
            may_go_on.wait(timeout=60)
            return ()

        scan = asyncio.create_task(newest(project, matching))
        await started.wait()
        scan.cancel()
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await scan

        assert batches == 1
        assert len((await newest(project)).rows) == 99


class TestFilters:
    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            (SearchFilters(), {0, 1, 2, 3, 9}),
            (SearchFilters(session_id="session-1"), {0, 1, 2, 3}),
            (SearchFilters(session_id="session"), set()),
            (SearchFilters(conversation_id=2), {9}),
            (SearchFilters(conversation_id=99), set()),
            (SearchFilters(since=START + timedelta(minutes=2)), {2, 3, 9}),
            (SearchFilters(until=START + timedelta(minutes=2)), {0, 1, 2}),
            (SearchFilters(since=START + timedelta(minutes=1), until=START + timedelta(minutes=2)), {1, 2}),
            (SearchFilters(session_id="session-2", until=START), set()),
        ],
    )
    async def test_inclusive_and_together(
        self, project: ProjectStorage, conversation: Conversation, filters: SearchFilters, expected: set[int]
    ) -> None:
        """Conversation, exact session and client's time, all of them at once, for matches and scans."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        await store(project, conversation, "word 0", "word 1", "word 2", "word 3")
        await project.conversations.append_messages(other.conversation_id, [make_message("word 9", minutes=9)])
        search = project.lexical_search

        matched = await search.match_messages(MatchQuery(words=("word",)), filters, limit=99)
        scan = await search.scan_messages(["word"], filters, before_id=None, limit=99)

        assert {int(row.content[-1]) for row in matched.rows} == expected
        assert {int(row.content[-1]) for row in scan} == expected

    async def test_before_the_limit(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A limit counts only what the filters let through."""
        other = await project.conversations.create_conversation(make_conversation("session-2"))
        await store(project, conversation, "rare word here")
        await store(project, other, *["word word word"] * 50)
        only = SearchFilters(session_id="session-1")

        matched = await project.lexical_search.match_messages(MatchQuery(words=("word",)), only, limit=1)
        scan = await project.lexical_search.scan_messages(["word"], only, before_id=None, limit=1)

        assert [row.content for row in matched.rows] == ["rare word here"]
        assert matched.is_complete is True
        assert [row.content for row in scan] == ["rare word here"]

    async def test_time_without_zone(self, project: ProjectStorage) -> None:
        """A time that does not say its zone is refused."""
        with pytest.raises(InvalidInput, match="since"):
            await project.lexical_search.match_messages(
                MatchQuery(words=("x",)), SearchFilters(since=START.replace(tzinfo=None)), limit=1
            )


class TestSummaries:
    async def test_a_row_tells_what_search_needs(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Id, depth and the end of the range, by match and by scan."""
        new = make_summary(conversation.conversation_id, "the login was repaired 日本語", depth=2)
        stored = await project.summaries.insert_summary(new)
        search = project.lexical_search

        matched = await search.match_summaries(MatchQuery(words=("login",)), ALL, limit=9)
        by_cjk = await search.match_summaries(MatchQuery(cjk=("本語",)), ALL, limit=9)
        scan = await search.scan_summaries(["REPAIRED"], ALL, before_id=None, limit=9)

        assert list(matched.rows) == list(by_cjk.rows) == scan
        (row,) = scan
        assert (row.kind, row.summary_id, row.depth) == (TextKind.SUMMARY, stored.summary_id, 2)
        assert (row.occurred_at, row.session_id) == (START + timedelta(minutes=30), "session-1")
        assert (row.seq, row.role) == (None, None)

    async def test_time_is_the_end_of_the_range(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Filters compare the latest time; a summary without one is outside every range."""
        new = make_summary(conversation.conversation_id, "login")
        await project.summaries.insert_summary(new)
        await project.summaries.insert_summary(replace(new, latest_at=None))
        search, query = project.lexical_search, MatchQuery(words=("login",))

        at = SearchFilters(since=START + timedelta(minutes=30), until=START + timedelta(minutes=30))
        after = SearchFilters(since=START + timedelta(minutes=31))

        assert len((await search.match_summaries(query, at, limit=9)).rows) == 1
        assert len((await search.match_summaries(query, after, limit=9)).rows) == 0
        assert len((await search.match_summaries(query, ALL, limit=9)).rows) == 2

    async def test_messages_and_summaries_are_apart(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A word of a message is not found among summaries, and the reverse."""
        await store(project, conversation, "message word")
        await project.summaries.insert_summary(make_summary(conversation.conversation_id, "summary word"))

        assert await matches(project, MatchQuery(words=("word",))) == ["message word"]


class TestSoundness:
    async def test_sound_after_every_kind_of_change(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Appending, summarizing and deleting keep the index sound."""
        ids = await shown_messages(project, conversation.conversation_id, 6)
        await compact_messages(project, conversation.conversation_id, ids[:2])
        await store(project, conversation, "日本語", "", "\x01 \u202e")
        await project.conversations.delete_messages(ids[2:4])

        assert await project.lexical_search.find_missing() == []

    async def test_rebuild_changes_no_answer(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A refilled index is sound and finds the same."""
        await store(project, conversation, "the login fails", "日本語", *["filler"] * 600)
        await project.summaries.insert_summary(make_summary(conversation.conversation_id, "login"))

        await project.lexical_search.rebuild()

        assert await project.lexical_search.find_missing() == []
        assert await matches(project, MatchQuery(words=("login",))) == ["the login fails"]
        assert await matches(project, MatchQuery(cjk=("日本",))) == ["日本語"]
        found = await project.lexical_search.match_summaries(MatchQuery(words=("login",)), ALL, limit=9)
        assert len(found.rows) == 1

    async def test_rebuild_in_a_transaction(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Rebuilding is part of a transaction like any other operation."""
        await store(project, conversation, "the login fails")

        async with project.transaction() as tx:
            await tx.lexical_search.rebuild()
            assert await tx.lexical_search.find_missing() == []

        assert await matches(project, MatchQuery(words=("login",))) == ["the login fails"]


class TestIsolation:
    async def test_other_project(
        self, project: ProjectStorage, other_project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Search looks in one project only."""
        await store(project, conversation, "the login fails")

        assert await matches(other_project, MatchQuery(words=("login",))) == []
        assert await scanned(other_project, "login") == []
