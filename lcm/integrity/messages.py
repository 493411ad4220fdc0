"""What can be wrong with one message: its content, its parts, its place, and its neighbours in sequence. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from uuid import UUID

from lcm.domain.content_digest import content_digest
from lcm.domain.messages import Exclusion, IdentityKind, MessagePart, PartType, Role
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.storage.contracts.integrity import MessageRow, PartRow
from lcm.tokens import estimate_tokens

_ROLES = frozenset(each.value for each in Role)
_IDENTITY_KINDS = frozenset(each.value for each in IdentityKind)
_EXCLUSIONS = frozenset(each.value for each in Exclusion)
_PART_TYPES = frozenset(each.value for each in PartType)


def message_name(conversation_id: int, seq: int) -> str:
    """`message 3:17`: conversation and sequence number, as a person finds it."""
    return f"message {conversation_id}:{seq}"


def recomputed_digest(row: MessageRow) -> bytes | None:
    """The content digest of what is stored now; None when that cannot be read."""
    if row.content is None or row.parts is None or any(part.part_type not in _PART_TYPES for part in row.parts):
        return None
    return content_digest(row.role, row.content, [_to_part(part) for part in row.parts])


def check_content(row: MessageRow, found_sha256: bytes | None) -> Iterator[Fault]:
    """Values that lcm knows, readable text, whole parts, and the digest that was taken when it was stored."""
    about = message_name(row.conversation_id, row.seq)
    yield from _check_values(row, about)
    if row.content is None or row.parts is None:
        yield fault(FaultKind.UNREADABLE_MESSAGE, about, "Its stored text is damaged and cannot be read.")
        return
    yield from _check_parts(row.parts, len(row.content), about)
    yield from _check_tokens(row, about)
    if found_sha256 is not None and found_sha256 != row.content_sha256:
        finding = "Role, content and parts are not those that were stored: their digest differs."
        yield fault(FaultKind.CHANGED_MESSAGE, about, finding)


def check_place(row: MessageRow, anchored: Container[UUID]) -> Iterator[Fault]:
    """A message is in exactly one place: in context, below one live leaf that leads to context, or excluded.

    `anchored` are the summaries of its conversation that are in context or below one that is.
    """
    about = message_name(row.conversation_id, row.seq)
    leaves = [each.summary_key for each in row.live_leaves if each.conversation_id == row.conversation_id]
    is_summarized = any(key in anchored for key in leaves)
    is_excluded = row.exclusion is not None
    if row.item_count == 0 and not is_summarized and not is_excluded:
        yield fault(FaultKind.MESSAGE_IN_NO_PLACE, about, _no_place(is_linked=bool(leaves)))
    # An excluded message has no leaf at all; a leaf that leads nowhere is reported at the summary.
    places = row.item_count + (is_summarized or (is_excluded and bool(leaves))) + is_excluded
    if places > 1:
        finding = _places(row.item_count, is_summarized=bool(leaves), is_excluded=is_excluded)
        yield fault(FaultKind.MESSAGE_IN_TWO_PLACES, about, finding)
    for conversation_id, count in Counter(each.conversation_id for each in row.live_leaves).items():
        if count > 1:
            finding = f"It has {count} live leaf summaries in conversation {conversation_id}; one is allowed."
            yield fault(FaultKind.DUPLICATE_LIVE_UPPER, about, finding)


def check_sequence(conversation_id: int, expected: int, seq: int) -> Iterator[Fault]:
    """Sequence numbers count from 0 without gaps; nothing deletes messages."""
    if seq < expected:
        about = message_name(conversation_id, seq)
        yield fault(FaultKind.REPEATED_SEQ, about, "Its sequence number is negative or taken by another message.")
    if seq > expected:
        finding = f"It is gone; {seq - expected} in a row are missing before {seq}."
        yield fault(FaultKind.MISSING_MESSAGE, message_name(conversation_id, expected), finding)


def _check_values(row: MessageRow, about: str) -> Iterator[Fault]:
    known = {
        "role": row.role in _ROLES,
        "kind of identity": row.identity_kind in _IDENTITY_KINDS,
        "exclusion": row.exclusion is None or row.exclusion in _EXCLUSIONS,
    }
    for name, is_known in known.items():
        if not is_known:
            yield fault(FaultKind.INVALID_VALUE, about, f"Its {name} is not one that lcm knows.")
    for name, value in (("token count", row.token_count), ("occurrence", row.identity_occurrence)):
        if value < 0:
            yield fault(FaultKind.INVALID_VALUE, about, f"Its {name} is negative.")


def _check_tokens(row: MessageRow, about: str) -> Iterator[Fault]:
    """What was read from a source has the estimate of its texts; a program may count its own messages as it likes."""
    if row.source_id is None or row.content is None or row.parts is None or row.token_count < 0:
        return
    expected = estimate_tokens(row.content) + sum(estimate_tokens(part.text) for part in row.parts if part.text)
    if row.token_count != expected:
        finding = f"Its token count is {row.token_count}; its texts have {expected}."
        yield fault(FaultKind.WRONG_TOKEN_COUNT, about, finding)


def _check_parts(parts: Sequence[PartRow], content_chars: int, about: str) -> Iterator[Fault]:
    ordinals = [part.ordinal for part in parts]
    if ordinals != list(range(len(ordinals))):
        missing = next(n for n in range(len(ordinals) + 1) if n not in ordinals)
        yield fault(FaultKind.MISSING_PART, about, f"Its part {missing} is gone, later ones are there.")
    for part in parts:
        if part.part_type not in _PART_TYPES:
            yield fault(FaultKind.INVALID_VALUE, about, f"The type of its part {part.ordinal} is not one lcm knows.")
        if not _has_one_text(part, content_chars):
            finding = f"Its part {part.ordinal} has neither a span inside the content nor only a text of its own."
            yield fault(FaultKind.WRONG_PART_SPAN, about, finding)


def _has_one_text(part: PartRow, content_chars: int) -> bool:
    start, end = part.content_start, part.content_end
    if start is None or end is None:
        return start is None and end is None and part.text is not None
    return part.text is None and 0 <= start <= end <= content_chars


def _to_part(part: PartRow) -> MessagePart:
    return MessagePart(
        ordinal=part.ordinal,
        part_type=PartType(part.part_type),
        content_start=part.content_start,
        content_end=part.content_end,
        text=part.text,
        tool_call_id=part.tool_call_id,
        tool_name=part.tool_name,
        is_error=part.is_error,
        file_id=part.file_id,
        metadata=part.metadata,
    )


def _no_place(*, is_linked: bool) -> str:
    if is_linked:
        return "Its leaf summary does not lead to the context, and it is neither in context itself nor excluded."
    return "It is neither in context, nor below a live summary, nor excluded."


def _places(item_count: int, *, is_summarized: bool, is_excluded: bool) -> str:
    places = ["in context"] * item_count
    places += ["below a summary"] * is_summarized + ["excluded"] * is_excluded
    return f"It is {' and '.join(places)}; one place is allowed."
