"""The contracts `ProjectStorage` and `StorageFactory`: opening, health, closing, capabilities, isolation."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, get_type_hints

import pytest

from lcm.domain.conversations import Conversation
from lcm.errors import ScopeMisused, StorageClosed
from lcm.storage.contracts.capabilities import CoordinationScope
from lcm.storage.contracts.health import HealthStatus
from lcm.storage.contracts.project import ProjectStorage, Repositories, StorageFactory
from tests.conformance.operations import OPERATIONS, refused_operations
from tests.conformance.steps import Abandoned, contents, gather
from tests.factories import make_conversation, make_message
from tests.templates import OTHER_ROOT, ROOT


def contract_operations() -> set[str]:
    """`repository.operation` of everything the contracts declare."""
    names = set()
    for repository, declared in inspect.getmembers(Repositories, lambda each: isinstance(each, property)):
        contract = get_type_hints(declared.fget)["return"]
        names |= {f"{repository}.{name}" for name in vars(contract) if not name.startswith("_")}
    return names


class TestOperations:
    def test_the_table_is_complete(self) -> None:
        """Every operation of the contracts is in the table that the rules below run over."""
        assert set(OPERATIONS) == contract_operations()

    async def test_use_after_close(self, project: ProjectStorage) -> None:
        """A closed project refuses every operation."""
        await project.close()

        assert await refused_operations(project, StorageClosed) == set(OPERATIONS)


class TestOpenProject:
    async def test_nothing_is_created_by_asking(self, factory: StorageFactory) -> None:
        """A project that is not there is not there, and stays so."""
        assert await factory.open_existing_project(ROOT) is None
        assert await factory.project_exists(ROOT) is False
        assert await factory.list_roots() == []

    async def test_created_once(self, factory: StorageFactory) -> None:
        """Opening creates; opening again finds the same project."""
        first = await factory.open_project(ROOT)
        again = await factory.open_project(ROOT)
        existing = await factory.open_existing_project(ROOT)

        assert existing is not None
        assert first.project_id == again.project_id == existing.project_id
        assert first.project_id.version == 7
        assert await factory.project_exists(ROOT) is True

    async def test_twenty_tasks_open_a_new_project(self, factory: StorageFactory) -> None:
        """Concurrent openings of a new project agree on one."""
        opened = await gather(*[factory.open_project(ROOT) for _ in range(20)])

        assert len({each.project_id for each in opened}) == 1
        await opened[0].conversations.create_conversation(make_conversation())
        assert len(await opened[19].conversations.list_conversations()) == 1

    async def test_roots(self, factory: StorageFactory) -> None:
        """All roots of the home, sorted, spelled as they were opened."""
        roots = ["/home/user/b", "/home/user/a", "C:\\Users\\me\\c", "/home/user/日本 'x'"]
        for root in roots:
            opened = await factory.open_project(root)
            assert opened.root == root

        assert await factory.list_roots() == sorted(roots)

    async def test_names(self, project: ProjectStorage) -> None:
        """The display name is the last part of the root."""
        assert project.display_name == "project"
        assert project.root == ROOT
        assert project.files_folder.name == "files"


class TestCapabilities:
    async def test_are_data(self, project: ProjectStorage) -> None:
        """What is offered is told without asking the storage, also after closing."""
        await project.close()
        offered = project.capabilities

        assert offered.backend in {"sqlite", "postgresql"}
        assert offered.transactions is True
        assert offered.coordination in CoordinationScope

    async def test_needs_mark_is_answered(self, request: pytest.FixtureRequest, project: ProjectStorage) -> None:
        """Names that tests may need are names of capabilities."""
        for name in ("transactions", "lexical_search", "regex_search", "full_text_search", "promoted_memory", "recall"):
            assert isinstance(getattr(project.capabilities, name), bool)


class TestHealth:
    async def test_healthy(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """An open project can serve, and so can its factory."""
        health = await project.health()

        assert health.status is HealthStatus.HEALTHY
        assert health.project_id == str(project.project_id)
        assert health.backend == project.capabilities.backend
        assert (await factory.health()).status is HealthStatus.HEALTHY

    async def test_closed_project(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """A closed project says that and nothing else; the factory can still serve."""
        await project.close()
        health = await project.health()

        assert (health.status, health.detail) == (HealthStatus.CLOSED, "")
        assert (await factory.health()).status is HealthStatus.HEALTHY

    async def test_closed_factory(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """A closed factory says that, without naming a project."""
        await factory.close()
        health = await factory.health()

        assert (health.status, health.detail, health.project_id) == (HealthStatus.CLOSED, "", None)
        assert (await project.health()).status is HealthStatus.CLOSED

    async def test_closing_wins_over_a_running_probe(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """A probe that runs while the storage closes reports only the closed state."""
        probes = [asyncio.create_task(project.health()), asyncio.create_task(factory.health())]
        await asyncio.sleep(0)
        await factory.close()

        found = [await probe for probe in probes]

        assert [(each.status, each.detail) for each in found] == [(HealthStatus.CLOSED, "")] * 2

    async def test_beside_a_transaction(self, project: ProjectStorage) -> None:
        """A probe does not wait for a writer."""
        probe = asyncio.create_task(project.health())
        async with project.transaction() as tx:
            await tx.conversations.create_conversation(make_conversation())
            health = await probe

        assert health.status is HealthStatus.HEALTHY


class TestClose:
    async def test_is_idempotent(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """Closing twice is closing once, for the project and for the factory."""
        await gather(project.close(), project.close())
        await project.close()
        await factory.close()
        await factory.close()

        assert (await project.health()).status == "closed"
        assert (await factory.health()).status == "closed"

    async def test_another_scope_goes_on(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """Closing one scope leaves another one of the same project alone."""
        other_scope = await factory.open_project(ROOT)
        await project.close()

        made = await other_scope.conversations.create_conversation(make_conversation())

        assert await other_scope.conversations.list_conversations() == [made]

    async def test_what_was_stored_stays(
        self, factory: StorageFactory, project: ProjectStorage, conversation: Conversation
    ) -> None:
        """A project opened again holds what was acknowledged before closing."""
        await project.conversations.append_messages(conversation.conversation_id, [make_message("kept")])
        await project.close()

        again = await factory.open_project(ROOT)

        assert await contents(again, conversation.conversation_id) == ["kept"]

    async def test_transaction_after_close(self, project: ProjectStorage) -> None:
        """A closed project begins no transaction."""
        await project.close()

        with pytest.raises(StorageClosed):
            async with project.transaction():
                pass

    async def test_factory_after_close(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """A closed factory opens nothing, and its projects are closed."""
        await factory.close()

        calls: list[Any] = [
            factory.open_project(OTHER_ROOT),
            factory.open_existing_project(ROOT),
            factory.project_exists(ROOT),
            factory.list_roots(),
            project.conversations.list_conversations(),
        ]
        for call in calls:
            with pytest.raises(StorageClosed):
                await call

    async def test_operations_in_flight_end(self, project: ProjectStorage) -> None:
        """What runs while the scope closes either ends whole or is refused."""
        writes = [
            asyncio.create_task(project.conversations.create_conversation(make_conversation())) for _ in range(10)
        ]
        await asyncio.sleep(0)
        await project.close()

        results = await asyncio.gather(*writes, return_exceptions=True)

        assert all(isinstance(each, Conversation | StorageClosed) for each in results)

    async def test_inside_its_own_transaction(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """A scope is not closed from inside its transaction; another one may be."""
        async with project.transaction() as tx:
            with pytest.raises(ScopeMisused):
                await project.close()
            await other_project.close()
            await tx.conversations.create_conversation(make_conversation())

        assert len(await project.conversations.list_conversations()) == 1

    async def test_waits_for_a_running_transaction(self, factory: StorageFactory, project: ProjectStorage) -> None:
        """A transaction of another task commits before the scope is closed."""
        is_open, may_end = asyncio.Event(), asyncio.Event()

        async def write() -> None:
            async with project.transaction() as tx:
                is_open.set()
                await may_end.wait()
                await tx.conversations.create_conversation(make_conversation())

        writer = asyncio.create_task(write())
        await is_open.wait()
        closing = asyncio.create_task(project.close())
        await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(writer, closing)

        again = await factory.open_project(ROOT)
        assert len(await again.conversations.list_conversations()) == 1


class TestIsolation:
    async def test_projects_of_one_home(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """Two projects have different ids and folders and see nothing of each other."""
        await project.conversations.create_conversation(make_conversation())

        assert project.project_id != other_project.project_id
        assert project.files_folder != other_project.files_folder
        assert await other_project.conversations.list_conversations() == []

    async def test_a_rollback_is_of_one_project(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """What another project commits meanwhile does not depend on this one's transaction."""

        async def write_elsewhere() -> None:
            await other_project.conversations.create_conversation(make_conversation())

        async def abandon() -> None:
            async with project.transaction() as tx:
                await tx.conversations.create_conversation(make_conversation())
                await write
                raise Abandoned

        write = asyncio.create_task(write_elsewhere())
        with pytest.raises(Abandoned):
            await abandon()

        assert await project.conversations.list_conversations() == []
        assert len(await other_project.conversations.list_conversations()) == 1
