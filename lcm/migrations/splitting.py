"""Splits the text of a migration into single SQLite statements; `executescript` would commit the open transaction."""

from __future__ import annotations

import sqlite3


def split_statements(text: str) -> tuple[str, ...]:
    """Statements in order, each with the comments and blank lines before it; joined they are `text` again.

    Semicolons in strings, comments and trigger bodies do not split. An unfinished last statement is returned as it
    stands, so that the database refuses it.
    """
    statements: list[str] = []
    buffer = ""
    *closed, rest = text.split(";")
    for piece in closed:
        buffer += piece + ";"
        if sqlite3.complete_statement(buffer):
            statements.append(buffer)
            buffer = ""
    buffer += rest
    return (*statements, buffer) if buffer else tuple(statements)
