"""Find what a typed id names: a conversation by id, key, session or a beginning; a message by place or key."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence

from lcm.domain.conversations import Conversation
from lcm.domain.messages import Message
from lcm.errors import AmbiguousId, UnknownConversation, UnknownMessage
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import MAX_SAFE_INTEGER

MIN_PREFIX_CHARS = 4
_MAX_CANDIDATES = 20
_NUMBER = re.compile(r"[0-9]{1,16}")
_MESSAGE_PLACE = re.compile(r"([0-9]{1,16}):([0-9]{1,16})")
_INGEST_KEY = re.compile(r"[0-9a-f]{64}")


async def resolve_conversation(project: ProjectStorage, text: str) -> Conversation:
    """The conversation that a person names by its id, its key, its session id or a beginning of either.

    A session with several segments is its newest one. A beginning has at least 4 characters.

    Raises:
        UnknownConversation.
        AmbiguousId: a beginning of several sessions or keys; the candidates are those.
    """
    wanted = text.strip()
    found = await _find_by_number(project, wanted) or await _find_exact(project, wanted)
    if found is not None:
        return found
    if len(wanted) < MIN_PREFIX_CHARS:
        raise UnknownConversation
    return await _find_by_prefix(project, wanted)


async def find_message(project: ProjectStorage, text: str) -> Message:
    """The message at `conversation_id:seq` or with an ingest key of 64 hexadecimal digits.

    Raises:
        UnknownMessage.
    """
    if place := _MESSAGE_PLACE.fullmatch(text):
        return await _message_at(project, int(place[1]), int(place[2]))
    if _INGEST_KEY.fullmatch(text.lower()):
        key = bytes.fromhex(text)
        stored = (await project.ingest.find_identities([key])).get(key)
        if stored is not None:
            return await project.conversations.get_message(stored.message_id)
    raise UnknownMessage


def names_message(text: str) -> bool:
    """Whether a text has the form of a message's place or ingest key."""
    return bool(_MESSAGE_PLACE.fullmatch(text) or _INGEST_KEY.fullmatch(text.lower()))


async def _message_at(project: ProjectStorage, conversation_id: int, seq: int) -> Message:
    if max(conversation_id, seq) > MAX_SAFE_INTEGER:
        raise UnknownMessage
    try:
        found = await project.conversations.list_messages(conversation_id, after_seq=seq - 1, limit=1)
    except UnknownConversation:
        raise UnknownMessage from None
    if not found or found[0].seq != seq:
        raise UnknownMessage
    return found[0]


async def _find_by_number(project: ProjectStorage, wanted: str) -> Conversation | None:
    if not _NUMBER.fullmatch(wanted) or int(wanted) > MAX_SAFE_INTEGER:
        return None
    try:
        return await project.conversations.get_conversation(int(wanted))
    except UnknownConversation:
        return None


async def _find_exact(project: ProjectStorage, wanted: str) -> Conversation | None:
    """By key, else the newest segment of the session."""
    key = _as_key(wanted)
    if key is not None and (found := await project.conversations.find_by_key(key)) is not None:
        return found
    return await project.conversations.find_newest_of_session(wanted)


def _as_key(wanted: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(wanted)
    except ValueError:
        return None


async def _find_by_prefix(project: ProjectStorage, prefix: str) -> Conversation:
    conversations = await project.conversations.list_conversations()
    by_session = [each for each in conversations if each.session_id.startswith(prefix)]
    by_key = [each for each in conversations if str(each.conversation_key).startswith(prefix.lower())]
    names = _each_once([*(each.session_id for each in by_session), *(str(each.conversation_key) for each in by_key)])
    if len({each.session_id for each in by_session}) == 1 and _are_among(by_key, by_session):
        return by_session[-1]
    if not by_session and len(by_key) == 1:
        return by_key[0]
    if not names:
        raise UnknownConversation
    raise AmbiguousId(tuple(names[:_MAX_CANDIDATES]))


def _are_among(some: Sequence[Conversation], others: Sequence[Conversation]) -> bool:
    ids = {each.conversation_id for each in others}
    return all(each.conversation_id in ids for each in some)


def _each_once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
