"""The contract `RedactionAdminRepository`."""

from __future__ import annotations

import pytest

from lcm.errors import InvalidInput, OutOfRange
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, gather


class TestCounts:
    async def test_counts_add_up(self, project: ProjectStorage) -> None:
        """Each call adds to the counters by category; zeros are not listed."""
        await project.redaction_admin.add_counts({"built_in": 2, "project": 0})
        await project.redaction_admin.add_counts({"global": 1, "built_in": 3})
        await project.redaction_admin.add_counts({})

        assert await project.redaction_admin.get_counts() == {"built_in": 5, "global": 1}

    async def test_twenty_tasks_add(self, project: ProjectStorage) -> None:
        """No concurrent count is lost."""
        await gather(*[project.redaction_admin.add_counts({"built_in": 1, "global": 2}) for _ in range(20)])

        assert await project.redaction_admin.get_counts() == {"built_in": 20, "global": 40}

    async def test_overflow_leaves_everything(self, project: ProjectStorage) -> None:
        """A sum past the safe integers is refused, and with it the other categories of the call."""
        await project.redaction_admin.add_counts({"project": MAX_SAFE})

        with pytest.raises(OutOfRange, match="project"):
            await project.redaction_admin.add_counts({"built_in": 1, "project": 1})

        assert await project.redaction_admin.get_counts() == {"project": MAX_SAFE}

    @pytest.mark.parametrize("count", [-1, MAX_SAFE + 1, 2**70])
    async def test_unsafe_integer(self, project: ProjectStorage, count: int) -> None:
        """A count is a safe integer."""
        with pytest.raises(OutOfRange, match="built_in"):
            await project.redaction_admin.add_counts({"built_in": count})

    @pytest.mark.parametrize("category", ["other", "", "a\0b", "a\ud800b"])
    async def test_unknown_category(self, project: ProjectStorage, category: str) -> None:
        """There are three categories."""
        with pytest.raises(InvalidInput):
            await project.redaction_admin.add_counts({category: 1})

        assert await project.redaction_admin.get_counts() == {}

    async def test_other_project(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """Projects count for themselves."""
        await project.redaction_admin.add_counts({"built_in": 1})

        assert await other_project.redaction_admin.get_counts() == {}
