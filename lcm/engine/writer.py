"""The one idempotent writer: every entry point (import, bootstrap, ingest, reconcile) ends here.

One batch is one transaction: identities, new messages with their files, places in the context, counters and the
checkpoint of the source. A record that is already stored under its ingest key is never stored again.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from lcm.clock import utc_now
from lcm.domain.context import ItemRef
from lcm.domain.conversations import Conversation, NewConversation, Relation
from lcm.domain.ingest import Checkpoint, IngestCounts, Source, StoredIdentity
from lcm.domain.messages import Exclusion, IdentityKind, Message, NewMessage
from lcm.domain.records import MessageRecord, Rewind, SessionFact, SubagentLink, Thread
from lcm.engine.prepare import PreparedMessage
from lcm.errors import UnknownFile
from lcm.ids import digest
from lcm.large_files.store import store_bytes
from lcm.storage.contracts.project import ProjectStorage, Repositories
from lcm.transcripts.identity import Identity, identity_of, ingest_key, session_name
from lcm.transcripts.source_state import SourceState


@dataclass(slots=True)
class Batch:
    """What was read since the last checkpoint, in source order."""

    messages: list[PreparedMessage] = field(default_factory=list)
    facts: list[SessionFact] = field(default_factory=list)
    links: list[SubagentLink] = field(default_factory=list)
    rewinds: list[Rewind] = field(default_factory=list)
    text_repairs: int = 0
    size_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.messages or self.facts or self.links or self.rewinds)


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch did; `source` holds the new checkpoint."""

    counts: IngestCounts
    source: Source
    conversation_ids: frozenset[int]


