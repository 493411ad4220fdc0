"""Drafts as the messages a model accepts: records of one API message merged, every call answered, no result alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lcm.assembly.blocks import ChatRole, Draft, JsonBlock
from lcm.domain.messages import Role
from lcm.domain.tool_pairs import ToolPair, ends_turn, tool_pairs

_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class AssembledMessage:
    """One message of the built context.

    Attributes:
        content: blocks of the Anthropic API, never empty.
        refs: where the content is stored: `conversation_id:seq` of messages, or the one summary id.
    """

    role: ChatRole
    content: tuple[JsonBlock, ...]
    refs: tuple[str, ...]
    summary_id: str | None = None


@dataclass(frozen=True, slots=True)
class BuiltMessages:
    """The messages, and the ids of the calls and results left out because their other half is not there."""

    messages: tuple[AssembledMessage, ...]
    dropped_calls: tuple[str, ...]
    dropped_results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundResult:
    """A result and where it is stored."""

    block: JsonBlock
    ref: str


@dataclass(slots=True)
class _Answers:
    """First result of each call by (position of the call, id); an id is used for one call only, as the API wants."""

    results: dict[tuple[int, str], FoundResult]
    used: set[str] = field(default_factory=set)

    def take(self, position: int, call_id: str) -> FoundResult | None:
        result = self.results.get((position, call_id))
        if result is None or call_id in self.used:
            return None
        self.used.add(call_id)
        return result


def unanswered_calls(drafts: Sequence[Draft]) -> list[tuple[int, str]]:
    """Calls whose id has no result among the drafts, as (position, call id), in order."""
    return _unanswered(drafts, tool_pairs(drafts))


def build_messages(drafts: Sequence[Draft], found: Mapping[str, FoundResult]) -> BuiltMessages:
    """Merge and pair, keeping the order.

    Results follow the message that made their calls, in one user message. A call without a result is left out (its text
    stays), and so is a result without its call: nothing is invented. What is only reasoning afterwards is left out.
    `found` are results from elsewhere in the store, by call id, for calls that have none among the drafts.
    """
    answers = _Answers(_results_by_call(drafts, found))
    messages = [message for group in _merged(drafts) for message in _group_messages(drafts, group, answers)]
    calls = dict.fromkeys(call_id for draft in drafts for call_id in draft.tool_call_ids)
    results = dict.fromkeys(call_id for draft in drafts for call_id in draft.tool_result_ids)
    return BuiltMessages(
        tuple(messages),
        dropped_calls=tuple(call_id for call_id in calls if call_id not in answers.used),
        dropped_results=tuple(call_id for call_id in results if call_id not in answers.used),
    )


def _results_by_call(drafts: Sequence[Draft], found: Mapping[str, FoundResult]) -> dict[tuple[int, str], FoundResult]:
    results: dict[tuple[int, str], FoundResult] = {}
    pairs = tool_pairs(drafts)
    for pair in pairs:
        draft = drafts[pair.result]
        block = next(block for block in draft.results if block["tool_use_id"] == pair.call_id)
        results.setdefault((pair.call, pair.call_id), FoundResult(block, draft.ref))
    for position, call_id in _unanswered(drafts, pairs) if found else ():
        if call_id in found:
            results[position, call_id] = found[call_id]
    return results


def _unanswered(drafts: Sequence[Draft], pairs: Sequence[ToolPair]) -> list[tuple[int, str]]:
    answered = {pair.call_id for pair in pairs}
    return [
        (position, call_id)
        for position, draft in enumerate(drafts)
        for call_id in draft.tool_call_ids
        if call_id not in answered
    ]


def _merged(drafts: Sequence[Draft]) -> list[list[int]]:
    """Positions of the drafts that make one message, by the first of each."""
    groups: list[list[int]] = []
    by_api_message: dict[str, list[int]] = {}
    for position, draft in enumerate(drafts):
        if ends_turn(draft):
            by_api_message.clear()
        key = draft.api_message_id if draft.role is Role.ASSISTANT else None
        group = by_api_message.get(key) if key is not None else None
        if group is not None:
            group.append(position)
            continue
        groups.append([position])
        if key is not None:
            by_api_message[key] = groups[-1]
    return groups


def _group_messages(drafts: Sequence[Draft], group: list[int], answers: _Answers) -> Iterator[AssembledMessage]:
    """The group's own message, then the results of its calls."""
    content: list[JsonBlock] = []
    results: list[FoundResult] = []
    for position in group:
        for block in drafts[position].blocks:
            if block["type"] == "tool_use":
                result = answers.take(position, block["id"])
                if result is None:
                    continue
                results.append(result)
            content.append(block)
    first = drafts[group[0]]
    if visible := _without_loose_reasoning(content, first.chat_role):
        refs = tuple(drafts[position].ref for position in group)
        yield AssembledMessage(first.chat_role, visible, refs, first.ref if first.role is None else None)
    if results:
        refs = tuple(dict.fromkeys(result.ref for result in results))
        yield AssembledMessage("user", tuple(result.block for result in results), refs)


def _without_loose_reasoning(content: Sequence[JsonBlock], role: ChatRole) -> tuple[JsonBlock, ...]:
    """The API refuses reasoning that nothing follows, and any reasoning of a user."""
    if role == "user":
        return tuple(block for block in content if block["type"] not in _THINKING)
    end = len(content)
    while end > 0 and content[end - 1]["type"] in _THINKING:
        end -= 1
    return tuple(content[:end])
