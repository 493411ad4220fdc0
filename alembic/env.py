"""Alembic's environment: `upgrade head` calls lcm's runner, reading commands are Alembic's own, the rest is refused."""

from __future__ import annotations

import sqlite3

from alembic import context, util
from sqlalchemy import URL, Connection, NullPool, create_engine, make_url
from sqlalchemy.sql.schema import SchemaItem

from lcm.errors import LcmError
from lcm.migrations.runner import migrate_sqlite
from lcm.tables.metadata import declare

#: Alembic tells its environment the command only by the function it wants run; what is not listed is refused.
READING = ("display_version", "retrieve_migrations", "show_current", "edit_current", "_display_current_history")


def database_url() -> URL:
    path = context.get_x_argument(as_dictionary=True).get("db")
    if isinstance(path, str):
        return URL.create("sqlite", database=path)
    configured = context.config.get_main_option("sqlalchemy.url")
    if not configured:
        raise util.CommandError("No database given: use `alembic -x db=PATH` with the path of a SQLite file.")
    return make_url(configured)


def is_managed(
    _item: SchemaItem,
    _name: str | None,
    kind: str,
    reflected: bool,  # noqa: FBT001 - Alembic's signature
    compare_to: SchemaItem | None,
) -> bool:
    """Tables the metadata does not know are full-text indexes, fingerprinted by lcm, or somebody else's."""
    return not (kind == "table" and reflected and compare_to is None)


def upgrade(connection: Connection) -> None:
    head = context.get_head_revision()
    if context.get_revision_argument() not in (head, (head,)):
        raise util.CommandError("lcm migrates to the newest schema only; use `alembic upgrade head`.")
    driver_connection = connection.connection.driver_connection
    if not isinstance(driver_connection, sqlite3.Connection):
        raise util.CommandError("Only SQLite databases are migrated through Alembic.")
    try:
        migrate_sqlite(driver_connection)
    except LcmError as error:
        raise util.CommandError(str(error)) from None


def run(connection: Connection) -> None:
    # dont_mutate: the runner owns the version table, so Alembic must not create it.
    context.configure(
        connection=connection,
        target_metadata=declare(None).metadata,
        include_object=is_managed,
        dont_mutate=True,
    )
    command = context.get_context().opts["fn"].__name__
    if command == "upgrade":
        upgrade(connection)
    elif command in READING:
        context.run_migrations()
    else:
        raise util.CommandError("lcm does not downgrade or stamp a schema; restore a backup made before the migration.")


if context.is_offline_mode():
    raise util.CommandError("Alembic's --sql mode cannot see what is applied; use `lcm migrate --sql`.")
with create_engine(database_url(), poolclass=NullPool, hide_parameters=True).connect() as database:
    run(database)
