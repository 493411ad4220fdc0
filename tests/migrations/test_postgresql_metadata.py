"""The metadata on a real PostgreSQL 18."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import NullPool, create_engine, inspect, text
from sqlalchemy.schema import CreateSchema

from lcm.tables.metadata import declare


class TestCreateAll:
    def test_makes_every_table_and_index(self, postgresql: str) -> None:
        """PostgreSQL accepts the DDL, and what it made is what the metadata says."""
        metadata = declare("lcm").metadata
        with create_engine(postgresql, poolclass=NullPool).connect() as connection:
            assert str(connection.scalar(text("SHOW server_version"))).startswith("18.")
            connection.execute(CreateSchema("lcm"))
            metadata.create_all(connection)
            options = {"include_schemas": True, "version_table_schema": "lcm"}
            difference = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
            names = inspect(connection).get_table_names(schema="lcm")
            connection.rollback()

        assert sorted(names) == sorted(table.name for table in metadata.sorted_tables)
        assert difference == []
