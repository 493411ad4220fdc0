"""Figures of a project: what is stored, and what a model would see of it."""

from __future__ import annotations

from dataclasses import dataclass

from lcm.domain.breakers import Breaker
from lcm.domain.model_calls import CallStatus
from lcm.storage.contracts.project import ProjectStorage


@dataclass(frozen=True, slots=True)
class Stats:
    """Sums over one project.

    Attributes:
        cost: in millionths; None when the price of a call is unknown.
        breakers: of the models that ever failed, by (provider, model).
    """

    conversations: int
    messages: int
    parts: int
    summaries: int
    max_depth: int | None
    context_tokens: int
    raw_tokens: int
    large_files: int
    redactions: dict[str, int]
    model_calls: int
    cost: int | None
    breakers: tuple[Breaker, ...] = ()


async def collect_stats(project: ProjectStorage) -> Stats:
    overviews = await project.conversations.list_overviews()
    calls = await project.model_calls.list_calls()
    answered = [call for call in calls if call.outcome.status is not CallStatus.FAILED]
    costs = [call.outcome.cost_micros for call in answered]
    depths = [each.max_depth for each in overviews if each.max_depth is not None]
    return Stats(
        conversations=len(overviews),
        messages=sum(each.message_count for each in overviews),
        parts=await project.conversations.count_parts(),
        summaries=sum(each.summary_count for each in overviews),
        max_depth=max(depths, default=None),
        context_tokens=sum(each.context_tokens for each in overviews),
        raw_tokens=sum(each.raw_tokens for each in overviews),
        large_files=len(await project.large_files.list_files()),
        redactions=await project.redaction_admin.get_counts(),
        model_calls=len(calls),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        breakers=tuple(await project.breakers.list_breakers()),
    )


def total_of(figures: list[Stats]) -> Stats:
    """The same figures over several projects."""
    depths = [each.max_depth for each in figures if each.max_depth is not None]
    costs = [each.cost for each in figures]
    categories = sorted({name for each in figures for name in each.redactions})
    return Stats(
        conversations=sum(each.conversations for each in figures),
        messages=sum(each.messages for each in figures),
        parts=sum(each.parts for each in figures),
        summaries=sum(each.summaries for each in figures),
        max_depth=max(depths, default=None),
        context_tokens=sum(each.context_tokens for each in figures),
        raw_tokens=sum(each.raw_tokens for each in figures),
        large_files=sum(each.large_files for each in figures),
        redactions={name: sum(each.redactions.get(name, 0) for each in figures) for name in categories},
        model_calls=sum(each.model_calls for each in figures),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        breakers=tuple(breaker for each in figures for breaker in each.breakers),
    )
