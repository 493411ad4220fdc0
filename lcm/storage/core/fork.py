"""Opening a summary that reaches past a fork point until every item lies before it."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.domain.context import ItemRef

SourcesOf = Callable[[AsyncConnection, uuid.UUID], Awaitable[list[ItemRef]]]


async def opened_until(
    sources_of: SourcesOf, connection: AsyncConnection, item: ItemRef, message_id: int
) -> list[ItemRef]:
    """The items that stand for everything in `item` up to and including the message, in order."""
    if item.summary_key is None:
        return [item]
    sources = await sources_of(connection, item.summary_key)
    kept: list[ItemRef] = []
    for source in sources:
        if await _holds(sources_of, connection, source, message_id):
            kept += await opened_until(sources_of, connection, source, message_id)
            is_last = source == sources[-1]
            return [item] if is_last and kept == sources else kept
        kept.append(source)
    return kept


async def _holds(sources_of: SourcesOf, connection: AsyncConnection, item: ItemRef, message_id: int) -> bool:
    if item.summary_key is None:
        return item.message_id == message_id
    for source in await sources_of(connection, item.summary_key):
        if await _holds(sources_of, connection, source, message_id):
            return True
    return False
