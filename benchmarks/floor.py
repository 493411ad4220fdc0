"""The floor: the bare sqlite3 module doing the least that leaves the same rows in the same tables.

One `json.loads` and one SHA-256 per line, one transaction per session with one executemany per table, the same indexes
and the same full-text index. No redaction, no checks, no identity but the line's own uuid, nothing that could go on
after a failure.

    python -m benchmarks.floor FOLDER DATABASE
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT

#: Tables that an import fills with something for each session or message: the same number of rows in both.
FILLED_TABLES = (
    "conversations",
    "sources",
    "messages",
    "message_parts",
    "message_sources",
    "context_items",
    "messages_fts_docsize",
)
_STRIDE = 1024
_PROJECT, _MACHINE, _NOW = bytes(16), bytes(range(16)), 1_771_313_820_000_000
#: As lcm sets them where they matter to the work done: the same durability and the same cache.
_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "cache_size = -16384")

_MESSAGES = """
INSERT INTO messages (message_id, project_id, conversation_id, seq, role, content, token_count, occurred_at, created_at,
    ingest_key, identity_kind, identity_occurrence, content_sha256, api_message_id, source_id, source_ordinal,
    context_exclusion)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'uuid', 0, ?, ?, ?, ?, NULL)
"""
_PARTS = """
INSERT INTO message_parts (project_id, message_id, ordinal, part_type, content_start, content_end, text, tool_call_id,
    tool_name, is_error, file_id, metadata)
VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, NULL, NULL, NULL)
"""
_ITEMS = """
INSERT INTO context_items (project_id, conversation_id, position, message_id, summary_key) VALUES (?, ?, ?, ?, NULL)
"""
_WORDS = "INSERT INTO messages_fts (rowid, words, cjk) VALUES (?, ?, '')"
_CONVERSATION = """
INSERT INTO conversations (conversation_id, project_id, conversation_key, session_id, client, title, relation,
    context_revision, created_at, updated_at)
VALUES (?, ?, ?, ?, 'claude', NULL, 'root', 0, ?, ?)
"""
_SOURCE = """
INSERT INTO sources (source_id, project_id, machine_id, client, locator, revision, byte_offset, line_count, inode,
    tail_sha256, parser_state, updated_at)
VALUES (?, ?, ?, 'claude', ?, 1, ?, ?, ?, ?, '{}', ?)
"""

Row = Sequence[Any]


def create(path: Path) -> sqlite3.Connection:
    """A new database with lcm's own schema and one project."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    for script in sorted((ROOT / "alembic" / "sql" / "sqlite").glob("*.sql")):
        connection.executescript(f"BEGIN;\n{script.read_text(encoding='utf-8')}\nCOMMIT;")
    connection.execute("INSERT INTO projects VALUES (?, 'project', ?, ?, ?)", (_PROJECT, bytes(32), _NOW, _NOW))
    connection.execute("INSERT INTO machines VALUES (?, 'machine', NULL, ?, ?)", (_MACHINE, _NOW, _NOW))
    return connection


def import_folder(folder: Path, database: Path) -> None:
    """Every transcript of a corpus, a transaction each."""
    connection = create(database)
    next_id = 1
    for number, path in enumerate(sorted(folder.glob("*.jsonl")), 1):
        next_id += _import_session(connection, path, number, next_id)
    connection.close()


def _import_session(connection: sqlite3.Connection, path: Path, number: int, first_id: int) -> int:
    """How many messages it had; the session and its source both get the number as id."""
    messages: list[Row] = []
    parts: list[Row] = []
    with path.open("rb") as file:
        for seq, line in enumerate(file):
            record = json.loads(line)
            content, own_parts = _laid_out(record["message"]["content"])
            message_id, key = first_id + seq, hashlib.sha256(line).digest()
            role = "tool" if own_parts[0][0] == "tool_result" else record["type"]
            messages.append(_message(record, role, content, key, message_id=message_id, number=number, seq=seq))
            parts += [(_PROJECT, message_id, ordinal, *part) for ordinal, part in enumerate(own_parts)]
        size = file.tell()
    connection.execute("BEGIN IMMEDIATE")
    session = (number, _PROJECT, hashlib.sha256(path.stem.encode()).digest()[:16], path.stem, _NOW, _NOW)
    connection.execute(_CONVERSATION, session)
    source = (
        number,
        _PROJECT,
        _MACHINE,
        str(path),
        size,
        len(messages),
        str(path.stat().st_ino),
        messages[-1][9],
        _NOW,
    )
    connection.execute(_SOURCE, source)
    connection.executemany(_MESSAGES, messages)
    connection.executemany(_PARTS, parts)
    connection.executemany(_ITEMS, _items(messages))
    connection.executemany(_WORDS, [(row[0], row[5]) for row in messages])
    connection.execute("COMMIT")
    return len(messages)


def _message(
    record: dict[str, Any], role: str, content: str, key: bytes, *, message_id: int, number: int, seq: int
) -> Row:
    at = datetime.fromisoformat(record["timestamp"])
    tokens, microseconds = (len(content) + 3) // 4, int(at.timestamp() * 1_000_000)
    api_id = record["message"].get("id")
    return (message_id, _PROJECT, number, seq, role, content, tokens, microseconds, _NOW, key, key, api_id, number, seq)


def _items(messages: Sequence[Row]) -> Iterator[Row]:
    return ((_PROJECT, row[2], _STRIDE * (row[3] + 1), row[0]) for row in messages)


def _laid_out(content: Any) -> tuple[str, list[Row]]:
    """The text of a message, and its parts as (type, start, end, call id, tool name)."""
    if isinstance(content, str):
        return content, [("text", 0, len(content), None, None)]
    pieces: list[str] = []
    parts: list[Row] = []
    length = 0
    for block in content:
        kind, text, head, call_id, name = _block(block)
        length += bool(pieces)
        start = length + len(head)
        length = start + len(text)
        pieces.append(head + text)
        parts.append((kind, start, length, call_id, name))
    return "\n".join(pieces), parts


def _block(block: dict[str, Any]) -> tuple[str, str, str, str | None, str | None]:
    match block["type"]:
        case "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
            return "tool_call", arguments, f"{block['name']} ", block["id"], block["name"]
        case "tool_result":
            return "tool_result", block["content"], "", block["tool_use_id"], None
        case _:
            return "text", block["text"], "", None, None


def count_rows(database: Path) -> dict[str, int]:
    """Rows of every table that an import fills, and the characters of all contents."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in FILLED_TABLES}
    counts["characters"] = connection.execute("SELECT sum(length(content)) FROM messages").fetchone()[0]
    connection.close()
    return counts


if __name__ == "__main__":
    import_folder(Path(sys.argv[1]), Path(sys.argv[2]))
