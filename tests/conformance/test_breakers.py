"""The contract `BreakerRepository`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lcm.domain.breakers import Breaker, BreakerState
from lcm.errors import InvalidInput, OutOfRange, UnsafeText
from lcm.storage.contracts.project import ProjectStorage
from tests.conformance.steps import MAX_SAFE, UNSAFE_TEXTS, Abandoned, gather
from tests.factories import START

OPEN = Breaker(
    provider="openai",
    model="openai/gpt-x",
    state=BreakerState.OPEN,
    failures=MAX_SAFE,
    error_code="rate_limited",
    opened_at=START,
    probe_at=START + timedelta(microseconds=1),
    updated_at=START + timedelta(seconds=1),
)
CLOSED = replace(OPEN, state=BreakerState.CLOSED, failures=0, error_code=None, opened_at=None, probe_at=None)


class TestFind:
    async def test_what_never_failed_is_unknown(self, project: ProjectStorage) -> None:
        """There is no breaker until one is saved."""
        assert await project.breakers.find("openai", "openai/gpt-x") is None

    @pytest.mark.parametrize("breaker", [OPEN, CLOSED], ids=["open", "closed"])
    async def test_every_field_comes_back(self, project: ProjectStorage, breaker: Breaker) -> None:
        """By provider and model together."""
        assert await project.breakers.save(breaker, expected=None) is True

        assert await project.breakers.find("openai", "openai/gpt-x") == breaker
        assert await project.breakers.find("openai", "openai/gpt-y") is None
        assert await project.breakers.find("azure", "openai/gpt-x") is None

    async def test_other_projects_have_their_own(self, project: ProjectStorage, other_project: ProjectStorage) -> None:
        """A breaker is seen in its project only."""
        await project.breakers.save(OPEN, expected=None)

        assert await other_project.breakers.find("openai", "openai/gpt-x") is None
        assert await other_project.breakers.list_breakers() == []


class TestListBreakers:
    async def test_is_ordered_by_provider_and_model(self, project: ProjectStorage) -> None:
        """Whatever the order of saving."""
        names = [("openai", "b"), ("anthropic", "c"), ("openai", "a")]
        for provider, model in names:
            await project.breakers.save(replace(OPEN, provider=provider, model=model), expected=None)

        listed = await project.breakers.list_breakers()
        assert [(each.provider, each.model) for each in listed] == [
            ("anthropic", "c"),
            ("openai", "a"),
            ("openai", "b"),
        ]


class TestSave:
    async def test_takes_the_place_of_the_expected_one(self, project: ProjectStorage) -> None:
        """Nothing of the old breaker is left, and nothing that was cleared."""
        await project.breakers.save(OPEN, expected=None)

        assert await project.breakers.save(CLOSED, expected=OPEN) is True
        assert await project.breakers.save(OPEN, expected=CLOSED) is True
        assert await project.breakers.list_breakers() == [OPEN]

    @pytest.mark.parametrize(
        "change",
        [
            {"state": BreakerState.HALF_OPEN},
            {"failures": 3},
            {"error_code": "timeout"},
            {"error_code": None},
            {"opened_at": None},
            {"probe_at": START},
            {"probe_at": None},
            {"updated_at": START},
        ],
    )
    async def test_any_other_one_stays(self, project: ProjectStorage, change: dict[str, object]) -> None:
        """One field that differs from what was expected is enough, for a present and for a cleared one."""
        stored = replace(OPEN, **change)  # type: ignore[arg-type]
        await project.breakers.save(stored, expected=None)

        assert await project.breakers.save(CLOSED, expected=OPEN) is False
        assert await project.breakers.save(CLOSED, expected=None) is False
        assert await project.breakers.list_breakers() == [stored]

    async def test_what_is_gone_is_not_replaced(self, project: ProjectStorage) -> None:
        """Expecting a breaker where there is none writes nothing."""
        assert await project.breakers.save(CLOSED, expected=OPEN) is False
        assert await project.breakers.list_breakers() == []

    async def test_one_of_many_at_once_wins(self, project: ProjectStorage) -> None:
        """Eight callers that saw the same breaker: one replaces it."""
        await project.breakers.save(OPEN, expected=None)
        probes = [replace(OPEN, state=BreakerState.HALF_OPEN, failures=n) for n in range(8)]

        won = await gather(*(project.breakers.save(probe, expected=OPEN) for probe in probes))

        assert sorted(won) == [False] * 7 + [True]
        assert await project.breakers.list_breakers() == [probes[won.index(True)]]

    async def test_is_rolled_back_with_its_transaction(self, project: ProjectStorage) -> None:
        """What a transaction saved is gone with it."""

        async def abandoned() -> None:
            async with project.transaction() as tx:
                await tx.breakers.save(OPEN, expected=None)
                raise Abandoned

        with pytest.raises(Abandoned):
            await abandoned()

        assert await project.breakers.list_breakers() == []

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"failures": -1}, OutOfRange),
            ({"failures": MAX_SAFE + 1}, OutOfRange),
            ({"provider": UNSAFE_TEXTS[0]}, UnsafeText),
            ({"model": UNSAFE_TEXTS[1]}, UnsafeText),
            ({"error_code": UNSAFE_TEXTS[0]}, UnsafeText),
            ({"opened_at": datetime(2026, 1, 1)}, InvalidInput),  # noqa: DTZ001 - the point of the case
            ({"updated_at": datetime(2026, 1, 1)}, InvalidInput),  # noqa: DTZ001 - the point of the case
        ],
    )
    async def test_what_cannot_be_stored_is_refused(
        self, project: ProjectStorage, change: dict[str, object], error: type[Exception]
    ) -> None:
        """Before anything is written."""
        with pytest.raises(error):
            await project.breakers.save(replace(OPEN, **change), expected=None)  # type: ignore[arg-type]

        assert await project.breakers.list_breakers() == []
