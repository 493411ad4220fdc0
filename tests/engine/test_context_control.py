"""Messages that are taken out of a context by hand and put back: places, partners, forks, imports, and the proof."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from lcm.assembly.assembler import assemble
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.domain.context import AuditAction
from lcm.domain.conversations import Conversation
from lcm.domain.messages import Exclusion
from lcm.engine.context_control import (
    MAX_REASON_CHARS,
    ContextChange,
    exclude_message,
    find_named_message,
    include_message,
    list_audits,
)
from lcm.errors import InvalidInput, UnknownMessage, UnknownSummary
from lcm.integrity.verify import verify_project
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import new_fork, stored_messages
from tests.engine.sessions import CWD, Record, assistant, call, dialogue, name, result, user, write
from tests.engine.stores import SCRUBBER, Store
from tests.factories import make_conversation, make_messages
from tests.unit.compaction.sweeping import SMALL, FakeSummarizer, text_of, unscrubbed

SECRET = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
async def project(store: Store) -> ProjectStorage:
    return await store.open(CWD)


@pytest.fixture
async def conversation(project: ProjectStorage) -> Conversation:
    return await project.conversations.create_conversation(make_conversation())


async def exclude(project: ProjectStorage, place: str, **options: int) -> ContextChange:
    message = await find_named_message(project, place)
    return await exclude_message(project, message.message_id, "why", scrubber=SCRUBBER, **options)


async def include(project: ProjectStorage, place: str, **options: int) -> ContextChange:
    message = await find_named_message(project, place)
    return await include_message(project, message.message_id, "why", scrubber=SCRUBBER, **options)


def places(change: ContextChange) -> list[tuple[str, bool]]:
    return [(f"{each.message.conversation_id}:{each.message.seq}", each.is_partner) for each in change.messages]


async def seqs(project: ProjectStorage, conversation_id: int = 1) -> list[str]:
    """What the context shows, by place; a summary by its kind."""
    items = await project.context.list_items(conversation_id)
    messages = await project.conversations.list_messages_by_id([item.ref.message_id or 0 for item in items])
    names = {each.message_id: f"{each.conversation_id}:{each.seq}" for each in messages}
    return [names.get(item.ref.message_id or 0, str(item.kind)) for item in items]


async def imported(store: Store, path: Path, *records: Record) -> ProjectStorage:
    await store.import_file(write(path, *records))
    return await store.open(CWD)


async def compact(project: ProjectStorage, conversation_id: int = 1) -> None:
    await sweep_conversation(Compactor(FakeSummarizer(), SMALL, unscrubbed), project, conversation_id)


async def require_whole(project: ProjectStorage) -> None:
    proof = await verify_project(project)
    assert [f"{each.kind}: {each.object}: {each.finding}" for each in proof.faults] == []


class TestExcludeMessage:
    async def test_takes_it_out_and_keeps_it(self, store: Store, tmp_path: Path) -> None:
        """It leaves the context, not the store; the revision moves on, and the record tells what and why."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(4))
        before = await project.conversations.get_conversation(1)
        change = await exclude(project, "1:1")

        assert await seqs(project) == ["1:0", "1:2", "1:3"]
        assert (change.action, change.conversation_id, places(change)) == (AuditAction.EXCLUDE, 1, [("1:1", False)])
        assert change.context_revision == before.context_revision + 1
        assert change.context_tokens == await project.context.count_tokens(1)
        message = await find_named_message(project, "1:1")
        assert (message.exclusion, message.content) == (Exclusion.AUDITED, "answer 2")
        (entry,) = await list_audits(project)
        assert (entry.action, entry.message, entry.reason, entry.exclusion_before) == (
            AuditAction.EXCLUDE,
            message,
            "why",
            None,
        )
        await require_whole(project)

    async def test_calls_and_results_go_together(self, store: Store, tmp_path: Path) -> None:
        """A result takes its call along, that its other result; a call of the same id in a later turn stays."""
        both: list[Record] = [{"type": "tool_use", "id": each, "name": "Read", "input": {}} for each in ("a", "b")]
        records = [
            user(1),
            assistant(2, None) | {"message": {"role": "assistant", "content": both}},
            result(3, "a"),
            result(4, "b"),
            user(5),
            call(6, "a"),
            result(7, "a"),
        ]
        project = await imported(store, tmp_path / "s.jsonl", *records)
        change = await exclude(project, "1:3")

        assert places(change) == [("1:1", True), ("1:2", True), ("1:3", False)]
        assert await seqs(project) == ["1:0", "1:4", "1:5", "1:6"]
        assert len(await list_audits(project)) == 3
        assembled = await assemble(project, 1, budget=10_000)
        assert (assembled.dropped_calls, assembled.dropped_results) == ((), ())
        await require_whole(project)

    async def test_secrets_in_the_reason_are_redacted(self, store: Store, tmp_path: Path) -> None:
        """What a person writes is text like any other; white space becomes one space."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(2))
        message = await find_named_message(project, "1:0")
        reason = f"holds\n  {SECRET}"
        change = await exclude_message(project, message.message_id, reason, scrubber=SCRUBBER)

        assert change.reason == "holds [REDACTED]"
        assert [each.reason for each in await list_audits(project)] == ["holds [REDACTED]"]
        assert (await project.redaction_admin.get_counts())["built_in"] == 1

    @pytest.mark.parametrize("reason", ["", " \n ", "x" * (MAX_REASON_CHARS + 1)])
    async def test_without_a_reason_nothing_happens(self, store: Store, tmp_path: Path, reason: str) -> None:
        """Empty or endless reasons are refused before anything is written."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(2))
        message = await find_named_message(project, "1:0")
        with pytest.raises(InvalidInput, match="Give a reason of at most 1000 characters"):
            await exclude_message(project, message.message_id, reason, scrubber=SCRUBBER)

        assert (await seqs(project), await list_audits(project)) == (["1:0", "1:1"], [])

    async def test_what_was_compacted_is_told(self, store: Store, tmp_path: Path) -> None:
        """A summary keeps what it says: the error names it and how to see what is below."""
        project = await imported(
            store, tmp_path / "s.jsonl", *(user(n, text_of(50, f"prompt {n}")) for n in range(1, 21))
        )
        await compact(project)
        (summary,) = await project.summaries.list_recent(limit=1)
        with pytest.raises(InvalidInput, match=r"Message 1:0 was compacted: sum_.* `lcm expand sum_"):
            await exclude(project, "1:0")

        with pytest.raises(InvalidInput, match=f"what {summary.summary_id} covers has no other place"):
            await find_named_message(project, summary.summary_id)
        assert await list_audits(project) == []

    async def test_what_is_out_already_says_why(self, store: Store, tmp_path: Path) -> None:
        """Excluded by hand, or by its client."""
        project = await imported(store, tmp_path / "s.jsonl", user(1), user(2, isMeta=True))
        await exclude(project, "1:0")
        with pytest.raises(InvalidInput, match=r"1:0 is not in the context: it is excluded already"):
            await exclude(project, "1:0")
        with pytest.raises(InvalidInput, match=r"1:1 is not in the context: its client marks it"):
            await exclude(project, "1:1")
        with pytest.raises(InvalidInput, match=r"1:1 was not excluded by hand: its client marks it"):
            await include(project, "1:1")

    async def test_only_messages_can_be_named(self, store: Store, tmp_path: Path) -> None:
        """A conversation, a file and what does not exist are refused."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(2))
        for text in ("1", "file_0123456789abcdef"):
            with pytest.raises(InvalidInput, match="Name a message"):
                await find_named_message(project, text)
        with pytest.raises(UnknownMessage):
            await find_named_message(project, "1:9")
        with pytest.raises(UnknownSummary):
            await find_named_message(project, "sum_0123456789abcdef")


class TestIncludeMessage:
    async def test_puts_all_back_where_they_stood(self, store: Store, tmp_path: Path) -> None:
        """The call brings its result back; the place is that of the source, whatever came meanwhile."""
        path = tmp_path / "s.jsonl"
        records = [user(1), call(2, "a"), result(3, "a"), assistant(4)]
        project = await imported(store, path, *records)
        await exclude(project, "1:2")
        await imported(store, path, *records, *dialogue(2, first=5))
        change = await include(project, "1:1")

        assert places(change) == [("1:1", False), ("1:2", True)]
        assert await seqs(project) == [f"1:{n}" for n in range(6)]
        assert (await find_named_message(project, "1:1")).exclusion is None
        assert [each.action.value for each in await list_audits(project)] == ["exclude"] * 2 + ["include"] * 2
        await require_whole(project)

    async def test_what_came_late_keeps_its_place(self, store: Store, tmp_path: Path) -> None:
        """Messages that a second transcript brought later stand where their source has them, not where they came."""
        whole = dialogue(6)
        project = await imported(store, tmp_path / "a.jsonl", whole[0], whole[3], whole[5])
        await imported(store, tmp_path / "b.jsonl", *whole)
        before = await seqs(project)
        assert before == ["1:0", "1:3", "1:4", "1:1", "1:5", "1:2"]

        for place in before:
            await exclude(project, place)
        for place in before:
            await include(project, place)
        assert await seqs(project) == before

    async def test_the_first_message_comes_back_first(self, store: Store, tmp_path: Path) -> None:
        """Nothing stands before it."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(3))
        await exclude(project, "1:0")
        await include(project, "1:0")

        assert await seqs(project) == ["1:0", "1:1", "1:2"]

    async def test_behind_the_summary_of_what_came_before(self, store: Store, tmp_path: Path) -> None:
        """When its neighbours were compacted meanwhile, it stands behind their summary."""
        project = await imported(
            store, tmp_path / "s.jsonl", *(user(n, text_of(50, f"prompt {n}")) for n in range(1, 21))
        )
        await exclude(project, "1:3")
        await compact(project)
        shown = await seqs(project)
        await include(project, "1:3")

        assert shown[0] in {"leaf", "condensed"}
        assert await seqs(project) == [shown[0], "1:3", *shown[1:]]
        await require_whole(project)

    async def test_of_a_program_by_order_of_giving(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Without a source the order is that of storing; in a fork's own messages the base comes first."""
        ids = await stored_messages(project, conversation.conversation_id, 3)
        await project.context.append_messages(conversation.conversation_id, ids)
        fork = await new_fork(project, conversation, ids[1])
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[1])
        own = await project.conversations.append_messages(fork.conversation_id, make_messages(2))
        await project.context.append_messages(fork.conversation_id, [each.message_id for each in own])
        for place in ("1:1", "2:0", "2:1"):
            await exclude(project, place)
        for place in ("2:1", "2:0", "1:1"):
            await include(project, place)

        assert await seqs(project) == ["1:0", "1:1", "1:2"]
        assert await seqs(project, 2) == ["1:0", "1:1", "2:0", "2:1"]

    async def test_what_is_in_context_is_refused(self, store: Store, tmp_path: Path) -> None:
        """There is nothing to put back."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(2))

        with pytest.raises(InvalidInput, match=r"1:0 is in the context already"):
            await include(project, "1:0")


class TestOfAFork:
    async def test_each_context_is_its_own(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A fork still shows what its base left out, which is told; it can leave it out too, and take it back alone."""
        ids = await stored_messages(project, conversation.conversation_id, 3)
        await project.context.append_messages(conversation.conversation_id, ids)
        fork = await new_fork(project, conversation, ids[2])
        await project.context.copy_base(fork.conversation_id, conversation.conversation_id, ids[2])
        of_base = await exclude(project, "1:1")
        of_fork = await exclude(project, "1:1", conversation_id=fork.conversation_id)

        assert (of_base.still_shown_in, of_fork.still_shown_in) == ((2,), ())
        assert (await seqs(project), await seqs(project, 2)) == (["1:0", "1:2"], ["1:0", "1:2"])
        await include(project, "1:1", conversation_id=2)
        assert (await seqs(project), await seqs(project, 2)) == (["1:0", "1:2"], ["1:0", "1:1", "1:2"])
        assert (await find_named_message(project, "1:1")).exclusion is Exclusion.AUDITED
        await require_whole(project)

    async def test_a_conversation_without_the_message_is_refused(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Only a context that shows it can lose it."""
        ids = await stored_messages(project, conversation.conversation_id, 1)
        await project.context.append_messages(conversation.conversation_id, ids)
        await project.conversations.create_conversation(make_conversation("session-2"))

        with pytest.raises(InvalidInput, match=r"1:0 is not in the context of conversation 2\."):
            await exclude(project, "1:0", conversation_id=2)
        with pytest.raises(InvalidInput, match=r"1:0 was not excluded from the context of conversation 2\."):
            await include(project, "1:0", conversation_id=2)


class TestImportAgain:
    async def test_what_was_excluded_stays_out(self, store: Store, tmp_path: Path) -> None:
        """The same transcript from its start, a copy of it, and a longer one change nothing about it."""
        path = tmp_path / "s.jsonl"
        project = await imported(store, path, *dialogue(4))
        await exclude(project, "1:1")
        await imported(store, tmp_path / "copy.jsonl", *dialogue(4))
        await imported(store, path, *dialogue(3), user(9, "other"))
        await imported(store, path, *dialogue(6))

        assert "1:1" not in await seqs(project)
        assert (await find_named_message(project, "1:1")).exclusion is Exclusion.AUDITED
        await require_whole(project)

    async def test_what_is_rewound_afterwards_is_not_put_back(self, store: Store, tmp_path: Path) -> None:
        """The client took it back too: that it was excluded by hand before does not hide it."""
        path = tmp_path / "s.jsonl"
        project = await imported(store, path, *dialogue(4))
        await exclude(project, "1:2")
        await imported(store, path, *dialogue(4), user(5, "instead", parentUuid=name(2)))

        assert (await find_named_message(project, "1:2")).exclusion is Exclusion.REWOUND
        with pytest.raises(InvalidInput, match=r"1:2 was not excluded by hand: it was taken back in its client"):
            await include(project, "1:2")
        await require_whole(project)

    async def test_a_continued_session_is_based_on_what_is_left(self, store: Store, tmp_path: Path) -> None:
        """A session that goes on in another file does not bring back what its base left out."""
        project = await imported(store, tmp_path / "s.jsonl", *dialogue(4))
        await exclude(project, "1:3")
        other = "22222222-2222-4333-8444-555555555555"
        continued = [*dialogue(4), *dialogue(2, first=5)]
        await imported(store, tmp_path / "t.jsonl", *({**each, "sessionId": other} for each in continued))

        assert await seqs(project, 2) == ["1:0", "1:1", "1:2", "2:0", "2:1"]
        await require_whole(project)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("exclude"), st.integers(0, 13)),
        st.tuples(st.just("include"), st.integers(0, 13)),
        st.tuples(st.sampled_from(["import", "copy", "compact"]), st.just(0)),
    ),
    max_size=14,
)
RECORDS = [
    user(1),
    call(2, "a"),
    result(3, "a"),
    assistant(4),
    user(5),
    call(6, "b"),
    call(7, "c"),
    result(8, "c"),
    result(9, "b"),
    assistant(10, "x" * 900),
    *dialogue(4, first=11),
]


laws = settings(
    max_examples=3,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # a counterexample is short enough as it is found
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
long_laws = settings(laws, max_examples=100)
orders = st.tuples(
    st.permutations(range(len(RECORDS))),
    st.permutations(range(len(RECORDS))),
    st.sets(st.integers(0, len(RECORDS) - 1), max_size=6),
)


class TestAnySequence:
    @laws
    @given(script=steps)
    async def test_leaves_every_message_in_one_place(
        self, script: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """After each step the store proves whole, a change moves the revision on, and a refusal changes nothing."""
        await require_one_place(script, tmp_path_factory.mktemp("laws"))

    @pytest.mark.long
    @long_laws
    @given(script=steps)
    async def test_leaves_every_message_in_one_place_at_length(
        self, script: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The same over many more sequences."""
        await require_one_place(script, tmp_path_factory.mktemp("laws"))

    @laws
    @given(order=orders)
    @example(order=([2, 13, 3, 12, 10, 7, 11, 5, 0, 4, 1, 9, 6, 8], [7, 5, 9, *range(14)], {2, 3, 6, 8, 9, 10}))
    async def test_putting_all_back_restores_the_order(
        self, order: tuple[list[int], list[int], set[int]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """In whatever order messages leave and return, and whichever of them came late."""
        await require_restored_order(*order, tmp_path_factory.mktemp("laws"))

    @pytest.mark.long
    @long_laws
    @given(order=orders)
    async def test_putting_all_back_restores_the_order_at_length(
        self, order: tuple[list[int], list[int], set[int]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The same over many more orders."""
        await require_restored_order(*order, tmp_path_factory.mktemp("laws"))


async def require_one_place(script: list[tuple[str, int]], folder: Path) -> None:
    async with Store(folder / "home") as store:
        project = await imported(store, folder / "s.jsonl", *RECORDS[2:])
        for step, seq in script:
            before = await project.conversations.get_conversation(1)
            is_done = await _took(store, project, folder, step, seq)
            after = await project.conversations.get_conversation(1)
            assert (after.context_revision > before.context_revision) == is_done
            await require_whole(project)


async def require_restored_order(out: list[int], back: list[int], late: set[int], folder: Path) -> None:
    async with Store(folder / "home") as store:
        await imported(store, folder / "a.jsonl", *(each for n, each in enumerate(RECORDS) if n not in late))
        project = await imported(store, folder / "b.jsonl", *RECORDS)
        before = await seqs(project)
        for seq in out:
            await _try(exclude(project, f"1:{seq}"))
        assert await seqs(project) == []
        for seq in back:
            await _try(include(project, f"1:{seq}"))
        assert await seqs(project) == before
        await require_whole(project)


async def _took(store: Store, project: ProjectStorage, folder: Path, step: str, seq: int) -> bool:
    """Whether a change by hand was made; other steps tell whether they moved the revision themselves."""
    match step:
        case "exclude":
            return await _try(exclude(project, f"1:{seq}"))
        case "include":
            return await _try(include(project, f"1:{seq}"))
    before = (await project.conversations.get_conversation(1)).context_revision
    if step == "compact":
        await compact(project)
    else:
        await imported(store, folder / ("s.jsonl" if step == "import" else "copy.jsonl"), *RECORDS)
    return (await project.conversations.get_conversation(1)).context_revision > before


async def _try(change: Awaitable[ContextChange]) -> bool:
    try:
        await change
    except (InvalidInput, UnknownMessage):
        return False
    return True
