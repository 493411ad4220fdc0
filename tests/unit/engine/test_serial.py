"""Locks per session: order, independence, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest

from lcm.engine.serial import SessionLocks


class TestSessionLocks:
    async def test_one_session_runs_one_operation_at_a_time_in_order(self) -> None:
        """Each ends before the next begins."""
        locks, events = SessionLocks(), []

        async def operation(number: int) -> None:
            async with locks.hold("s"):
                events.append(f"begin {number}")
                await asyncio.sleep(0)
                events.append(f"end {number}")

        await asyncio.gather(*(operation(number) for number in range(3)))

        assert events == ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]

    async def test_sessions_do_not_wait_for_each_other(self) -> None:
        """Two are held at once."""
        locks = SessionLocks()
        async with locks.hold("a"), locks.hold("b"):
            assert len(locks) == 2

    async def test_a_lock_that_nobody_uses_is_gone(self) -> None:
        """After success, failure, and a cancelled wait."""
        locks = SessionLocks()

        async def failing() -> None:
            async with locks.hold("s"):
                waiting = asyncio.create_task(locks.hold("s").__aenter__())
                await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                raise ValueError("x")

        with pytest.raises(ValueError, match="x"):
            await failing()

        assert len(locks) == 0

    async def test_who_waits_keeps_the_lock_alive(self) -> None:
        """A third comer waits behind the second, not beside it."""
        locks, order = SessionLocks(), []

        async def late(name: str) -> None:
            async with locks.hold("s"):
                order.append(name)

        async with locks.hold("s"):
            second = asyncio.create_task(late("second"))
            await asyncio.sleep(0)
        third = asyncio.create_task(late("third"))
        await asyncio.gather(second, third)

        assert order == ["second", "third"]