class _Entry(NamedTuple):
    """A record with its key and whether it is stored already."""

    prepared: PreparedMessage
    key: bytes
    identity: Identity
    occurrence: int
    occurred_at: datetime
    stored: StoredIdentity | None
    is_new: bool

    @property
    def record(self) -> MessageRecord:
        return self.prepared.record


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes batches of one client's records into one project; `salt` is the project's identity salt."""

    project: ProjectStorage
    client: str
    salt: bytes

    async def write(
        self, source: Source, batch: Batch, checkpoint: Checkpoint, *, is_from_start: bool = False
    ) -> Written:
        """Store a batch and move the source to `checkpoint`; its `parser_state` is completed by the writer's own.

        With `is_from_start` the batch begins the source anew: nothing came before it, nothing is counted yet.

        Raises:
            IdentityConflict: another process moved the source meanwhile; nothing was written.
        """
        async with self.project.transaction() as tx:
            if is_from_start:
                source = await tx.ingest.reset_source(source.source_id, expected_revision=source.revision)
            writing = _Writing(self, tx, source)
            return await writing.run(batch, checkpoint)


class _Writing:
    """One batch inside its transaction."""

    def __init__(self, writer: Writer, tx: Repositories, source: Source) -> None:
        self._writer = writer
        self._tx = tx
        self._source = source
        self._counts = IngestCounts()
        self._redactions: Counter[str] = Counter()
        self._conversations: dict[Thread, Conversation] = {}
        before = _state_of(source.checkpoint)
        self._placed = dict(before.placed)
        self._last_at = before.last_at
        #: By session name: the stored record that the next one stands behind, as of before this batch.
        self._anchors: dict[str, StoredIdentity] = {}

    async def run(self, batch: Batch, checkpoint: Checkpoint) -> Written:
        entries = await self._entries(batch.messages)
        await self._note_facts(batch.facts)
        await self._note_links(batch.links)
        for thread, own in _by_thread(entries).items():
            await self._write_thread(thread, own)
        await self._note_rewinds(batch.rewinds)
        await self._note_places(entries)
        self._counts.text_repairs = batch.text_repairs
        self._counts.redactions = dict(self._redactions)
        if self._counts.redactions:
            await self._tx.redaction_admin.add_counts(self._counts.redactions)
        source = await self._tx.ingest.save_checkpoint(
            self._source.source_id,
            self._completed(checkpoint),
            expected_revision=self._source.revision,
        )
        ids = frozenset(each.conversation_id for each in self._conversations.values())
        return Written(self._counts, source, ids)

    def _completed(self, checkpoint: Checkpoint) -> Checkpoint:
        state = replace(_state_of(checkpoint), placed=self._placed, last_at=self._last_at)
        return replace(checkpoint, parser_state=state.to_text())

    # Identities

    async def _entries(self, prepared: Sequence[PreparedMessage]) -> list[_Entry]:
        """Every record with its key, in source order; the second of two equal keys in a batch is known, not new."""
        identities = [identity_of(each.record, salt=self._writer.salt) for each in prepared]
        occurrences = await self._count_occurrences(identities)
        keys = [
            ingest_key(self._writer.client, identity, occurrence)
            for identity, occurrence in zip(identities, occurrences, strict=True)
        ]
        # One question for the records and for what they stand behind.
        placed = [bytes.fromhex(key) for key in self._placed.values()]
        found = await self._tx.ingest.find_identities([*keys, *placed])
        self._anchors = {name: found[key] for name, key in zip(self._placed, placed, strict=True) if key in found}
        known = {key: found[key] for key in keys if key in found}
        gone = await self._tx.ingest.find_tombstones(keys)
        entries, seen = [], set(known) | gone
        for each, identity, occurrence, key in zip(prepared, identities, occurrences, keys, strict=True):
            at = self._time_of(each.record)
            entries.append(_Entry(each, key, identity, occurrence, at, known.get(key), is_new=key not in seen))
            seen.add(key)
        self._count_known(entries)
        return entries

    async def _count_occurrences(self, identities: Sequence[Identity]) -> list[int]:
        """How many equals came before each, since the start of the source; the new counts belong to the checkpoint."""
        counted = [identity.digest for identity in identities if identity.is_counted]
        if not counted:
            return [0] * len(identities)
        counts = await self._tx.ingest.get_occurrences(self._source.source_id, list(dict.fromkeys(counted)))
        occurrences = []
        for identity in identities:
            before = counts.get(identity.digest, 0) if identity.is_counted else 0
            occurrences.append(before)
            if identity.is_counted:
                counts[identity.digest] = before + 1
        await self._tx.ingest.save_occurrences(self._source.source_id, counts)
        return occurrences

    def _time_of(self, record: MessageRecord) -> datetime:
        """The client's own time; a record without one happened when the one before it did."""
        at = record.occurred_at or self._last_at or utc_now()
        self._last_at = at
        return at

    def _count_known(self, entries: Sequence[_Entry]) -> None:
        new = {entry.key: entry for entry in entries if entry.is_new}
        self._counts.messages_new += len(new)
        for entry in entries:
            if entry.is_new:
                continue
            self._counts.messages_known += 1
            first = entry.stored or (new[entry.key].prepared if entry.key in new else None)
            if first is not None and first.content_sha256 != entry.prepared.content_sha256:
                self._counts.messages_changed += 1

    # Conversations

    async def _conversation(self, thread: Thread) -> Conversation:
        if thread not in self._conversations:
            key = conversation_key(self._writer.client, thread)
            new = NewConversation(
                session_id=thread.session_id,
                client=self._writer.client,
                conversation_key=key,
                relation=Relation.ROOT if thread.agent_id is None else Relation.SUBAGENT,
            )
            # Asked first: what makes one needs a savepoint, and after the first batch there is one.
            found = await self._tx.conversations.find_by_key(key)
            self._conversations[thread] = found or await self._tx.conversations.get_or_create_conversation(new)
        return self._conversations[thread]

    async def _note_facts(self, facts: Iterable[SessionFact]) -> None:
        for fact in facts:
            if fact.title:
                conversation = await self._conversation(fact.thread)
                await self._tx.conversations.update_conversation(conversation.conversation_id, title=fact.title)
            if fact.parent_session_id:
                await self._note_parent(fact.thread, fact.parent_session_id)

    async def _note_parent(self, thread: Thread, parent_session_id: str) -> None:
        key = conversation_key(self._writer.client, Thread(parent_session_id))
        parent = await self._tx.conversations.find_by_key(key)
        conversation = await self._conversation(thread)
        if parent is None or conversation.base_conversation_id is not None:
            return
        if await self._is_based_on(parent, conversation):
            return
        base = NewConversation(
            session_id=thread.session_id, relation=Relation.FORK, base_conversation_id=parent.conversation_id
        )
        self._conversations[thread] = await self._tx.conversations.update_conversation(
            conversation.conversation_id, base=base
        )

    async def _is_based_on(self, conversation: Conversation, base: Conversation) -> bool:
        """Whether `base` is the conversation or one of those below it: then it must not be based on it in turn."""
        below = conversation
        while below.conversation_id != base.conversation_id:
            if below.base_conversation_id is None:
                return False
            below = await self._tx.conversations.get_conversation(below.base_conversation_id)
        return True

    async def _note_links(self, links: Iterable[SubagentLink]) -> None:
        for link in links:
            await self._conversation(link.parent)  # first, so that a parent's id is the lower one
            conversation = await self._conversation(link.agent)
            if conversation.parent_tool_call_id is None:
                self._conversations[link.agent] = await self._tx.conversations.update_conversation(
                    conversation.conversation_id, parent_tool_call_id=link.tool_call_id
                )

    # Messages

    async def _write_thread(self, thread: Thread, entries: Sequence[_Entry]) -> None:
        conversation = await self._conversation(thread)
        conversation_id = conversation.conversation_id
        anchor = self._anchors.get(session_name(thread))
        has_own = anchor is not None and anchor.conversation_id == conversation_id
        if not has_own:
            has_own = await self._tx.conversations.find_last_seq(conversation_id) is not None
        is_fork = any(entry.record.forked_from for entry in entries)
        for is_new, group in groupby(entries, key=lambda entry: entry.is_new):
            run = list(group)
            if is_new:
                if not has_own:
                    await self._base_on(thread, anchor, is_fork=is_fork)
                anchor = await self._append(conversation_id, anchor, run) or anchor
                has_own = True
            else:
                borrowed = _borrowed(await self._conversation(thread), anchor, run, has_own=has_own)
                anchor = await self._anchor_after(conversation_id, anchor, run, is_base_first=not has_own)
                if borrowed:
                    if not has_own:
                        await self._base_on(thread, anchor, is_fork=is_fork)
                    await self._show_borrowed(conversation_id, borrowed)
                    anchor = await self._anchor_after(conversation_id, anchor, run)
        if not has_own:
            await self._base_on(thread, anchor, is_fork=is_fork)
        if anchor is not None:
            self._placed[session_name(thread)] = anchor.ingest_key.hex()

    async def _append(
        self, conversation_id: int, anchor: StoredIdentity | None, run: Sequence[_Entry]
    ) -> StoredIdentity | None:
        """Store and place new records; returns the last one that is shown, if any is."""
        for entry in run:
            for file in entry.prepared.files:
                if not await self._has_file(file.file_id):
                    self._counts.large_files += 1
                new_file = store_bytes(self._writer.project.files_folder, file, conversation_id)
                await self._tx.large_files.insert_file(new_file)
        messages = [_new_message(entry, self._source.source_id) for entry in run]
        stored = await self._tx.conversations.append_messages(conversation_id, messages)
        self._counts.parts_new += sum(len(message.parts) for message in messages)
        for entry in run:
            if entry.prepared.redactions:
                self._redactions.update(entry.prepared.redactions)
        shown = [message for message in stored if message.exclusion is None]
        await self._place(conversation_id, anchor, [message.message_id for message in shown], messages[0])
        return _identity_in(shown[-1], self._source.source_id) if shown else None

    async def _has_file(self, file_id: str) -> bool:
        try:
            await self._tx.large_files.get_file(file_id)
        except UnknownFile:
            return False
        return True

    async def _place(
        self, conversation_id: int, anchor: StoredIdentity | None, message_ids: Sequence[int], first: NewMessage
    ) -> None:
        """Behind what stands before them in the source; without that, before or behind all by time."""
        if not message_ids:
            return
        context = self._tx.context
        if anchor is not None:
            place = await context.find_nearest_place(conversation_id, anchor.message_id)
            if place is not None:
                await context.insert_messages_after(conversation_id, place, message_ids)
                return
        newest = await context.list_items(conversation_id, newest_first=True, limit=1)
        if anchor is None and newest and _is_before(first, newest[0].occurred_at):
            await context.insert_messages_after(conversation_id, None, message_ids)
            return
        await context.append_messages(conversation_id, message_ids)

    async def _base_on(self, thread: Thread, anchor: StoredIdentity | None, *, is_fork: bool) -> None:
        """A conversation that begins with another one's messages starts with that one's context up to there."""
        conversation = await self._conversation(thread)
        conversation_id = conversation.conversation_id
        if anchor is None or anchor.conversation_id == conversation_id:
            return
        if conversation.base_message_id is not None and not await self._goes_further(conversation, anchor):
            return
        base = NewConversation(
            session_id=thread.session_id,
            relation=Relation.FORK if is_fork or conversation.relation is Relation.FORK else Relation.RESUME,
            base_conversation_id=anchor.conversation_id,
            base_message_id=anchor.message_id,
        )
        shown = [] if conversation.base_message_id is None else await self._shown(conversation_id)
        self._conversations[thread] = await self._tx.conversations.update_conversation(conversation_id, base=base)
        await self._tx.context.copy_base(conversation_id, anchor.conversation_id, anchor.message_id)
        if conversation.base_message_id is not None and shown:
            await self._keep_own_view(conversation_id, shown, conversation.base_message_id)

    async def _shown(self, conversation_id: int) -> list[ItemRef]:
        return [item.ref for item in await self._tx.context.list_items(conversation_id)]

    async def _show_borrowed(self, conversation_id: int, borrowed: Sequence[tuple[int | None, int]]) -> None:
        """Show another conversation's messages, each behind the one before it here, unless they are shown already."""
        context = self._tx.context
        taken_out = set(await self._tx.context_audits.list_taken_out(conversation_id)) if borrowed else set()
        for before, message_id in borrowed:
            if message_id not in taken_out and await context.find_place(conversation_id, message_id) is None:
                after = None if before is None else await context.find_nearest_place(conversation_id, before)
                await context.insert_messages_after(conversation_id, after, [message_id])

    async def _keep_own_view(self, conversation_id: int, shown: Sequence[ItemRef], base_message_id: int) -> None:
        """After the base was copied anew: up to the former base message, what was shown is shown and no more.

        What this conversation took back itself would come again, and what only its base took back would be gone.
        """
        copied = await self._shown(conversation_id)
        before, after = set(shown), set(copied)
        last_common = max((index for index, ref in enumerate(copied) if ref in before), default=0)
        ids = [ref.message_id for ref in {*copied[:last_common]} ^ before if ref.message_id is not None]
        found = {each.message_id: each for each in await self._messages([*ids, base_message_id])}
        last = found[base_message_id]
        hidden = [
            each
            for each, message in found.items()
            if ItemRef(message_id=each) not in before
            and message.conversation_id == last.conversation_id
            and message.seq <= last.seq
        ]
        await self._tx.context.exclude_messages(conversation_id, hidden, Exclusion.REWOUND)
        again = [
            (shown[index - 1].message_id if index else None, ref.message_id)
            for index, ref in enumerate(shown)
            if ref.message_id in found and ref not in after and found[ref.message_id].exclusion is Exclusion.REWOUND
        ]
        await self._show_borrowed(conversation_id, again)

    async def _messages(self, message_ids: Sequence[int]) -> list[Message]:
        return await self._tx.conversations.list_messages_by_id(list(message_ids))

    async def _goes_further(self, conversation: Conversation, anchor: StoredIdentity) -> bool:
        """Whether a base may move on: only to a later message, and never over what was compacted since."""
        if await self._tx.summaries.list_summaries(conversation.conversation_id):
            return False
        known = [] if conversation.base_message_id is None else [conversation.base_message_id]
        messages = await self._tx.conversations.list_messages_by_id([*known, anchor.message_id])
        places = [(each.conversation_id, each.seq) for each in messages]
        return len(places) < 2 or places[0][0] != places[1][0] or places[0][1] < places[1][1]

    async def _anchor_after(
        self,
        conversation_id: int,
        anchor: StoredIdentity | None,
        run: Sequence[_Entry],
        *,
        is_base_first: bool = False,
    ) -> StoredIdentity | None:
        """What the record after known ones stands behind: of all before it in the source, the furthest shown.

        An old line that a client wrote again does not move it back. With `is_base_first` the places in the base count
        first: a context that consists of its copy so far cannot tell what lies beyond.
        """
        keys = [entry.key for entry in run if entry.record.exclusion is None]
        stored = await self._tx.ingest.find_identities(keys)
        if not stored:
            return anchor
        last = next(stored[key] for key in reversed(keys) if key in stored)
        candidates = {each.message_id: each for each in [*stored.values(), *([anchor] if anchor else [])]}
        places = [conversation_id, last.conversation_id]
        for shown_in in dict.fromkeys(reversed(places) if is_base_first else places):
            furthest = await self._tx.context.find_furthest(shown_in, list(candidates))
            if furthest is not None:
                return candidates[furthest]
        return last

    # After the messages

    async def _note_rewinds(self, rewinds: Iterable[Rewind]) -> None:
        for rewind in rewinds:
            identities = [Identity(IdentityKind.UUID, (each,)) for each in rewind.native_uuids]
            keys = [ingest_key(self._writer.client, identity, 0) for identity in identities]
            stored = await self._tx.ingest.find_identities(keys)
            conversation_id = (await self._conversation(rewind.thread)).conversation_id
            # A base's messages leave this context only: there they were not taken back.
            ids = [each.message_id for each in stored.values()]
            await self._tx.context.exclude_messages(conversation_id, ids, Exclusion.REWOUND)

    async def _note_places(self, entries: Sequence[_Entry]) -> None:
        """Which known messages this source holds too."""
        source_id = self._source.source_id
        places = {
            entry.stored.message_id: entry.record.line
            for entry in entries
            if entry.stored and entry.stored.source_id not in (None, source_id)
        }
        await self._tx.ingest.record_places(source_id, sorted(places.items()))


