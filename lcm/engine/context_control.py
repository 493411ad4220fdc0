"""Taking messages out of a context by hand and putting them back: reasons are kept, nothing is deleted.

A tool call and its results go together. What a summary covers, and a summary itself, stays: a message's place is one
of three (in context, below one live summary, excluded), and what a summary says cannot be taken out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lcm.domain.context import AuditAction, ItemRef
from lcm.domain.conversations import Conversation
from lcm.domain.messages import Exclusion, Message, MessagePart, PartType, Role
from lcm.domain.tool_pairs import ToolItem, tool_pairs
from lcm.errors import InvalidInput
from lcm.ids import SUMMARY_PREFIX
from lcm.redaction.scrub import Scrubbed, Scrubber
from lcm.retrieval.describe import resolve_summary
from lcm.retrieval.identify import find_message, names_message
from lcm.storage.contracts.project import ProjectStorage, Repositories
from lcm.text import require_safe

MAX_REASON_CHARS = 1000
#: How far to look in a source for something that is shown, before looking at all of it.
_NEAR = 64

_LEFT_OUT = {
    Exclusion.META: "its client marks it as not for the model",
    Exclusion.CLIENT_SUMMARY: "it is the client's own summary",
    Exclusion.REWOUND: "it was taken back in its client",
    Exclusion.DUPLICATE: "it is a second copy",
    Exclusion.AUDITED: "it is excluded already; `lcm context include` puts it back",
}


@dataclass(frozen=True, slots=True)
class MovedMessage:
    """A message that was taken out or put back; `is_partner`: it went along with the other half of a tool call."""

    message: Message
    is_partner: bool


@dataclass(frozen=True, slots=True)
class ContextChange:
    """What an action did to a context.

    Attributes:
        reason: as it was stored, redacted.
        messages: in order of the conversation.
        context_tokens, context_revision: of the context afterwards.
        still_shown_in: other conversations, based on the message's own, that show it itself.
    """

    action: AuditAction
    conversation_id: int
    reason: str
    messages: tuple[MovedMessage, ...]
    context_tokens: int
    context_revision: int
    still_shown_in: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One row of the record, with the message that it is about."""

    action: AuditAction
    conversation_id: int
    message: Message
    reason: str
    exclusion_before: Exclusion | None
    created_at: datetime


async def find_named_message(project: ProjectStorage, identifier: str) -> Message:
    """The message that a person names by its place or its key.

    Raises:
        UnknownMessage, UnknownSummary, AmbiguousId.
        InvalidInput: the id is of something else. A summary is told apart: leaving it out would leave what it covers
            in no place at all.
    """
    wanted = identifier.strip()
    if wanted.startswith(SUMMARY_PREFIX):
        summary = await resolve_summary(project, wanted)
        raise InvalidInput(
            f"A summary is neither excluded nor put back: what {summary.summary_id} covers has no other place in the"
            f" context. See it with `lcm expand {summary.summary_id}`; name a message, such as 3:17."
        )
    if not names_message(wanted):
        raise InvalidInput("Name a message, such as 3:17, or its key; `lcm search` and `lcm context` tell them.")
    return await find_message(project, wanted)


async def exclude_message(
    project: ProjectStorage, message_id: int, reason: str, *, scrubber: Scrubber, conversation_id: int | None = None
) -> ContextChange:
    """Take a message, with the other halves of its tool calls, out of a context: its own conversation's, or a fork's.

    One transaction with the record of it. Nothing is deleted: the message is found, opened and verified as before.
    `reason` is one line for the record; secrets in it are redacted. `conversation_id` names a conversation that shows
    the message too, because it is based on the message's own.

    Raises:
        InvalidInput: the message is not itself in that context (the error tells where it is), or the reason is
            empty or too long. UnknownMessage, UnknownConversation.
    """
    scrubbed = _redacted(reason, scrubber)
    async with project.transaction() as tx:
        message = await tx.conversations.get_message(message_id)
        context_id = conversation_id or message.conversation_id
        items = await tx.context.list_items(context_id)
        at = next((n for n, item in enumerate(items) if item.ref.message_id == message_id), None)
        if at is None:
            raise InvalidInput(await _why_not_shown(tx, message, context_id))
        ids = [items[n].ref.message_id or 0 for n in joined_positions(items, at)]
        await tx.context_audits.note(context_id, ids, AuditAction.EXCLUDE, scrubbed.text)
        await tx.context.exclude_messages(context_id, ids, Exclusion.AUDITED)
        await tx.redaction_admin.add_counts(scrubbed.counts)
        moved = await _moved(tx, ids, message_id)
        change = await _change(tx, AuditAction.EXCLUDE, context_id, scrubbed.text, moved)
        return replace(change, still_shown_in=await _shown_in(tx, message))


