"""How much is measured: the sizes that the budgets are meant for, and smaller ones for a quick look."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of one run.

    Attributes:
        messages, few_messages: of the imported corpus, and of the smaller one that memory is compared with.
        per_session: messages of each session of a corpus.
        session, short_session: messages of the one long session, and of the shorter one that growth is compared with.
        small_session: messages of the session that one more turn is compared with.
        huge_line_mb: the text of one transcript line, in millions of bytes.
        runs: how often something heavy is measured; the least counts. Light things are measured more often.
        is_full: whether budgets that depend on the size mean anything.
    """

    messages: int = 100_000
    few_messages: int = 10_000
    per_session: int = 500
    session: int = 20_000
    short_session: int = 2_000
    small_session: int = 200
    huge_line_mb: float = 30.0
    runs: int = 3
    is_full: bool = True

    @classmethod
    def divided(cls, divisor: int, *, runs: int) -> Self:
        """Everything smaller by a divisor, yet large enough that each line still measures what it is about."""
        whole = cls(runs=runs)
        if divisor == 1:
            return whole
        messages = max(120, whole.messages // divisor)
        return replace(
            whole,
            messages=messages,
            few_messages=max(60, whole.few_messages // divisor),
            per_session=min(whole.per_session, messages // 4),
            session=max(400, whole.session // divisor),
            short_session=max(200, whole.short_session // divisor),
            small_session=max(60, whole.small_session // divisor),
            huge_line_mb=whole.huge_line_mb / divisor,
            is_full=False,
        )

    @property
    def light_runs(self) -> int:
        """How often something light is measured."""
        return (5 if self.is_full else 3) * self.runs

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))
