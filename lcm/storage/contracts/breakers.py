"""Circuit breakers of model providers, shared by every process that opens the project; internal to lcm."""

from __future__ import annotations

from typing import Protocol

from lcm.domain.breakers import Breaker


class BreakerRepository(Protocol):
    async def find(self, provider: str, model: str) -> Breaker | None:
        """What is noted about a model; None when nothing ever failed."""
        ...

    async def list_breakers(self) -> list[Breaker]:
        """All of the project, by (provider, model)."""
        ...

    async def save(self, breaker: Breaker, *, expected: Breaker | None) -> bool:
        """Put a breaker in the place of `expected`, of the same provider and model, None being no breaker.

        Returns:
            False when another one is there by now; nothing was written then.

        Raises:
            OutOfRange, UnsafeText, InvalidInput: a value that cannot be stored.
        """
        ...