async def include_message(
    project: ProjectStorage, message_id: int, reason: str, *, scrubber: Scrubber, conversation_id: int | None = None
) -> ContextChange:
    """Put a message that was excluded by hand back where it stood in its source, with what went along with it.

    When what stood before it has been compacted, it comes behind the summary of that. Arguments as `exclude_message`.

    Raises:
        InvalidInput: it was not excluded by hand, or the reason is empty or too long.
        UnknownMessage, UnknownConversation.
    """
    scrubbed = _redacted(reason, scrubber)
    async with project.transaction() as tx:
        message = await tx.conversations.get_message(message_id)
        conversation = await tx.conversations.get_conversation(conversation_id or message.conversation_id)
        context_id = conversation.conversation_id
        records = await _records(tx, await tx.context_audits.list_taken_out(context_id))
        at = next((n for n, record in enumerate(records) if record.message.message_id == message_id), None)
        if at is None:
            raise InvalidInput(await _why_not_excluded(tx, message, context_id))
        ids = [records[n].message.message_id for n in joined_positions(records, at)]
        await tx.context_audits.note(context_id, ids, AuditAction.INCLUDE, scrubbed.text)
        chain = await _base_chain(tx, conversation)
        for each in ids:
            place = await _source_place(tx, conversation, chain, each)
            await tx.context.restore_messages(context_id, place, [each])
        await tx.redaction_admin.add_counts(scrubbed.counts)
        moved = await _moved(tx, ids, message_id)
        return await _change(tx, AuditAction.INCLUDE, context_id, scrubbed.text, moved)


async def list_audits(
    project: ProjectStorage, *, conversation_id: int | None = None, message_id: int | None = None
) -> list[AuditEntry]:
    """The record, oldest first: of the project, of one context, or of one message."""
    audits = await project.context_audits.list_audits(conversation_id=conversation_id, message_id=message_id)
    found = await project.conversations.list_messages_by_id(list(dict.fromkeys(each.message_id for each in audits)))
    messages = {message.message_id: message for message in found}
    return [
        AuditEntry(
            each.action,
            each.conversation_id,
            messages[each.message_id],
            each.reason,
            each.exclusion_before,
            each.created_at,
        )
        for each in audits
        if each.message_id in messages
    ]


def joined_positions(items: Sequence[ToolItem], position: int) -> list[int]:
    """Positions, ascending, of the records that tool calls join with the one at `position`, which is among them."""
    neighbours: dict[int, set[int]] = {}
    for pair in tool_pairs(items):
        neighbours.setdefault(pair.call, set()).add(pair.result)
        neighbours.setdefault(pair.result, set()).add(pair.call)
    joined, waiting = {position}, [position]
    while waiting:
        new = neighbours.get(waiting.pop(), set()) - joined
        joined |= new
        waiting += new
    return sorted(joined)


@dataclass(frozen=True, slots=True)
class _Record:
    """A message that is in no context, as pairing needs it."""

    message: Message
    role: Role
    api_message_id: str | None
    tool_call_ids: tuple[str, ...]
    tool_result_ids: tuple[str, ...]


async def _records(tx: Repositories, message_ids: Sequence[int]) -> list[_Record]:
    """By conversation and sequence: halves of one call stay in the order in which they were said."""
    messages = await tx.conversations.list_messages_by_id(message_ids)
    parts = await tx.conversations.list_parts(message_ids)
    return [
        _Record(
            message,
            message.role,
            message.api_message_id,
            _tool_ids(parts.get(message.message_id, ()), PartType.TOOL_CALL),
            _tool_ids(parts.get(message.message_id, ()), PartType.TOOL_RESULT),
        )
        for message in sorted(messages, key=lambda each: (each.conversation_id, each.seq))
    ]


def _tool_ids(parts: Sequence[MessagePart], kind: PartType) -> tuple[str, ...]:
    return tuple(part.tool_call_id for part in parts if part.part_type is kind and part.tool_call_id)


def _redacted(reason: str, scrubber: Scrubber) -> Scrubbed:
    """The reason as it may be stored: one line, without secrets."""
    require_safe("reason", reason)
    line = " ".join(reason.split())
    if not 1 <= len(line) <= MAX_REASON_CHARS:
        raise InvalidInput(f"Give a reason of at most {MAX_REASON_CHARS} characters; it is kept with the message.")
    return scrubber.scrub(line)


