"""Build what the model sees of a conversation: summaries and messages, newest first within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from lcm.assembly.blocks import Draft, message_draft, summary_draft
from lcm.assembly.budget import BudgetPolicy, Selection, certain_tail_size, select_before_tail, select_items
from lcm.assembly.file_summaries import with_file_summaries
from lcm.assembly.messages import AssembledMessage, FoundResult, build_messages, unanswered_calls
from lcm.domain.context import ContextItem
from lcm.domain.summaries import Summary, SummaryKind
from lcm.rendering.xml import summary_xml
from lcm.storage.contracts.project import ProjectStorage, Repositories
from lcm.tokens import estimate_tokens

_FIRST_PAGE = 256


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The built context of one conversation.

    Attributes:
        token_count: stored tokens of the included items, and the estimate of what was looked up for them: what files
            hold, and results of their calls.
        over_budget: the fresh tail alone is larger than the budget.
        items_total, items_included, dropped_oldest: context items; included are the newest ones.
        tail_items: included items that belong to the fresh tail.
        max_depth: depth of the deepest summary included, None without one.
        dropped_calls, dropped_results: tool call ids left out because their other half is nowhere in reach.
    """

    conversation_id: int
    messages: tuple[AssembledMessage, ...]
    token_count: int
    budget: int
    over_budget: bool
    items_total: int
    items_included: int
    tail_items: int
    dropped_oldest: int
    max_depth: int | None
    dropped_calls: tuple[str, ...] = ()
    dropped_results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Window:
    """The newest items of the context, oldest first, with the choice among them."""

    items: Sequence[ContextItem]
    selection: Selection
    items_total: int

    @property
    def included(self) -> Sequence[ContextItem]:
        return self.items[self.selection.start :]

    @property
    def tail_items(self) -> int:
        return len(self.items) - self.selection.tail_start


async def assemble(
    project: ProjectStorage,
    conversation_id: int,
    *,
    budget: int,
    fresh_tail_count: int = 32,
    fresh_tail_max_tokens: int | None = None,
    timezone: tzinfo = UTC,
) -> AssembledContext:
    """Summaries and messages of the context, oldest first, within `budget` tokens.

    The fresh tail (the newest `fresh_tail_count` raw messages, completed so that no tool call is parted from its
    result) is always included; older items are added newest first until one does not fit. `fresh_tail_max_tokens`
    bounds the tail in whole tool groups; None leaves it to the count alone. Times in summaries are of `timezone`.

    Raises:
        OutOfRange: a limit is no safe integer, or the budget is not positive.
        UnknownConversation.
    """
    policy = BudgetPolicy(budget, fresh_tail_count, fresh_tail_max_tokens)
    policy.validate()
    async with project.snapshot() as stored:
        window = await _read_window(stored, conversation_id, policy)
        drafts = await _resolve(stored, window, timezone)
        token_count = window.selection.token_count
        drafts, summary_tokens = await with_file_summaries(stored.large_files, drafts, budget - token_count)
        token_count += summary_tokens
        found = await _find_results(stored, drafts, budget - token_count)
    built = build_messages(drafts, found)
    token_count += sum(_result_tokens(result) for result in found.values())
    return AssembledContext(
        conversation_id=conversation_id,
        messages=built.messages,
        token_count=token_count,
        budget=budget,
        over_budget=token_count > budget,
        items_total=window.items_total,
        items_included=len(window.included),
        tail_items=window.tail_items,
        dropped_oldest=window.items_total - len(window.included),
        max_depth=max((item.depth for item in window.included if item.depth is not None), default=None),
        dropped_calls=built.dropped_calls,
        dropped_results=built.dropped_results,
    )


async def _read_window(stored: Repositories, conversation_id: int, policy: BudgetPolicy) -> _Window:
    """Read pages newest first, each as large as all before it, until older items cannot change the choice.

    Once it is certain where the fresh tail starts, older items count by their tokens alone.
    """
    items: list[ContextItem] = []
    tail_size: int | None = None
    while True:
        limit = max(_FIRST_PAGE, len(items))
        before = items[0].position if items else None
        page = await stored.context.list_newest(
            conversation_id, before_position=before, limit=limit, with_tools=tail_size is None
        )
        items[:0] = reversed(page)
        if tail_size is None:
            tail_size = certain_tail_size(items, policy)
        is_whole = len(page) < limit
        if tail_size is not None:
            selection = select_before_tail(items, len(items) - tail_size, policy)
        elif is_whole:
            selection = select_items(items, policy)
        else:
            continue
        if selection.is_final or is_whole:
            return _Window(items, selection, items_total=await stored.context.count_items(conversation_id))


async def _resolve(stored: Repositories, window: _Window, timezone: tzinfo) -> list[Draft]:
    """Drafts of the included items, in order."""
    first_protected = len(window.included) - window.tail_items
    message_ids = [item.ref.message_id for item in window.included if item.ref.message_id is not None]
    summary_keys = [item.ref.summary_key for item in window.included if item.ref.summary_key is not None]
    messages = {message.message_id: message for message in await stored.conversations.list_messages_by_id(message_ids)}
    parts = await stored.conversations.list_parts(message_ids)
    summaries = {summary.summary_key: summary for summary in await stored.summaries.list_by_key(summary_keys)}
    drafts: list[Draft] = []
    for position, item in enumerate(window.included):
        is_protected = position >= first_protected
        if (message := messages.get(item.ref.message_id or -1)) is not None:
            drafts.append(message_draft(message, parts.get(message.message_id, ()), is_protected=is_protected))
        elif item.ref.summary_key is not None and (summary := summaries.get(item.ref.summary_key)) is not None:
            xml = summary_xml(summary, await _parent_ids(stored, summary), timezone=timezone)
            drafts.append(summary_draft(summary.summary_id, xml, is_protected=is_protected))
    return drafts


async def _parent_ids(stored: Repositories, summary: Summary) -> list[str]:
    """Ids of the summaries it was made from."""
    if summary.kind is SummaryKind.LEAF:
        return []
    return [child.summary_id for child in await stored.summaries.list_children(summary.summary_key)]


async def _find_results(stored: Repositories, drafts: Sequence[Draft], free_tokens: int) -> dict[str, FoundResult]:
    """Results stored elsewhere for calls that have none here: of the fresh tail all, of the rest what still fits."""
    calls = unanswered_calls(drafts)
    if not calls:
        return {}
    results = await _stored_results(stored, [call_id for _, call_id in calls])
    chosen: dict[str, FoundResult] = {}
    for position, call_id in sorted(calls, key=lambda call: (not drafts[call[0]].is_protected, -call[0])):
        result = results.get(call_id)
        if result is None or call_id in chosen:
            continue
        cost = _result_tokens(result)
        if drafts[position].is_protected or cost <= free_tokens:
            chosen[call_id] = result
            free_tokens -= cost
    return chosen


async def _stored_results(stored: Repositories, call_ids: Sequence[str]) -> dict[str, FoundResult]:
    places = await stored.conversations.find_tool_results(call_ids)
    message_ids = list(dict.fromkeys(places.values()))
    parts = await stored.conversations.list_parts(message_ids)
    drafts = {
        message.message_id: message_draft(message, parts.get(message.message_id, ()))
        for message in await stored.conversations.list_messages_by_id(message_ids)
    }
    return {
        block["tool_use_id"]: FoundResult(block, drafts[message_id].ref)
        for call_id, message_id in places.items()
        if message_id in drafts
        for block in drafts[message_id].results
        if block["tool_use_id"] == call_id
    }


def _result_tokens(result: FoundResult) -> int:
    return estimate_tokens(result.block["content"])