def conversation_key(client: str, thread: Thread) -> uuid.UUID:
    """The same conversation has the same key on every machine."""
    return _key_of_session(client, session_name(thread))


def conversation_keys_of(source: Source) -> list[uuid.UUID]:
    """Keys of the conversations that a source has shown a message of, in order of first appearance."""
    return [_key_of_session(source.client, name) for name in _state_of(source.checkpoint).placed]


def _state_of(checkpoint: Checkpoint) -> SourceState:
    return SourceState.read(checkpoint.parser_state) or SourceState()


def _key_of_session(client: str, name: str) -> uuid.UUID:
    return uuid.UUID(bytes=digest("conversation", client, name)[:16], version=5)


def _new_message(entry: _Entry, source_id: int) -> NewMessage:
    return NewMessage(
        role=entry.record.role,
        content=entry.prepared.content,
        token_count=entry.prepared.token_count,
        occurred_at=entry.occurred_at,
        parts=entry.prepared.parts,
        ingest_key=entry.key,
        identity_kind=entry.identity.kind,
        identity_occurrence=entry.occurrence,
        api_message_id=entry.record.api_message_id,
        source_id=source_id,
        source_ordinal=entry.record.line,
        exclusion=entry.record.exclusion,
    )


def _borrowed(
    conversation: Conversation, before: StoredIdentity | None, run: Iterable[_Entry], *, has_own: bool
) -> list[tuple[int | None, int]]:
    """Known messages of other conversations that the base does not bring, each with the one before it in the source.

    Those that their own conversation took back; and, once there are messages of this conversation itself, those that
    came after the base: a file with copies of them was read first.
    """
    found: list[tuple[int | None, int]] = []
    base_message_id = conversation.base_message_id or 0
    for entry in run:
        stored = entry.stored
        if stored is None or entry.record.exclusion is not None:
            continue
        is_after_base = has_own and stored.message_id > base_message_id and stored.exclusion is None
        if stored.conversation_id != conversation.conversation_id and (
            is_after_base or stored.exclusion is Exclusion.REWOUND
        ):
            found.append((before.message_id if before else None, stored.message_id))
        before = stored
    return found


def _by_thread(entries: Iterable[_Entry]) -> dict[Thread, list[_Entry]]:
    """In order of first appearance, each in source order."""
    found: dict[Thread, list[_Entry]] = {}
    for entry in entries:
        found.setdefault(entry.prepared.record.thread, []).append(entry)
    return found


def _identity_in(message: Message, source_id: int) -> StoredIdentity:
    return StoredIdentity(
        ingest_key=message.ingest_key,
        message_id=message.message_id,
        conversation_id=message.conversation_id,
        content_sha256=message.content_sha256,
        source_id=source_id,
    )


def _is_before(first: NewMessage, last_at: datetime | None) -> bool:
    return last_at is not None and first.occurred_at < last_at
