"""Whether the structure of an FTS5 index is sound, without a lock: FTS5 checks a copy of it in the temporary database.

FTS5 spells its own check as an INSERT, which on the index itself would make every writer wait and would need a file
that can be written. Its tables are copied as they are; the copy is gone when the check ends.
"""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

#: The tables of an FTS5 index without content; with content there would be one more.
_SHADOWS = ("data", "idx", "docsize", "config")
_COPY = "lcm_index_copy"


async def raise_when_damaged(connection: AsyncConnection, name: str) -> None:
    """Check one index as the connection's transaction sees it.

    Raises:
        DBAPIError: FTS5 finds the index damaged, or no copy could be made (no temporary space, no such index).
    """
    checked = await connection.begin_nested()
    try:
        await _copy(connection, name)
        await connection.execute(
            text(f"INSERT INTO temp.{_COPY} ({_COPY}, rank) VALUES ('integrity-check', 0)")  # noqa: S608 - constants
        )
    finally:
        await checked.rollback()


async def _copy(connection: AsyncConnection, name: str) -> None:
    query = text("SELECT sql FROM main.sqlite_schema WHERE name = :name")
    definition = (await connection.execute(query, {"name": name})).scalar_one()
    options = definition[definition.upper().index("USING") :]
    await connection.execute(text(f"CREATE VIRTUAL TABLE temp.{_COPY} {options}".replace(":", r"\:")))
    for shadow in _SHADOWS:
        await connection.execute(text(f"DELETE FROM temp.{_COPY}_{shadow}"))  # noqa: S608 - constants
        await connection.execute(
            text(f"INSERT INTO temp.{_COPY}_{shadow} SELECT * FROM main.{name}_{shadow}")  # noqa: S608 - constants
        )
    # Undoing makes FTS5 forget what it remembers of the empty index.
    forgotten = await connection.begin_nested()
    await forgotten.rollback()
