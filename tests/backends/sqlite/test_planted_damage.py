"""Every kind of damage that somebody can do to a project's file is found and named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import pytest_asyncio

from lcm.errors import UnknownConversation
from lcm.integrity.verify import Verification, verify_project
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from tests.backends.sqlite.damaged import FILE, Seed, seed
from tests.backends.sqlite.damages import ALL_DAMAGE, Damage

ROOT = "/home/user/project"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a filled project, made once and copied for every test."""
    home = tmp_path_factory.mktemp("template") / "home"
    factory = SqliteFactory(home)
    await seed(await factory.open_project(ROOT))
    await factory.close()
    return home


@pytest.fixture
async def seeded(template: Path, home: Path, factory: SqliteFactory) -> Seed:
    shutil.copytree(template, home)
    project = await factory.open_project(ROOT)
    summaries = await project.summaries.list_recent(limit=100)
    return Seed(project, {summary.content: summary.summary_id for summary in summaries})


def findings(proof: Verification) -> set[tuple[str, str]]:
    return {(each.kind.value, each.object) for each in proof.faults}


class TestCleanProject:
    async def test_has_no_faults(self, seeded: Seed) -> None:
        """Two levels of summaries, a fork, exclusions, a repair and a large file: nothing to report, all counted."""
        proof = await verify_project(seeded.project)

        assert proof.faults == ()
        assert proof.ok
        assert proof.checked == {
            "conversations": 2,
            "messages": 16,
            "parts": 28,
            "summaries": 10,
            "context_items": 8,
            "edges": 20,
            "large_files": 1,
            "tool_calls": 2,
            "tool_results": 1,
            "unanswered_tool_calls": 1,
            "unreferenced_large_files": 0,
        }

    async def test_fork_alone_has_no_faults(self, seeded: Seed) -> None:
        """One conversation is checked by itself, also when its items belong to another."""
        proof = await verify_project(seeded.project, conversation_id=2)

        assert proof.faults == ()
        assert (proof.checked["messages"], proof.checked["summaries"], proof.checked["context_items"]) == (2, 1, 4)

    async def test_empty_project_has_the_digest_of_nothing(self, project: ProjectStorage) -> None:
        """The digest of no messages is SHA-256 of no bytes."""
        proof = await verify_project(project)

        assert proof.ok
        assert proof.content_digest == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    async def test_unknown_conversation_is_an_error(self, seeded: Seed) -> None:
        """A conversation that is not there is not a clean one."""
        with pytest.raises(UnknownConversation):
            await verify_project(seeded.project, conversation_id=99)


class TestPlantedDamage:
    @pytest.mark.parametrize("damage", ALL_DAMAGE, ids=lambda damage: damage.name)
    async def test_is_found_and_named(self, seeded: Seed, damage: Damage) -> None:
        """The damage is a fault of its kind about its object, with a sentence on what to do."""
        seeded.plant(*damage.statements)

        proof = await verify_project(seeded.project)

        assert not proof.ok
        assert (damage.kind, seeded.named(damage.about)) in findings(proof)
        assert all(each.finding.endswith(".") and each.remedy.endswith(".") for each in proof.faults)

    async def test_changed_bytes_are_found(self, seeded: Seed) -> None:
        """A large file whose bytes were replaced by as many others is named."""
        seeded.file.write_bytes(b"the bytes of a phantom")

        proof = await verify_project(seeded.project)

        assert findings(proof) == {("changed_file_bytes", f"file {FILE.file_id}")}

    async def test_missing_bytes_are_found(self, seeded: Seed) -> None:
        """A large file whose bytes are gone is named."""
        seeded.file.unlink()

        proof = await verify_project(seeded.project)

        assert findings(proof) == {("missing_file_bytes", f"file {FILE.file_id}")}

    async def test_damage_elsewhere_is_not_of_this_conversation(self, seeded: Seed) -> None:
        """The proof of one conversation does not tell about another one."""
        seeded.plant("UPDATE messages SET content = 'else' WHERE conversation_id = 1 AND seq = 5")

        assert (await verify_project(seeded.project, conversation_id=2)).ok
        assert not (await verify_project(seeded.project, conversation_id=1)).ok


class TestContentDigest:
    async def test_tells_changed_content(self, seeded: Seed) -> None:
        """It is taken from what is stored now, not from the digest that was stored with it."""
        before = await verify_project(seeded.project)
        seeded.plant("UPDATE messages SET content = 'else' WHERE seq = 5")

        after = await verify_project(seeded.project)

        assert before.content_digest != after.content_digest

    async def test_does_not_depend_on_row_ids_and_times(self, seeded: Seed) -> None:
        """Ids, sequence, insertion times and identity keys made from the salt may differ between copies."""
        before = await verify_project(seeded.project)
        seeded.plant(
            "UPDATE messages SET created_at = 7, occurred_at = 9, ingest_key = randomblob(32)",
            "UPDATE message_parts SET message_id = message_id + 100",
            "UPDATE messages SET message_id = message_id + 100, seq = seq + 50",
        )

        after = await verify_project(seeded.project)

        assert before.content_digest == after.content_digest