async def _why_not_shown(tx: Repositories, message: Message, context_id: int) -> str:
    name = f"Message {message.conversation_id}:{message.seq}"
    if message.exclusion is not None and message.conversation_id == context_id:
        return f"{name} is not in the context: {_LEFT_OUT[message.exclusion]}."
    place = await tx.context.find_place(context_id, message.message_id)
    if place is None or place.summary_key is None:
        return f"{name} is not in the context of conversation {context_id}."
    (summary,) = await tx.summaries.list_by_key([place.summary_key])
    return (
        f"{name} was compacted: {summary.summary_id} stands for it in the context, and a summary keeps what it says."
        f" See it with `lcm expand {summary.summary_id}`."
    )


async def _why_not_excluded(tx: Repositories, message: Message, context_id: int) -> str:
    name = f"Message {message.conversation_id}:{message.seq}"
    place = await tx.context.find_place(context_id, message.message_id)
    if place is not None:
        return f"{name} is in the context already, itself or below a summary."
    if message.exclusion is not None and message.conversation_id == context_id:
        return f"{name} was not excluded by hand: {_LEFT_OUT[message.exclusion]}."
    return f"{name} was not excluded from the context of conversation {context_id}."


async def _base_chain(tx: Repositories, conversation: Conversation) -> list[int]:
    """The conversation and those it is based on."""
    chain = [conversation.conversation_id]
    base = conversation.base_conversation_id
    while base is not None and base not in chain:
        chain.append(base)
        base = (await tx.conversations.get_conversation(base)).base_conversation_id
    return chain


async def _source_place(
    tx: Repositories, conversation: Conversation, chain: Sequence[int], message_id: int
) -> ItemRef | None:
    """The item that a message stands behind in its sources; None: before all.

    Behind the furthest of what comes before it in its sources, else before the nearest of what comes behind it. A
    message that a program gave has no source: it follows the one before it, or the base of its conversation.
    """
    context_id = conversation.conversation_id
    for limit in (_NEAR, None):
        earlier = await tx.context_audits.list_neighbours(message_id, chain, limit=limit)
        furthest = await tx.context.find_furthest(context_id, earlier)
        if furthest is not None:
            return await tx.context.find_place(context_id, furthest)
    items = await tx.context.list_items(context_id)
    later = await tx.context_audits.list_neighbours(message_id, chain, is_later=True, limit=_NEAR)
    places = {await tx.context.find_place(context_id, each) for each in later}
    following = next((n for n, item in enumerate(items) if item.ref in places), None)
    if following is not None:
        return items[following - 1].ref if following else None
    place = await tx.context.find_nearest_place(context_id, message_id)
    if place is None and conversation.base_message_id is not None:
        place = await tx.context.find_nearest_place(context_id, conversation.base_message_id)
    return place


async def _moved(tx: Repositories, ids: Sequence[int], message_id: int) -> tuple[MovedMessage, ...]:
    messages = await tx.conversations.list_messages_by_id(ids)
    return tuple(MovedMessage(each, is_partner=each.message_id != message_id) for each in messages)


async def _shown_in(tx: Repositories, message: Message) -> tuple[int, ...]:
    """The conversations that still show a message itself, ascending."""
    conversations = await tx.conversations.list_conversations()
    bases = {each.conversation_id: each.base_conversation_id for each in conversations}
    shown = []
    for each in sorted(each for each in bases if _is_based_on(bases, each, message.conversation_id)):
        place = await tx.context.find_place(each, message.message_id)
        if place == ItemRef(message_id=message.message_id):
            shown.append(each)
    return tuple(shown)


def _is_based_on(bases: Mapping[int, int | None], conversation_id: int, base_id: int) -> bool:
    """Whether it is that conversation, or stands above it."""
    seen: set[int] = set()
    above: int | None = conversation_id
    while above is not None and above not in seen:
        if above == base_id:
            return True
        seen.add(above)
        above = bases.get(above)
    return False


async def _change(
    tx: Repositories, action: AuditAction, context_id: int, reason: str, moved: tuple[MovedMessage, ...]
) -> ContextChange:
    tokens = await tx.context.count_tokens(context_id)
    revision = (await tx.conversations.get_conversation(context_id)).context_revision
    return ContextChange(action, context_id, reason, moved, tokens, revision)
