"""The ordered context over SQLAlchemy Core."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import and_, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from lcm.clock import Clock
from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.messages import Exclusion
from lcm.errors import ContextChanged, IdentityConflict, NotFound, UnknownSummary
from lcm.storage.core import context_statements as statements
from lcm.storage.core import rows, single_rows
from lcm.storage.core.bulk_reading import Page, has_raw_tokens, read_items
from lcm.storage.core.context_audits import taken_out
from lcm.storage.core.fork import opened_until
from lcm.storage.core.pass_storage import ITEM_COLUMNS
from lcm.storage.core.transaction import Executor

DOMAIN = "context"

#: Distance between neighbours when appended; a late record is put in the middle.
STRIDE = 1024
#: How many items behind a used-up gap are moved to make room.
_LOCAL_WINDOW = 64
#: Distance between them afterwards: with less, the next late record would use the gap up again at once.
_LEAST_STEP = 32


class CoreContextRepository:
    """See `lcm.storage.contracts.context.ContextRepository`."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self._executor = executor
        self._clock = clock
        self._tables = executor.dialect.tables
        self._project_id = executor.project_id

    # Reading

    async def list_items(
        self,
        conversation_id: int,
        *,
        newest_first: bool = False,
        before_position: int | None = None,
        limit: int | None = None,
    ) -> list[ContextItem]:
        page = Page(newest_first, before_position, limit)
        return await self._read_page(conversation_id, page)

    async def list_newest(
        self, conversation_id: int, *, before_position: int | None = None, limit: int, with_tools: bool = True
    ) -> list[ContextItem]:
        page = Page(True, before_position, limit, is_ranked=False, with_tools=with_tools)  # noqa: FBT003 - newest first
        return await self._read_page(conversation_id, page)

    async def list_depths(self, conversation_id: int, *, before_ordinal: int | None = None) -> list[int]:
        query = statements.depths(self._tables, self._project_id, conversation_id)
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            if before_ordinal is not None:
                bound = statements.position_of_ordinal(self._tables, self._project_id, conversation_id, before_ordinal)
                position = (await connection.execute(bound)).scalar()
                if position is not None:
                    query = query.where(self._tables.context_items.c.position < position)
            return [rows.safe(row.depth) for row in await connection.execute(query)]

    async def count_tokens(self, conversation_id: int) -> int:
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            query = statements.token_sum(self._tables, self._project_id, conversation_id)
            return rows.safe((await connection.execute(query)).scalar_one())

    async def has_raw_tokens(self, conversation_id: int, tokens: int, *, before_position: int) -> bool:
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            return await has_raw_tokens(
                self._executor.dialect,
                connection,
                self._project_id,
                conversation_id,
                tokens=tokens,
                before_position=before_position,
            )

    async def count_items(self, conversation_id: int) -> int:
        i = self._tables.context_items.c
        async with self._executor.operation(DOMAIN) as connection:
            await self._require_conversation(connection, conversation_id)
            # By the conversation alone, which is the project's: then the index answers without the rows.
            query = select(func.count()).where(i.conversation_id == conversation_id)
            return rows.safe((await connection.execute(query)).scalar_one())

    async def find_place(self, conversation_id: int, message_id: int) -> ItemRef | None:
        async with self._executor.operation(DOMAIN) as connection:
            chain = await self._base_chain(connection, conversation_id)
            return await self._find_place(connection, conversation_id, chain, message_id)

    async def find_nearest_place(self, conversation_id: int, message_id: int) -> ItemRef | None:
        own = ItemRef(message_id=message_id)
        async with self._executor.operation(DOMAIN) as connection:
            if await self._find_position(connection, conversation_id, own) is not None:
                return own
            chain = await self._base_chain(connection, conversation_id)
            place = await self._find_place(connection, conversation_id, chain, message_id)
            if place is not None:
                return place
            nearest = await self._last_placed(connection, conversation_id, chain, message_id)
        return nearest[0] if nearest else None

    async def find_furthest(self, conversation_id: int, message_ids: Sequence[int]) -> int | None:
        async with self._executor.operation(DOMAIN) as connection:
            chain = await self._base_chain(connection, conversation_id)
            places = await self._positions_of(connection, conversation_id, chain, message_ids)
        return max(places, key=lambda message_id: places[message_id], default=None)

    # Changing

    async def append_messages(self, conversation_id: int, message_ids: Sequence[int]) -> None:
        await self._append(conversation_id, [ItemRef(message_id=each) for each in message_ids])

    async def append_summary(self, conversation_id: int, summary_key: uuid.UUID) -> None:
        await self._append(conversation_id, [ItemRef(summary_key=summary_key)])

    async def insert_messages_after(
        self, conversation_id: int, after: ItemRef | None, message_ids: Sequence[int]
    ) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._touch(connection, conversation_id)
            await self._put_behind(connection, conversation_id, after, message_ids)

    async def replace_range(
        self,
        conversation_id: int,
        expected: Sequence[ItemRef],
        summary_key: uuid.UUID,
        *,
        fence: int | None = None,  # noqa: ARG002 - checked by backends with distributed coordination
    ) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._executor.dialect.lock_key(connection, f"context:{conversation_id}")
            await self._touch(connection, conversation_id)
            first, last = await self._require_range(connection, conversation_id, expected)
            await self._require_sources(connection, conversation_id, summary_key, expected)
            items = self._tables.context_items
            await connection.execute(
                delete(items).where(
                    items.c.project_id == self._project_id,
                    items.c.conversation_id == conversation_id,
                    items.c.position.between(first, last),
                )
            )
            await self._insert(connection, conversation_id, [(first, ItemRef(summary_key=summary_key))])

    async def exclude_messages(self, conversation_id: int, message_ids: Sequence[int], reason: Exclusion) -> int:
        items = self._tables.context_items
        among = self._executor.dialect.among
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._require_conversation(connection, conversation_id)
            if reason is not Exclusion.AUDITED:
                await self._mark(connection, conversation_id, message_ids, reason.value, before=Exclusion.AUDITED.value)
            raw = select(items.c.message_id).where(
                items.c.project_id == self._project_id,
                items.c.conversation_id == conversation_id,
                among(items.c.message_id, list(message_ids)),
            )
            ids = [row.message_id for row in await connection.execute(raw)]
            if not ids:
                return 0
            await self._touch(connection, conversation_id)
            await connection.execute(
                delete(items).where(
                    items.c.project_id == self._project_id,
                    items.c.conversation_id == conversation_id,
                    among(items.c.message_id, ids),
                )
            )
            await self._mark(connection, conversation_id, ids, reason.value, before=None)
        return len(ids)

    async def restore_messages(self, conversation_id: int, after: ItemRef | None, message_ids: Sequence[int]) -> None:
        m = self._tables.messages.c
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._touch(connection, conversation_id)
            await self._mark(connection, conversation_id, message_ids, None, before=Exclusion.AUDITED.value)
            marked = select(m.message_id).where(
                m.project_id == self._project_id,
                m.conversation_id == conversation_id,
                self._executor.dialect.among(m.message_id, list(message_ids)),
                m.context_exclusion.is_not(None),
            )
            if (await connection.execute(marked)).first() is not None:
                raise IdentityConflict("The message was not taken out of the context by hand; nothing was written.")
            await self._put_behind(connection, conversation_id, after, message_ids)

    async def copy_base(self, conversation_id: int, base_conversation_id: int, base_message_id: int) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._touch(connection, conversation_id)
            items = self._tables.context_items
            await connection.execute(
                delete(items).where(items.c.project_id == self._project_id, items.c.conversation_id == conversation_id)
            )
            chain = await self._base_chain(connection, base_conversation_id)
            until = await self._last_placed(connection, base_conversation_id, chain, base_message_id)
            if until is None:
                return
            place, message_id = until
            refs = await self._refs_before(connection, base_conversation_id, place)
            refs += await opened_until(self._sources_of, connection, place, message_id)
            gone = taken_out(self._tables, self._project_id, conversation_id)
            left_out = {ItemRef(message_id=row.message_id) for row in await connection.execute(gone)}
            await self._append_refs(connection, conversation_id, [ref for ref in refs if ref not in left_out])

    async def _read_page(self, conversation_id: int, page: Page) -> list[ContextItem]:
        async with self._executor.operation(DOMAIN) as connection:
            found = await read_items(self._executor.dialect, connection, self._project_id, conversation_id, page)
            if not found:
                await self._require_conversation(connection, conversation_id)
            return found

    # Steps inside an operation

    async def _append(self, conversation_id: int, refs: Sequence[ItemRef]) -> None:
        async with self._executor.operation(DOMAIN, writes=True) as connection:
            await self._executor.dialect.lock_key(connection, f"context:{conversation_id}")
            await self._touch(connection, conversation_id)
            await self._append_refs(connection, conversation_id, refs)

    async def _mark(
        self,
        connection: AsyncConnection,
        conversation_id: int,
        message_ids: Sequence[int],
        exclusion: str | None,
        *,
        before: str | None,
    ) -> None:
        """Change the mark of those own messages that have the mark `before`."""
        m = self._tables.messages.c
        await connection.execute(
            update(self._tables.messages)
            .where(
                m.project_id == self._project_id,
                m.conversation_id == conversation_id,
                self._executor.dialect.among(m.message_id, list(message_ids)),
                m.context_exclusion.is_(None) if before is None else m.context_exclusion == before,
            )
            .values(context_exclusion=exclusion)
        )

    async def _append_refs(self, connection: AsyncConnection, conversation_id: int, refs: Sequence[ItemRef]) -> None:
        query = statements.last_position(self._tables, self._project_id, conversation_id)
        last = (await connection.execute(query)).scalar_one() or 0
        placed = [(last + STRIDE * n, ref) for n, ref in enumerate(refs, start=1)]
        await self._insert(connection, conversation_id, placed)

    async def _insert(
        self, connection: AsyncConnection, conversation_id: int, placed: Sequence[tuple[int, ItemRef]]
    ) -> None:
        dialect = self._executor.dialect
        owner = dialect.key_value(self._project_id)
        values = [
            (
                owner,
                conversation_id,
                position,
                ref.message_id,
                None if ref.summary_key is None else dialect.key_value(ref.summary_key),
            )
            for position, ref in placed
        ]
        await dialect.insert_rows(connection, self._tables.context_items, ITEM_COLUMNS, values)

    async def _touch(self, connection: AsyncConnection, conversation_id: int) -> None:
        dialect = self._executor.dialect
        await single_rows.touch_conversation(dialect, connection, self._project_id, conversation_id, at=self._clock())

    async def _require_conversation(self, connection: AsyncConnection, conversation_id: int) -> None:
        await single_rows.require_conversation(self._executor.dialect, connection, self._project_id, conversation_id)

    async def _position_of(self, connection: AsyncConnection, conversation_id: int, ref: ItemRef) -> int:
        position = await self._find_position(connection, conversation_id, ref)
        if position is None:
            raise NotFound("The item to insert behind is not in this context.")
        return position

    async def _find_position(self, connection: AsyncConnection, conversation_id: int, ref: ItemRef) -> int | None:
        dialect = self._executor.dialect
        return await single_rows.find_position(dialect, connection, self._project_id, conversation_id, ref)

    async def _put_behind(
        self, connection: AsyncConnection, conversation_id: int, after: ItemRef | None, message_ids: Sequence[int]
    ) -> None:
        position, following = await self._gap_behind(connection, conversation_id, after)
        count = len(message_ids)
        if following is not None and following - position <= count:
            await self._make_room(connection, conversation_id, position, count)
            following = await self._next(connection, conversation_id, position)
        step = STRIDE if following is None else (following - position) // (count + 1)
        places = [(position + step * n, ItemRef(message_id=each)) for n, each in enumerate(message_ids, start=1)]
        await self._insert(connection, conversation_id, places)

    async def _gap_behind(
        self, connection: AsyncConnection, conversation_id: int, after: ItemRef | None
    ) -> tuple[int, int | None]:
        """The position of an item (None: before all) and the next one that is taken."""
        if after is None:
            return 0, await self._next(connection, conversation_id, 0)
        dialect = self._executor.dialect
        found = await single_rows.find_gap_behind(dialect, connection, self._project_id, conversation_id, after)
        if found is None:
            raise NotFound("The item to insert behind is not in this context.")
        return found

    async def _next(self, connection: AsyncConnection, conversation_id: int, after: int) -> int | None:
        return await single_rows.find_next_position(self._executor.dialect, connection, conversation_id, after)

    async def _make_room(self, connection: AsyncConnection, conversation_id: int, after: int, count: int) -> None:
        """Spread the next items further right; the window grows until the right neighbour leaves enough room."""
        i = self._tables.context_items.c
        window = _LOCAL_WINDOW
        while True:
            query = (
                select(i.position)
                .where(i.project_id == self._project_id, i.conversation_id == conversation_id, i.position > after)
                .order_by(i.position)
                .limit(window + 1)
            )
            places = [row.position for row in await connection.execute(query)]
            is_whole_rest = len(places) <= window
            moved = places if is_whole_rest else places[:-1]
            room = STRIDE * (len(moved) + count + 1) if is_whole_rest else places[-1] - after
            if is_whole_rest or room >= _LEAST_STEP * (len(moved) + count + 1):
                break
            window *= 2
        step = room // (len(moved) + count + 1)
        await self._move(
            connection, conversation_id, moved, [after + step * (count + n) for n in range(1, len(moved) + 1)]
        )

    async def _move(
        self, connection: AsyncConnection, conversation_id: int, olds: Sequence[int], news: Sequence[int]
    ) -> None:
        """Largest first when moving right and smallest first when moving left, so that no place is taken twice."""
        moves = [(old, new) for old, new in zip(olds, news, strict=True) if old != new]
        right = sorted((move for move in moves if move[1] > move[0]), reverse=True)
        left = sorted(move for move in moves if move[1] < move[0])
        moved = [{"old": old, "new": new} for old, new in [*right, *left]]
        if moved:
            statement = statements.move_items(self._tables, self._project_id, conversation_id)
            await connection.execute(statement, moved)

    async def _require_range(
        self, connection: AsyncConnection, conversation_id: int, expected: Sequence[ItemRef]
    ) -> tuple[int, int]:
        query = statements.references(self._executor.dialect, self._project_id, conversation_id, expected)
        found = (await connection.execute(query)).all()
        if not expected or [ItemRef(row.message_id, row.summary_key) for row in found] != list(expected):
            raise ContextChanged
        first, last = found[0].position, found[-1].position
        between = statements.count_between(self._tables, self._project_id, conversation_id, first, last)
        if (await connection.execute(between)).scalar_one() != len(expected):
            raise ContextChanged
        return first, last

    async def _require_sources(
        self,
        connection: AsyncConnection,
        conversation_id: int,
        summary_key: uuid.UUID,
        expected: Sequence[ItemRef],
    ) -> None:
        s = self._tables.summaries.c
        owner = select(s.conversation_id).where(s.project_id == self._project_id, s.summary_key == summary_key)
        owned_by = (await connection.execute(owner)).scalar()
        if owned_by is None:
            raise UnknownSummary
        if owned_by != conversation_id:
            raise IdentityConflict("The summary belongs to another conversation; nothing was written.")
        if await self._sources_of(connection, summary_key) != list(expected):
            raise IdentityConflict("The summary is not linked to exactly the items it replaces; nothing was written.")

    async def _sources_of(self, connection: AsyncConnection, summary_key: uuid.UUID) -> list[ItemRef]:
        messages, summaries = statements.sources_of_summary(self._tables, self._project_id, summary_key)
        refs = [ItemRef(message_id=row.message_id) for row in await connection.execute(messages)]
        refs += [ItemRef(summary_key=row.parent_summary_key) for row in await connection.execute(summaries)]
        return refs

    async def _base_chain(self, connection: AsyncConnection, conversation_id: int) -> list[int]:
        """The conversation and those it is based on, nearest first."""
        await self._require_conversation(connection, conversation_id)
        c = self._tables.conversations.c
        chain = [conversation_id]
        while True:
            query = select(c.base_conversation_id).where(
                c.conversation_id == chain[-1], c.project_id == self._project_id
            )
            base = (await connection.execute(query)).scalar()
            if base is None or base in chain:
                return chain
            chain.append(base)

    async def _positions_of(
        self, connection: AsyncConnection, conversation_id: int, chain: Sequence[int], message_ids: Sequence[int]
    ) -> dict[int, int]:
        """Where messages are shown, those that are; climbs the DAG level by level for all of them at once."""
        places: dict[int, int] = {}
        waiting = {message_id: ItemRef(message_id=message_id) for message_id in message_ids}
        while waiting:
            refs = list(dict.fromkeys(waiting.values()))
            query = statements.references(self._executor.dialect, self._project_id, conversation_id, refs)
            shown = {
                ItemRef(row.message_id, row.summary_key): rows.safe(row.position)
                for row in await connection.execute(query)
            }
            places.update({each: shown[ref] for each, ref in waiting.items() if ref in shown})
            hidden = {each: ref for each, ref in waiting.items() if ref not in shown}
            uppers = await self._live_uppers(connection, chain, list(dict.fromkeys(hidden.values())))
            waiting = {each: uppers[ref] for each, ref in hidden.items() if ref in uppers}
        return places

    async def _live_uppers(
        self, connection: AsyncConnection, chain: Sequence[int], refs: Sequence[ItemRef]
    ) -> dict[ItemRef, ItemRef]:
        """The live summary right above each, the one of the nearest conversation of the chain."""
        found: dict[ItemRef, dict[int, ItemRef]] = {}
        for query in statements.live_uppers(self._executor.dialect, self._project_id, refs):
            for row in await connection.execute(query):
                lower = ItemRef(row.message_id, row.lower_key)
                found.setdefault(lower, {})[row.conversation_id] = ItemRef(summary_key=row.summary_key)
        return {
            lower: next(uppers[each] for each in chain if each in uppers)
            for lower, uppers in found.items()
            if any(each in uppers for each in chain)
        }

    async def _find_place(
        self, connection: AsyncConnection, conversation_id: int, chain: Sequence[int], message_id: int
    ) -> ItemRef | None:
        ref = ItemRef(message_id=message_id)
        upper = statements.live_upper_of_message(self._tables, self._project_id, message_id)
        while True:
            query = statements.references(self._executor.dialect, self._project_id, conversation_id, [ref])
            if (await connection.execute(query)).first() is not None:
                return ref
            found = {row.conversation_id: row.summary_key for row in await connection.execute(upper)}
            key = next((found[each] for each in chain if each in found), None)
            if key is None:
                return None
            ref = ItemRef(summary_key=key)
            upper = statements.live_upper_of_summary(self._tables, self._project_id, key)

    async def _last_placed(
        self, connection: AsyncConnection, conversation_id: int, chain: Sequence[int], message_id: int
    ) -> tuple[ItemRef, int] | None:
        """The nearest message at or before this one that is shown in the context, with its item."""
        m = self._tables.messages.c
        here = select(m.seq, m.conversation_id).where(m.message_id == message_id, m.project_id == self._project_id)
        found = (await connection.execute(here)).first()
        if found is None or found.conversation_id not in chain:
            return None
        seq = found.seq
        while seq >= 0:
            query = (
                select(m.message_id, m.seq)
                .where(m.project_id == self._project_id, m.conversation_id == found.conversation_id, m.seq <= seq)
                .where(m.context_exclusion.is_(None))
                .order_by(m.seq.desc())
                .limit(1)
            )
            row = (await connection.execute(query)).first()
            if row is None:
                return None
            place = await self._find_place(connection, conversation_id, chain, row.message_id)
            if place is not None:
                return place, row.message_id
            seq = row.seq - 1
        return None

    async def _refs_before(self, connection: AsyncConnection, conversation_id: int, ref: ItemRef) -> list[ItemRef]:
        position = await self._position_of(connection, conversation_id, ref)
        i = self._tables.context_items.c
        query = (
            select(i.message_id, i.summary_key)
            .where(and_(i.project_id == self._project_id, i.conversation_id == conversation_id, i.position < position))
            .order_by(i.position)
        )
        return [ItemRef(row.message_id, row.summary_key) for row in await connection.execute(query)]
