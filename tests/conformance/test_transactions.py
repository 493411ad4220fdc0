"""The contract `ProjectStorage.transaction`: atomic, serialized, bounded by its block."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from lcm.domain.conversations import Conversation
from lcm.domain.messages import Message
from lcm.errors import (
    ContextChanged,
    IdentityConflict,
    LcmError,
    NestedTransaction,
    ScopeMisused,
    UnknownMessage,
)
from lcm.storage.contracts.project import ProjectStorage, Repositories
from tests.conformance.operations import OPERATIONS, refused_operations
from tests.conformance.steps import (
    Abandoned,
    contents,
    gather,
    new_leaf,
    of_message,
    shown,
    shown_messages,
    stored_messages,
)
from tests.factories import make_conversation, make_message, make_messages, make_summary

KEY = b"k" * 32


class TestCommit:
    async def test_leaving_the_block_commits(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Work of several repositories is there together."""
        async with project.transaction() as tx:
            ids = await shown_messages(tx, conversation.conversation_id, 2)
            await tx.redaction_admin.add_counts({"built_in": 1})

        assert await shown(project, conversation.conversation_id) == [of_message(each) for each in ids]
        assert await project.redaction_admin.get_counts() == {"built_in": 1}

    async def test_own_work_is_seen_inside(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Operations of the transaction see what it wrote; others do not until it commits."""
        is_written, may_commit = asyncio.Event(), asyncio.Event()

        async def write() -> list[str]:
            async with project.transaction() as tx:
                await tx.conversations.append_messages(conversation.conversation_id, [make_message("new")])
                is_written.set()
                await may_commit.wait()
                return await contents(tx, conversation.conversation_id)

        writer = asyncio.create_task(write())
        await is_written.wait()
        outside = await contents(project, conversation.conversation_id)
        may_commit.set()

        assert await writer == ["new"]
        assert outside == []
        assert await contents(project, conversation.conversation_id) == ["new"]

    async def test_empty_block(self, project: ProjectStorage) -> None:
        """A transaction without work is fine."""
        async with project.transaction():
            pass

        assert await project.conversations.list_conversations() == []

    async def test_transactions_take_turns(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Concurrent transactions that read and then write lose nothing."""

        async def append_count() -> None:
            async with project.transaction() as tx:
                count = await tx.conversations.count_messages(conversation.conversation_id)
                await tx.conversations.append_messages(conversation.conversation_id, [make_message(str(count))])

        await gather(*[append_count() for _ in range(10)])

        assert await contents(project, conversation.conversation_id) == [str(n) for n in range(10)]


class TestRollback:
    async def test_an_exception_takes_everything_back(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """Work of all repositories goes, and the exception comes out as it is."""
        ids = await shown_messages(project, conversation.conversation_id, 2)

        async def work() -> None:
            async with project.transaction() as tx:
                await tx.conversations.append_messages(conversation.conversation_id, make_messages(3))
                leaf = await new_leaf(tx, conversation.conversation_id, ids)
                await tx.context.replace_range(
                    conversation.conversation_id, [of_message(each) for each in ids], leaf.summary_key
                )
                await tx.redaction_admin.add_counts({"built_in": 1})
                raise Abandoned

        with pytest.raises(Abandoned):
            await work()

        assert await project.conversations.count_messages(conversation.conversation_id) == 2
        assert await project.summaries.list_summaries(conversation.conversation_id) == []
        assert await shown(project, conversation.conversation_id) == [of_message(each) for each in ids]
        assert await project.redaction_admin.get_counts() == {}
        assert await project.lexical_search.find_missing() == []

    async def test_a_failed_operation_takes_everything_back_unless_caught(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """An error of an operation that leaves the block rolls the block back."""

        async def work() -> None:
            async with project.transaction() as tx:
                await tx.conversations.append_messages(conversation.conversation_id, make_messages(3))
                await tx.conversations.get_message(99)

        with pytest.raises(UnknownMessage):
            await work()

        assert await project.conversations.count_messages(conversation.conversation_id) == 0

    async def test_ids_are_not_burnt_into_the_next(self, project: ProjectStorage, conversation: Conversation) -> None:
        """After a rollback the next append starts at seq 0 and its words are found under its own ids."""

        async def work() -> None:
            async with project.transaction() as tx:
                await stored_messages(tx, conversation.conversation_id, 5)
                raise Abandoned

        with pytest.raises(Abandoned):
            await work()

        stored = await project.conversations.append_messages(conversation.conversation_id, make_messages(2))

        assert [each.seq for each in stored] == [0, 1]
        assert await project.lexical_search.find_missing() == []

    async def test_cancellation_takes_everything_back(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A cancelled block rolls back, and the project serves the next one."""
        is_written = asyncio.Event()

        async def write() -> None:
            async with project.transaction() as tx:
                await stored_messages(tx, conversation.conversation_id, 5)
                is_written.set()
                await asyncio.Event().wait()

        writer = asyncio.create_task(write())
        await is_written.wait()
        writer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writer

        assert await project.conversations.count_messages(conversation.conversation_id) == 0
        await stored_messages(project, conversation.conversation_id, 1)

    async def test_cancelled_while_operations_wait(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Many tasks cancelled at any point of their work leave only whole batches."""
        tasks = [
            asyncio.create_task(project.conversations.append_messages(conversation.conversation_id, make_messages(3)))
            for _ in range(20)
        ]
        for number, task in enumerate(tasks):
            await asyncio.sleep(0)
            if number % 2:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

        count = await project.conversations.count_messages(conversation.conversation_id)

        assert count % 3 == 0
        assert count >= 30
        assert await project.lexical_search.find_missing() == []


async def failing_append(tx: Repositories, conversation_id: int, ids: list[int]) -> None:
    await tx.conversations.append_messages(conversation_id, [*make_messages(3), make_message(ingest_key=KEY)])


async def failing_parts(tx: Repositories, conversation_id: int, ids: list[int]) -> None:
    parts = make_message("message 0").parts
    await tx.conversations.create_parts(ids[0], parts)


async def failing_context(tx: Repositories, conversation_id: int, ids: list[int]) -> None:
    await tx.context.append_messages(conversation_id, [*ids, 99])


async def failing_replace(tx: Repositories, conversation_id: int, ids: list[int]) -> None:
    leaf = await tx.summaries.insert_summary(make_summary(conversation_id))
    await tx.context.replace_range(conversation_id, [of_message(99)], leaf.summary_key)


async def failing_links(tx: Repositories, conversation_id: int, ids: list[int]) -> None:
    leaf = await tx.summaries.insert_summary(make_summary(conversation_id))
    await tx.summaries.link_messages(leaf.summary_key, [*ids, 99])


async def failing_places(tx: Repositories, conversation_id: int, ids: list[int]) -> None:
    await tx.ingest.record_places(99, [(ids[0], 0)])


class TestOperationRollback:
    @pytest.mark.parametrize(
        ("fails", "error"),
        [
            (failing_append, IdentityConflict),
            (failing_parts, IdentityConflict),
            (failing_context, IdentityConflict),
            (failing_replace, ContextChanged),
            (failing_links, IdentityConflict),
            (failing_places, IdentityConflict),
        ],
    )
    async def test_a_failed_operation_leaves_nothing_and_the_rest_commits(
        self,
        project: ProjectStorage,
        conversation: Conversation,
        fails: Callable[[Repositories, int, list[int]], Awaitable[None]],
        error: type[LcmError],
    ) -> None:
        """The block catches the failure, does other work and commits it."""
        conversation_id = conversation.conversation_id
        await project.conversations.append_messages(conversation_id, [make_message(ingest_key=KEY)])

        async with project.transaction() as tx:
            ids = await stored_messages(tx, conversation_id, 2)
            with pytest.raises(error):
                await fails(tx, conversation_id, ids)
            await tx.conversations.append_messages(conversation_id, [make_message("after")])

        assert await contents(project, conversation_id) == ["hello", "message 0", "message 1", "after"]
        assert await shown(project, conversation_id) == []
        assert [len(each) for each in (await project.conversations.list_parts(ids)).values()] == [1, 1]
        assert await project.lexical_search.find_missing() == []

    async def test_failures_beside_successes(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Sibling operations of a failed one keep their work."""
        conversation_id = conversation.conversation_id

        async with project.transaction() as tx:
            good = [tx.conversations.append_messages(conversation_id, [make_message(str(n))]) for n in range(10)]
            bad = [failing_append_twice(tx, conversation_id) for _ in range(10)]
            results = await asyncio.gather(*[call for pair in zip(good, bad, strict=True) for call in pair])

        assert [result for result in results if result is False] == [False] * 10
        assert await contents(project, conversation_id) == [str(n) for n in range(10)]


async def failing_append_twice(tx: Repositories, conversation_id: int) -> bool:
    try:
        await tx.conversations.append_messages(conversation_id, [make_message(ingest_key=KEY)] * 2)
    except IdentityConflict:
        return False
    return True


class TestSerialization:
    async def test_twenty_operations_all_land(self, project: ProjectStorage, conversation: Conversation) -> None:
        """Operations gathered in one transaction run one after another, in the order they were started."""
        async with project.transaction() as tx:
            batches = await gather(
                *[
                    tx.conversations.append_messages(conversation.conversation_id, [make_message(str(n))])
                    for n in range(20)
                ]
            )

        assert [batch[0].seq for batch in batches] == list(range(20))
        assert await contents(project, conversation.conversation_id) == [str(n) for n in range(20)]

    async def test_reads_between_writes(self, project: ProjectStorage, conversation: Conversation) -> None:
        """A read never sees half of another operation."""
        conversation_id = conversation.conversation_id

        async with project.transaction() as tx:
            calls: list[Awaitable[object]] = []
            for _ in range(10):
                calls.append(tx.conversations.append_messages(conversation_id, make_messages(3)))
                calls.append(tx.conversations.count_messages(conversation_id))
            results = await asyncio.gather(*calls)

        assert results[1::2] == [3 * n for n in range(1, 11)]

    async def test_a_forgotten_operation_ends_before_the_block(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """What is still running when the block ends is waited for; what has not begun is refused."""
        conversation_id = conversation.conversation_id

        async with project.transaction() as tx:
            running = asyncio.create_task(tx.conversations.append_messages(conversation_id, make_messages(3)))
            waiting = asyncio.create_task(tx.conversations.append_messages(conversation_id, make_messages(3)))
            await asyncio.sleep(0)

        assert len(await running) == 3
        with pytest.raises(ScopeMisused):
            await waiting
        assert await project.conversations.count_messages(conversation_id) == 3

    async def test_a_forgotten_operation_is_rolled_back_whole(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """When the block fails, an operation still running goes with it."""

        started: list[asyncio.Task[list[Message]]] = []

        async def work() -> None:
            async with project.transaction() as tx:
                append = tx.conversations.append_messages(conversation.conversation_id, make_messages(3))
                started.append(asyncio.create_task(append))
                await asyncio.sleep(0)
                raise Abandoned

        with pytest.raises(Abandoned):
            await work()

        assert len(await started[0]) == 3
        assert await project.conversations.count_messages(conversation.conversation_id) == 0

    async def test_a_cancelled_operation_gives_the_transaction_up(
        self, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """After a cancellation inside an operation nothing of the transaction is committed."""
        conversation_id = conversation.conversation_id

        async def work() -> None:
            async with project.transaction() as tx:
                await stored_messages(tx, conversation_id, 1)
                running = asyncio.create_task(tx.conversations.append_messages(conversation_id, make_messages(3)))
                await asyncio.sleep(0)
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                assert running.cancelled()

        with pytest.raises(LcmError):
            await work()

        assert await project.conversations.count_messages(conversation_id) == 0
        await stored_messages(project, conversation_id, 1)


class TestScope:
    async def test_nested_transaction(self, project: ProjectStorage) -> None:
        """A second transaction is refused at once, and the first goes on."""
        async with project.transaction() as tx:
            with pytest.raises(NestedTransaction):
                async with project.transaction():
                    pass
            await tx.conversations.create_conversation(make_conversation())

        assert len(await project.conversations.list_conversations()) == 1

    async def test_nested_transaction_in_a_task(self, project: ProjectStorage) -> None:
        """A task started inside is inside as well: it would wait for its parent for ever."""

        async def begin() -> None:
            async with project.transaction():
                pass

        async with project.transaction():
            with pytest.raises(NestedTransaction):
                await asyncio.create_task(begin())

    async def test_project_repositories_inside(self, project: ProjectStorage) -> None:
        """Inside a transaction all of the project's own operations are refused, also in a task started there."""
        async with project.transaction():
            here = await refused_operations(project, ScopeMisused)
            in_a_task = await asyncio.create_task(refused_operations(project, ScopeMisused))

        assert here == in_a_task == set(OPERATIONS)

    async def test_kept_repositories(self, project: ProjectStorage) -> None:
        """After the block all operations of the transaction are refused."""
        async with project.transaction() as tx:
            kept = tx

        assert await refused_operations(kept, ScopeMisused) == set(OPERATIONS)

    async def test_kept_after_a_failure(self, project: ProjectStorage) -> None:
        """After a failed block as well."""
        with pytest.raises(Abandoned):
            async with project.transaction() as tx:
                raise Abandoned

        with pytest.raises(ScopeMisused):
            await tx.conversations.list_conversations()

    async def test_other_tasks_are_free(self, project: ProjectStorage) -> None:
        """A task started before the transaction may read the project meanwhile."""
        may_read = asyncio.Event()

        async def read() -> int:
            await may_read.wait()
            return len(await project.conversations.list_conversations())

        reader = asyncio.create_task(read())
        async with project.transaction() as tx:
            await tx.conversations.create_conversation(make_conversation())
            may_read.set()
            assert await reader == 0

    async def test_a_task_that_outlives_the_block_is_free_again(self, project: ProjectStorage) -> None:
        """A task started inside may use the project once the transaction is over."""
        is_over = asyncio.Event()

        async def later() -> None:
            await is_over.wait()
            await project.conversations.create_conversation(make_conversation())
            async with project.transaction() as tx:
                await tx.conversations.create_conversation(make_conversation())

        async with project.transaction():
            task = asyncio.create_task(later())
        is_over.set()
        await task

        assert len(await project.conversations.list_conversations()) == 2
