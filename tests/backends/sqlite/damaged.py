"""A project with everything the proof looks at, and a way to damage its file behind lcm's back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.domain.context import AuditAction, ItemRef
from lcm.domain.conversations import Relation
from lcm.domain.messages import Exclusion, Message, MessagePart, NewMessage, PartType
from lcm.domain.summaries import NewSummary, Summary, SummaryKind
from lcm.large_files.store import file_bytes, store_bytes
from lcm.storage.contracts.project import ProjectStorage, Repositories
from lcm.tokens import estimate_tokens
from tests.factories import START, make_conversation, make_message

FILE = file_bytes(b"the bytes of a picture", name="shot.png", mime_type="image/png")


@dataclass(frozen=True, slots=True)
class Seed:
    """A project filled by `seed`; `names` gives the ids of its summaries by their texts."""

    project: ProjectStorage
    names: dict[str, str]

    def named(self, about: str) -> str:
        """`summary L1` as the proof names it."""
        kind, _, text = about.partition(" ")
        return f"summary {self.names[text]}" if kind == "summary" and text in self.names else about

    def plant(self, *statements: str) -> None:
        """Run statements as somebody would who has switched every guard off."""
        path = self.project.files_folder.parent / "db.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                changed = connection.execute(statement)
                assert changed.rowcount != 0, f"changes nothing: {statement}"

    @property
    def file(self) -> Path:
        return self.project.files_folder / f"{FILE.file_id}.png"


async def seed(project: ProjectStorage) -> None:
    """Fill a project: conversation 1, and conversation 2 forked from its message 10.

    Context 1: D2, L5, messages 10 and 11; message 12 is excluded, 13 by hand. Context 2: D2, L5, LF, message 2:1.
    D2 merges D1 (L1, L2) and E1 (L3, L4); L1 to L5 cover two messages each; LF covers messages 1:10 and 2:0.
    L5 superseded O5. Messages 0 to 11 were stored by one append from source 1.
    """
    async with project.transaction() as tx:
        base = await tx.conversations.create_conversation(make_conversation())
        source = await tx.ingest.get_or_create_source("claude", "/transcripts/session-1.jsonl")
        new = [replace(_message(number), source_id=source.source_id, source_ordinal=number) for number in range(12)]
        messages = await _append(tx, base.conversation_id, new)
        new_file = store_bytes(project.files_folder, FILE, base.conversation_id)
        await tx.large_files.insert_file(new_file)
        await tx.conversations.append_messages(base.conversation_id, [make_message("echo", exclusion=Exclusion.META)])
        await _exclude_by_hand(tx, base.conversation_id)
        await _summarize_base(tx, base.conversation_id, messages)
        state = CompactionState(base.conversation_id, CompactionMode.SWEEP, 1, b"p" * 32, "done", None, START)
        await tx.compaction_states.note(state)
        await _fork(tx, base.conversation_id, messages[10])


async def _exclude_by_hand(tx: Repositories, conversation_id: int) -> None:
    (aside,) = await _append(tx, conversation_id, [make_message("aside", minutes=12)])
    await tx.context_audits.note(conversation_id, [aside.message_id], AuditAction.EXCLUDE, "off the point")
    await tx.context.exclude_messages(conversation_id, [aside.message_id], Exclusion.AUDITED)


async def _append(tx: Repositories, conversation_id: int, new: Sequence[NewMessage]) -> list[Message]:
    messages = await tx.conversations.append_messages(conversation_id, new)
    await tx.context.append_messages(conversation_id, [message.message_id for message in messages])
    return messages


def _message(number: int) -> NewMessage:
    content = f"message {number} {FILE.file_id}" if number in (9, 10) else f"message {number}"
    parts = [MessagePart(0, PartType.TEXT, 0, len(content)), MessagePart(1, PartType.REASONING, text="because")]
    if number == 2:
        parts[0] = MessagePart(0, PartType.TOOL_CALL, 0, len(content), tool_call_id="call-1", tool_name="read")
    if number == 3:
        parts[0] = MessagePart(0, PartType.TOOL_RESULT, 0, len(content), tool_call_id="call-1")
    if number == 4:
        parts[0] = MessagePart(0, PartType.TOOL_CALL, 0, len(content), tool_call_id="call-2", tool_name="read")
    if number == 10:
        parts[1] = MessagePart(1, PartType.FILE, 11, len(content), file_id=FILE.file_id)
    tokens = estimate_tokens(content) + sum(estimate_tokens(part.text) for part in parts if part.text)
    return make_message(content, minutes=number, token_count=tokens, parts=tuple(parts))


async def _summarize_base(tx: Repositories, conversation_id: int, messages: Sequence[Message]) -> None:
    made = {
        f"L{number + 1}": await _leaf(tx, conversation_id, f"L{number + 1}", messages[2 * number : 2 * number + 2])
        for number in range(4)
    }
    old = await _leaf(tx, conversation_id, "O5", messages[8:10])
    await tx.summaries.supersede(old.summary_key, _new_leaf(conversation_id, "L5", messages[8:10]))
    made["D1"] = await _merge(tx, conversation_id, "D1", [made["L1"], made["L2"]])
    made["E1"] = await _merge(tx, conversation_id, "E1", [made["L3"], made["L4"]])
    await _merge(tx, conversation_id, "D2", [made["D1"], made["E1"]])


async def _leaf(tx: Repositories, conversation_id: int, text: str, messages: Sequence[Message]) -> Summary:
    leaf = await tx.summaries.insert_summary(_new_leaf(conversation_id, text, messages))
    ids = [message.message_id for message in messages]
    await tx.summaries.link_messages(leaf.summary_key, ids)
    await tx.context.replace_range(conversation_id, [ItemRef(message_id=each) for each in ids], leaf.summary_key)
    return leaf


def _new_leaf(conversation_id: int, text: str, messages: Sequence[Message]) -> NewSummary:
    return NewSummary(
        conversation_id=conversation_id,
        kind=SummaryKind.LEAF,
        depth=0,
        content=text,
        token_count=2,
        earliest_at=min(message.occurred_at for message in messages),
        latest_at=max(message.occurred_at for message in messages),
        source_message_token_count=sum(message.token_count for message in messages),
        file_ids=(FILE.file_id,) if any(FILE.file_id in message.content for message in messages) else (),
    )


async def _merge(tx: Repositories, conversation_id: int, text: str, children: Sequence[Summary]) -> Summary:
    new = NewSummary(
        conversation_id=conversation_id,
        kind=SummaryKind.CONDENSED,
        depth=children[0].depth + 1,
        content=text,
        token_count=2,
        earliest_at=children[0].earliest_at,
        latest_at=children[-1].latest_at,
        descendant_count=sum(1 + child.descendant_count for child in children),
        descendant_token_count=sum(child.token_count + child.descendant_token_count for child in children),
        source_message_token_count=sum(child.source_message_token_count for child in children),
    )
    merged = await tx.summaries.insert_summary(new)
    keys = [child.summary_key for child in children]
    await tx.summaries.link_children(merged.summary_key, keys)
    await tx.context.replace_range(conversation_id, [ItemRef(summary_key=each) for each in keys], merged.summary_key)
    return merged


async def _fork(tx: Repositories, base_id: int, at: Message) -> None:
    new = make_conversation(
        "session-2", relation=Relation.FORK, base_conversation_id=base_id, base_message_id=at.message_id
    )
    fork = await tx.conversations.create_conversation(new)
    await tx.context.copy_base(fork.conversation_id, base_id, at.message_id)
    own = [make_message(f"fork {number}", minutes=20 + number, token_count=10) for number in range(2)]
    messages = await _append(tx, fork.conversation_id, own)
    await _leaf(tx, fork.conversation_id, "LF", [at, messages[0]])
