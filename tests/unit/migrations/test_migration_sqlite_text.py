"""Normalising SQLite's own SQL text and taking CREATE TABLE apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.migrations.fingerprints.sqlite_text import Constraint, normalise_sql, parse_table

_PIECES = ["Word", "1.5", "'It''s; A'", "X'0f'", '"two words"', '"a""b"', "[x]", "`y`", "(", ")", ",", ".", ";", "<="]
_PIECES += ["->>", "-", "/* c */", "-- c\n", "\n"]
_TABLE = """
CREATE TABLE "Notes" (
    id INTEGER PRIMARY KEY, -- the row
    body TEXT DEFAULT 'a, (b' CHECK (length(body) < 9),
    CONSTRAINT fk_owner FOREIGN KEY(owner, id) REFERENCES people (a, b) ON DELETE CASCADE,
    UNIQUE (body, id),
    CONSTRAINT ck_body CHECK (body IN ('X', 'y')),
    late TEXT
) WITHOUT ROWID
"""


class TestNormaliseSql:
    @pytest.mark.parametrize(
        ("sql", "expected"),
        [
            ("CREATE  INDEX\n i ON t(a ,b)", "create index i on t (a, b)"),
            ('create index "i" on [t](`a`, b)', "create index i on t (a, b)"),
            ("SELECT 'It''s  A' /* x */ -- y\n", "select 'It''s  A'"),
            ('SELECT "two words", "a""b", s.x', 'select "two words", "a""b", s.x'),
            ("a>=b||c->>'$.d'", "a >= b || c ->> '$.d'"),
        ],
    )
    def test_has_one_form_for_one_meaning(self, sql: str, expected: str) -> None:
        """Spaces, comments, case and needless quotes go; strings and odd names stay."""
        assert normalise_sql(sql) == expected

    @given(st.lists(st.sampled_from(_PIECES)))
    def test_is_idempotent(self, pieces: list[str]) -> None:
        """Normalising twice equals once."""
        once = normalise_sql(" ".join(pieces))

        assert normalise_sql(once) == once


class TestParseTable:
    def test_takes_columns_constraints_and_options_apart(self) -> None:
        """A column that was added after the constraints is still a column."""
        text = parse_table(_TABLE)

        assert text.columns == {
            "id": "integer primary key",
            "body": "text default 'a, (b' check (length (body) < 9)",
            "late": "text",
        }
        assert text.constraints == (
            Constraint(
                "foreign_key",
                "fk_owner",
                ("owner", "id"),
                "foreign key (owner, id) references people (a, b) on delete cascade",
            ),
            Constraint("unique", None, ("body", "id"), "unique (body, id)"),
            Constraint("check", "ck_body", (), "check (body in ('X', 'y'))"),
        )
        assert text.options == "without rowid"
