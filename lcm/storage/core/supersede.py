"""Putting one summary in the place of another over the same sources: links, contexts and the sums above."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import Select, Table, insert, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.summaries import Summary
from lcm.tables.metadata import Tables


async def take_over_sources(t: Tables, connection: AsyncConnection, old: Summary, new_key: uuid.UUID) -> None:
    """Copy the links of `old` to the new node; only those are live afterwards."""
    for links, source in ((t.summary_messages, "message_id"), (t.summary_parents, "parent_summary_key")):
        await _copy_links(links, source, connection, old, new_key)


async def take_over_place(
    t: Tables, connection: AsyncConnection, project_id: uuid.UUID, old: Summary, new_key: uuid.UUID, *, at: datetime
) -> None:
    """Put the new node where the old one stood: below its upper summaries and in every context that shows it."""
    links, items, conversations = t.summary_parents, t.context_items, t.conversations
    await connection.execute(
        update(links)
        .where(links.c.project_id == project_id, links.c.parent_summary_key == old.summary_key)
        .values(parent_summary_key=new_key)
    )
    shown_in = select(items.c.conversation_id).where(
        items.c.project_id == project_id, items.c.summary_key == old.summary_key
    )
    await connection.execute(
        update(conversations)
        .where(conversations.c.project_id == project_id, conversations.c.conversation_id.in_(shown_in))
        .values(context_revision=conversations.c.context_revision + 1, updated_at=at)
    )
    await connection.execute(
        update(items)
        .where(items.c.project_id == project_id, items.c.summary_key == old.summary_key)
        .values(summary_key=new_key)
    )


async def add_to_uppers(
    t: Tables, connection: AsyncConnection, project_id: uuid.UUID, key: uuid.UUID, tokens: int
) -> None:
    """Add tokens, which may be negative, to the sums of every summary above this one."""
    s = t.summaries
    await connection.execute(
        update(s)
        .where(s.c.project_id == project_id, s.c.summary_key.in_(_uppers(t, project_id, key)))
        .values(descendant_token_count=s.c.descendant_token_count + tokens)
    )


async def mark_superseded(
    t: Tables, connection: AsyncConnection, project_id: uuid.UUID, old: Summary, new_key: uuid.UUID
) -> bool:
    """Whether it was this call that superseded it."""
    s = t.summaries
    changed = await connection.execute(
        update(s)
        .where(
            s.c.project_id == project_id,
            s.c.summary_key == old.summary_key,
            s.c.superseded_by_key.is_(None),
        )
        .values(superseded_by_key=new_key)
    )
    return changed.rowcount == 1


async def _copy_links(links: Table, source: str, connection: AsyncConnection, old: Summary, new_key: uuid.UUID) -> None:
    # Ended before the copies begin to be live: a source has one live upper summary.
    await connection.execute(update(links).where(links.c.summary_key == old.summary_key).values(is_live=False))
    names = ["project_id", "conversation_id", "summary_key", source, "ordinal", "is_live"]
    own = {"summary_key": literal(new_key, links.c.summary_key.type), "is_live": literal(True)}  # noqa: FBT003 - a value
    copies = select(*(own.get(name, links.c[name]) for name in names)).where(links.c.summary_key == old.summary_key)
    await connection.execute(insert(links).from_select(names, copies))


def _uppers(t: Tables, project_id: uuid.UUID, key: uuid.UUID) -> Select[uuid.UUID]:
    """Keys of the summaries above one; they form a tree in every conversation, so each is met by one way."""
    e = t.summary_parents.c
    first = select(e.summary_key).where(e.project_id == project_id, e.parent_summary_key == key)
    above = first.cte("above", recursive=True)
    further = select(e.summary_key).where(e.project_id == project_id, e.parent_summary_key == above.c.summary_key)
    return select(above.union(further).c.summary_key)
