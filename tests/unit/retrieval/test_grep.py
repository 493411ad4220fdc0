from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.errors import InvalidInput, OutOfRange
from lcm.retrieval import grep as grep_module
from lcm.retrieval.grep import GrepAnswer, GrepMode, GrepScope, HitKind, grep
from lcm.storage.contracts.project import ProjectStorage
from tests.factories import START, make_conversation, make_message, make_summary


async def store(project: ProjectStorage, *contents: str, session_id: str = "session-1", from_minute: int = 0) -> int:
    conversation = await project.conversations.create_conversation(make_conversation(session_id))
    messages = [make_message(content, minutes=from_minute + number) for number, content in enumerate(contents)]
    await project.conversations.append_messages(conversation.conversation_id, messages)
    return conversation.conversation_id


def ids(answer: GrepAnswer) -> list[str]:
    return [hit.id for hit in answer.hits]


class TestFullText:
    async def test_finds_what_is_typed_inside_words_in_either_case(self, project: ProjectStorage) -> None:
        """Letters match as a substring, in either case, newest first."""
        await store(project, "max_tokens=5", "MAX_TOKENS", "max tokens", "100%")

        assert ids(await grep(project, "x_tok")) == ["1:1", "1:0"]
        assert ids(await grep(project, "0%")) == ["1:3"]

    async def test_all_words_must_occur(self, project: ProjectStorage) -> None:
        """Several words may stand apart; quoted ones may not."""
        await store(project, "the database has a migration", "database migration", "database")

        assert ids(await grep(project, "database migration")) == ["1:1", "1:0"]
        assert ids(await grep(project, '"database migration"')) == ["1:1"]

    async def test_cjk(self, project: ProjectStorage) -> None:
        """Text without spaces is found anywhere."""
        await store(project, "データベースの全文検索", "天気")

        assert ids(await grep(project, "全文")) == ["1:0"]


class TestRegex:
    async def test_finds_matches_with_a_snippet(self, project: ProjectStorage) -> None:
        """A pattern finds its messages, case as typed."""
        await store(project, "Error: 12 files", "error: 7 files", "Error: no files")

        answer = await grep(project, r"Error: \d+ files", mode=GrepMode.REGEX)

        assert [(hit.id, hit.snippet) for hit in answer.hits] == [("1:0", "Error: 12 files")]
        assert (answer.match_count, answer.complete) == (1, True)

    async def test_pattern_without_literals_looks_at_everything(self, project: ProjectStorage) -> None:
        """A pattern that no literal can preselect is still complete."""
        await store(project, "a1", "b", "c3")

        assert ids(await grep(project, r"\w\d", mode=GrepMode.REGEX)) == ["1:2", "1:0"]

    @pytest.mark.parametrize("pattern", ["(", "a**", r"(?<=x)y", r"(a)\1", "((a{100}){100}){100}"])
    async def test_invalid_pattern(
        self, project: ProjectStorage, pattern: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """What RE2 cannot take is one safe line, and nothing is printed."""
        with pytest.raises(InvalidInput, match="not a valid RE2 expression") as caught:
            await grep(project, pattern, mode=GrepMode.REGEX)

        assert pattern not in str(caught.value)
        assert capfd.readouterr() == ("", "")

    async def test_nested_repetition_ends(self, project: ProjectStorage) -> None:
        """A pattern that takes exponential time elsewhere is answered."""
        await store(project, "a" * 50_000)

        assert ids(await grep(project, "(a+)+$b", mode=GrepMode.REGEX)) == []

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(pattern=st.text(st.sampled_from("ab1.*+?()[]{}|\\^$-,i:dQEp\0\ud800 é"), max_size=12))
    async def test_any_pattern_is_answered_or_refused(self, project: ProjectStorage, pattern: str) -> None:
        """Nothing but `InvalidInput` comes out of any pattern."""
        for mode in GrepMode:
            with contextlib.suppress(InvalidInput):
                assert (await grep(project, pattern, mode=mode)).hits == ()


class TestScopeAndLimits:
    async def test_scope(self, project: ProjectStorage) -> None:
        """Messages and summaries can be searched apart."""
        conversation_id = await store(project, "login")
        summary = await project.summaries.insert_summary(make_summary(conversation_id, "the login"))

        assert ids(await grep(project, "login", scope=GrepScope.SUMMARIES)) == [summary.summary_id]
        assert ids(await grep(project, "login", scope=GrepScope.MESSAGES)) == ["1:0"]
        assert {hit.kind for hit in (await grep(project, "login")).hits} == {HitKind.MESSAGE, HitKind.SUMMARY}

    async def test_newest_by_time_although_stored_first(self, project: ProjectStorage) -> None:
        """An old session imported later does not push out newer messages."""
        await store(project, "login new", from_minute=1_000)
        await store(project, "login old", session_id="old")

        answer = await grep(project, "login", limit=1)

        assert (ids(answer), answer.match_count) == (["1:0"], 2)

    async def test_every_batch_is_looked_at(self, project: ProjectStorage) -> None:
        """Matches far behind the first texts are found, and all are counted."""
        await store(project, "login a", *["x"] * 200, "login b", *["x"] * 200, "login c")

        answer = await grep(project, "lo(g|k)in", mode=GrepMode.REGEX)

        assert (ids(answer), answer.match_count) == (["1:402", "1:201", "1:0"], 3)

    async def test_bounded_scan_is_told(self, project: ProjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
        """A scan that ends early says that it is not complete."""
        monkeypatch.setattr(grep_module, "_MAX_EXAMINED_BYTES", 3)
        await store(project, *["login"] * 65)

        answer = await grep(project, "login")

        assert (ids(answer)[0], answer.match_count, answer.complete) == ("1:64", 64, False)

    async def test_since_and_session(self, project: ProjectStorage) -> None:
        """Time and session narrow the scope, which the answer tells."""
        await store(project, "login", "login")
        await store(project, "login", session_id="other")

        answer = await grep(project, "login", since=START + timedelta(minutes=1), session_id="session-1")

        assert ids(answer) == ["1:1"]
        assert answer.scope.endswith(", session session-1, since 2026-02-17T07:38:00Z")

    @pytest.mark.parametrize("pattern", ["", "  ", "x" * 10_001])
    async def test_refuses_empty_and_endless_patterns(self, project: ProjectStorage, pattern: str) -> None:
        """A pattern has 1 to 10,000 characters."""
        with pytest.raises(InvalidInput):
            await grep(project, pattern)

    async def test_refuses_a_limit_of_zero(self, project: ProjectStorage) -> None:
        """The limit is 1 to 1000."""
        with pytest.raises(OutOfRange):
            await grep(project, "login", limit=0)
