"""Rows that go to the driver as they are."""

from __future__ import annotations

import pytest
from sqlalchemy import Table

from lcm.errors import ProgrammingError
from lcm.storage.core.message_rows import MESSAGE_COLUMNS, PART_COLUMNS
from lcm.storage.sqlite.dialect import _insert_sql
from lcm.tables.metadata import declare

TABLES = declare(None)


class TestInsertRows:
    @pytest.mark.parametrize(
        ("table", "columns"), [(TABLES.messages, MESSAGE_COLUMNS), (TABLES.message_parts, PART_COLUMNS)]
    )
    def test_every_column_is_given_in_the_tables_order(self, table: Table, columns: tuple[str, ...]) -> None:
        """A tuple has one value for each column, none of which is left to a default."""
        assert columns == tuple(table.columns.keys())
        assert _insert_sql(table, columns).count("?") == len(columns)

    def test_another_order_is_refused(self) -> None:
        """Otherwise values would go into each other's columns."""
        with pytest.raises(ProgrammingError, match="order"):
            _insert_sql(TABLES.messages, tuple(reversed(MESSAGE_COLUMNS)))
