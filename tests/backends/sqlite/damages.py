"""Kinds of damage to the project of `damaged.seed`, as statements on its SQLite file."""

from __future__ import annotations

from dataclasses import dataclass

from tests.backends.sqlite.damaged import FILE


@dataclass(frozen=True, slots=True)
class Damage:
    """What is done, and the kind and object of the fault that the proof must find."""

    name: str
    kind: str
    about: str
    statements: tuple[str, ...]

    @classmethod
    def of(cls, name: str, kind: str, about: str, *statements: str) -> Damage:
        return cls(name, kind, about, statements)


#: The key of no summary.
NO_KEY = "x'00112233445566778899aabbccddeeff'"


def key(text: str) -> str:
    return f"(SELECT summary_key FROM summaries WHERE content = '{text}')"


def message(seq: int, conversation_id: int = 1) -> str:
    return f"(SELECT message_id FROM messages WHERE conversation_id = {conversation_id} AND seq = {seq})"


def change(text: str, values: str) -> str:
    return f"UPDATE summaries SET {values} WHERE content = '{text}'"


def link(summary: str, source: str, ordinal: int, conversation_id: int = 1) -> str:
    table = "summary_messages" if source.startswith("(SELECT message_id") else "summary_parents"
    column = "message_id" if table == "summary_messages" else "parent_summary_key"
    return (
        f"INSERT INTO {table} (project_id, conversation_id, summary_key, {column}, ordinal, is_live)"
        f" SELECT project_id, {conversation_id}, {key(summary)}, {source}, {ordinal}, 1 FROM projects"
    )


def item(values: str, conversation_id: int = 1) -> str:
    """A context item of a position and a reference, `position, message_id, summary_key`."""
    return (
        "INSERT INTO context_items (project_id, conversation_id, position, message_id, summary_key)"
        f" SELECT project_id, {conversation_id}, {values} FROM projects"
    )


def set_part(seq: int, ordinal: int, values: str) -> str:
    return f"UPDATE message_parts SET {values} WHERE message_id = {message(seq)} AND ordinal = {ordinal}"


def swap_items(one: str, other: str, conversation_id: int = 1) -> tuple[str, ...]:
    """The places of two items of a context, each given by what it shows."""
    items = f"context_items WHERE conversation_id = {conversation_id} AND coalesce(message_id, summary_key) ="
    place, other_place = f"(SELECT position FROM {items} {one})", f"(SELECT position FROM {items} {other})"
    update = f"UPDATE context_items SET position = {{}} WHERE conversation_id = {conversation_id} AND position ="
    return (
        f"CREATE TABLE places AS SELECT {place} AS one, {other_place} AS other",
        f"{update.format(-1)} (SELECT one FROM places)",
        f"{update.format('(SELECT one FROM places)')} (SELECT other FROM places)",
        f"{update.format('(SELECT other FROM places)')} -1",
    )


def swap_links(summary: str) -> tuple[str, ...]:
    """The ordinals of the two links of a summary."""
    table = "summary_messages" if summary[0] in "LO" else "summary_parents"
    return tuple(
        f"UPDATE {table} SET ordinal = {change} WHERE summary_key = {key(summary)}"
        for change in ("ordinal + 10", "11 - ordinal")
    )


MESSAGE_DAMAGE = (
    Damage.of(
        "tokens_changed", "wrong_token_count", "message 1:11", "UPDATE messages SET token_count = 7 WHERE seq = 11"
    ),
    Damage.of(
        "time_changed",
        "wrong_time_range",
        "summary L1",
        "UPDATE messages SET occurred_at = occurred_at - 1 WHERE seq = 0",
    ),
    Damage.of(
        "newest_removed",
        "missing_message",
        "messages",
        f"INSERT INTO messages_fts (messages_fts, rowid, words, cjk) VALUES ('delete', {message(1, 2)}, 'fork 1', '')",
        f"DELETE FROM context_items WHERE message_id = {message(1, 2)}",
        f"DELETE FROM message_parts WHERE message_id = {message(1, 2)}",
        "DELETE FROM messages WHERE conversation_id = 2 AND seq = 1",
    ),
    Damage.of(
        "content_changed", "changed_message", "message 1:5", "UPDATE messages SET content = 'else' WHERE seq = 5"
    ),
    Damage.of("role_changed", "changed_message", "message 1:5", "UPDATE messages SET role = 'assistant' WHERE seq = 5"),
    Damage.of("role_unknown", "invalid_value", "message 1:5", "UPDATE messages SET role = 'boss' WHERE seq = 5"),
    Damage.of("tokens_negative", "invalid_value", "message 1:5", "UPDATE messages SET token_count = -1 WHERE seq = 5"),
    Damage.of(
        "exclusion_unknown",
        "invalid_value",
        "message 1:12",
        "UPDATE messages SET context_exclusion = 'x' WHERE seq = 12",
    ),
    Damage.of(
        "text_is_no_utf8",
        "unreadable_message",
        "message 1:5",
        "UPDATE messages SET content = CAST(x'6d65ff73' AS TEXT) WHERE seq = 5",
    ),
    Damage.of("part_is_no_utf8", "unreadable_message", "message 1:5", set_part(5, 1, "text = CAST(x'ff' AS TEXT)")),
    Damage.of("message_removed", "missing_message", "message 1:5", "DELETE FROM messages WHERE seq = 5"),
    Damage.of(
        "message_removed_from_context", "dangling_context_item", "context 1", "DELETE FROM messages WHERE seq = 11"
    ),
    Damage.of("message_removed_below_leaf", "dangling_link", "summary L3", "DELETE FROM messages WHERE seq = 5"),
    Damage.of(
        "seq_repeated",
        "repeated_seq",
        "message 2:-1",
        "CREATE TABLE copy AS SELECT * FROM messages WHERE conversation_id = 2",
        "DELETE FROM messages WHERE conversation_id = 2",
        "UPDATE copy SET seq = -1 WHERE seq = 0",
        "INSERT INTO messages SELECT * FROM copy",
    ),
    Damage.of("part_changed", "changed_message", "message 1:5", set_part(5, 1, "text = 'why'")),
    Damage.of("part_type_unknown", "invalid_value", "message 1:5", set_part(5, 1, "part_type = 'smell'")),
    Damage.of(
        "part_removed", "changed_message", "message 1:5", f"DELETE FROM message_parts WHERE message_id = {message(5)}"
    ),
    Damage.of(
        "first_part_removed",
        "missing_part",
        "message 1:5",
        f"DELETE FROM message_parts WHERE message_id = {message(5)} AND ordinal = 0",
    ),
    Damage.of("span_outside", "wrong_part_span", "message 1:5", set_part(5, 0, "content_end = 900")),
    Damage.of("span_and_text", "wrong_part_span", "message 1:5", set_part(5, 0, "text = 'too'")),
    Damage.of(
        "orphan_part",
        "orphan_part",
        "message id 99",
        (
            "INSERT INTO message_parts (project_id, message_id, ordinal, part_type, text)"
            " SELECT project_id, 99, 0, 'text', 'lost' FROM projects"
        ),
    ),
)

PLACE_DAMAGE = (
    Damage.of("messages_swapped", "wrong_order", "context 1", *swap_items(message(10), message(11))),
    Damage.of("message_and_summary_swapped", "wrong_order", "context 1", *swap_items(key("L5"), message(11))),
    Damage.of("summaries_swapped", "wrong_order", "context 1", *swap_items(key("D2"), key("L5"))),
    Damage.of("items_of_fork_swapped", "wrong_order", "context 2", *swap_items(key("D2"), key("L5"), 2)),
    Damage.of(
        "excluded_unseen",
        "wrong_exclusion",
        "message 1:11",
        f"DELETE FROM context_items WHERE message_id = {message(11)}",
        "UPDATE messages SET context_exclusion = 'audited' WHERE seq = 11",
    ),
    Damage.of(
        "put_back_unseen",
        "wrong_exclusion",
        "message 1:13",
        "UPDATE messages SET context_exclusion = NULL WHERE seq = 13",
        item(f"9000, {message(13)}, NULL"),
    ),
    Damage.of("record_removed", "wrong_exclusion", "message 1:13", "DELETE FROM context_audits"),
    Damage.of(
        "item_removed",
        "message_in_no_place",
        "message 1:11",
        f"DELETE FROM context_items WHERE conversation_id = 1 AND message_id = {message(11)}",
    ),
    Damage.of(
        "summary_item_removed",
        "message_in_no_place",
        "message 1:8",
        f"DELETE FROM context_items WHERE conversation_id = 1 AND summary_key = {key('L5')}",
    ),
    Damage.of(
        "link_removed",
        "message_in_no_place",
        "message 1:3",
        f"DELETE FROM summary_messages WHERE message_id = {message(3)}",
    ),
    Damage.of("summarized_and_in_context", "message_in_two_places", "message 1:3", item(f"9000, {message(3)}, NULL")),
    Damage.of(
        "in_context_and_excluded",
        "message_in_two_places",
        "message 1:11",
        "UPDATE messages SET context_exclusion = 'rewound' WHERE seq = 11",
    ),
    Damage.of(
        "summarized_and_excluded",
        "message_in_two_places",
        "message 1:3",
        "UPDATE messages SET context_exclusion = 'rewound' WHERE seq = 3",
    ),
    Damage.of(
        "in_context_twice",
        "message_in_two_places",
        "message 1:11",
        "DROP INDEX uq_context_items_message",
        item(f"9000, {message(11)}, NULL"),
    ),
    Damage.of("link_extra", "message_in_two_places", "message 1:11", link("L5", message(11), 2)),
    Damage.of(
        "leaf_live_twice",
        "duplicate_live_upper",
        "message 1:3",
        "DROP INDEX uq_summary_messages_live",
        link("L5", message(3), 2),
    ),
    Damage.of("base_summary_below_item", "shown_twice", "context 2", item(f"9000, NULL, {key('L1')}", 2)),
    Damage.of("base_message_below_item", "shown_twice", "context 2", item(f"9000, {message(3)}, NULL", 2)),
    Damage.of("foreign_message", "foreign_context_item", "context 1", item(f"9000, {message(1, 2)}, NULL")),
    Damage.of("foreign_summary", "foreign_context_item", "context 1", item(f"9000, NULL, {key('LF')}")),
    Damage.of("item_of_nothing", "dangling_context_item", "context 1", item("9000, NULL, NULL")),
    Damage.of("item_of_no_message", "dangling_context_item", "context 2", item("9000, 999, NULL", 2)),
    Damage.of(
        "item_of_no_summary",
        "dangling_context_item",
        "context 1",
        item(f"9000, NULL, {NO_KEY}"),
    ),
    Damage.of(
        "position_repeated",
        "repeated_position",
        "context 1",
        "CREATE TABLE copy AS SELECT * FROM context_items",
        "DROP TABLE context_items",
        "ALTER TABLE copy RENAME TO context_items",
        item(f"(SELECT max(position) FROM context_items WHERE conversation_id = 1), NULL, {key('LF')}"),
    ),
    Damage.of(
        "superseded_in_context", "superseded_in_context", "context 1", change("L5", f"superseded_by_key = {key('L1')}")
    ),
)

SUMMARY_DAMAGE = (
    Damage.of("links_swapped", "wrong_order", "summary L1", *swap_links("L1")),
    Damage.of("merges_swapped", "wrong_order", "summary D1", *swap_links("D1")),
    Damage.of("deep_merges_swapped", "wrong_order", "summary D2", *swap_links("D2")),
    Damage.of("links_of_superseded_swapped", "wrong_successor", "summary O5", *swap_links("O5")),
    Damage.of("successor_of_others", "wrong_successor", "summary O5", change("O5", f"superseded_by_key = {key('L1')}")),
    Damage.of(
        "successor_of_other_kind", "wrong_successor", "summary O5", change("O5", f"superseded_by_key = {key('D1')}")
    ),
    Damage.of(
        "successors_in_a_ring", "wrong_successor", "summary L5", change("L5", f"superseded_by_key = {key('O5')}")
    ),
    Damage.of(
        "links_removed",
        "summary_without_sources",
        "summary L1",
        f"DELETE FROM summary_messages WHERE summary_key = {key('L1')}",
    ),
    Damage.of(
        "merges_removed",
        "summary_without_sources",
        "summary D1",
        f"DELETE FROM summary_parents WHERE summary_key = {key('D1')}",
    ),
    Damage.of(
        "first_link_removed",
        "missing_link",
        "summary L2",
        f"DELETE FROM summary_messages WHERE message_id = {message(2)}",
    ),
    Damage.of(
        "first_merge_removed",
        "missing_link",
        "summary D1",
        f"DELETE FROM summary_parents WHERE parent_summary_key = {key('L1')}",
    ),
    Damage.of(
        "merge_removed",
        "unreachable_summary",
        "summary E1",
        f"DELETE FROM summary_parents WHERE parent_summary_key = {key('E1')}",
    ),
    Damage.of(
        "leaf_merges",
        "wrong_source_kind",
        "summary L5",
        f"UPDATE summary_parents SET summary_key = {key('L5')} WHERE parent_summary_key = {key('L1')}",
    ),
    Damage.of("merge_covers_message", "wrong_source_kind", "summary D2", link("D2", message(11), 0)),
    Damage.of(
        "cycle",
        "summary_cycle",
        "summary D1",
        f"UPDATE summary_parents SET parent_summary_key = {key('D2')} WHERE parent_summary_key = {key('L1')}",
    ),
    Damage.of("child_gone", "dangling_link", "summary D1", "DELETE FROM summaries WHERE content = 'L1'"),
    Damage.of("summary_gone", "dangling_context_item", "context 2", "DELETE FROM summaries WHERE content = 'D2'"),
    Damage.of(
        "foreign_source",
        "foreign_source",
        "summary L5",
        f"UPDATE summary_messages SET message_id = {message(1, 2)} WHERE message_id = {message(9)}",
    ),
    Damage.of(
        "link_of_other_conversation",
        "wrong_link_conversation",
        "summary L1",
        f"UPDATE summary_messages SET conversation_id = 2 WHERE summary_key = {key('L1')}",
    ),
    Damage.of(
        "link_not_live",
        "wrong_link_state",
        "summary L2",
        f"UPDATE summary_messages SET is_live = 0 WHERE message_id = {message(3)}",
    ),
    Damage.of(
        "merge_not_live",
        "unreachable_summary",
        "summary D1",
        f"UPDATE summary_parents SET is_live = 0 WHERE parent_summary_key = {key('D1')}",
    ),
    Damage.of(
        "upper_live_twice",
        "duplicate_live_upper",
        "summary L1",
        "DROP INDEX uq_summary_parents_live",
        link("D2", key("L1"), 2),
    ),
    Damage.of("depth_changed", "wrong_depth", "summary D1", change("D1", "depth = 2")),
    Damage.of("depth_of_leaf_changed", "wrong_depth", "summary L1", change("L1", "depth = 1")),
    Damage.of("kind_unknown", "invalid_value", "summary L1", change("L1", "kind = 'branch'")),
    Damage.of("descendants_changed", "wrong_counts", "summary D2", change("D2", "descendant_count = 5")),
    Damage.of("descendant_tokens_changed", "wrong_counts", "summary D1", change("D1", "descendant_token_count = 5")),
    Damage.of("source_tokens_changed", "wrong_counts", "summary L1", change("L1", "source_message_token_count = 5")),
    Damage.of("range_changed", "wrong_time_range", "summary D1", change("D1", "latest_at = latest_at + 1")),
    Damage.of("range_of_leaf_changed", "wrong_time_range", "summary L1", change("L1", "earliest_at = NULL")),
    Damage.of("tokens_negative", "wrong_token_count", "summary L1", change("L1", "token_count = -3")),
    Damage.of("text_edited", "changed_summary", "summary L1", change("L1", "content = 'L9'")),
    Damage.of("text_emptied", "wrong_token_count", "summary L1", change("L1", "content = ''")),
    Damage.of(
        "successor_gone",
        "missing_successor",
        "summary L5",
        change("L5", f"superseded_by_key = {NO_KEY}"),
    ),
    Damage.of(
        "superseded_below_live", "superseded_below_live", "summary L1", change("L1", f"superseded_by_key = {key('L5')}")
    ),
    Damage.of(
        "file_forgotten",
        "wrong_file_references",
        "summary D1",
        f"INSERT INTO summary_large_files SELECT project_id, {key('D1')}, 0, file_id FROM large_files",
    ),
    Damage.of(
        "file_never_mentioned",
        "wrong_file_references",
        "summary L5",
        f"UPDATE summary_large_files SET file_id = 'file_0000000000000000' WHERE summary_key = {key('L5')}",
    ),
)

OTHER_DAMAGE = (
    Damage.of(
        "anchor_gone",
        "missing_message",
        "source 1",
        f"""UPDATE sources SET parser_state = '{{"writer": {{"placed": {{"session-1": "{"ab" * 32}"}}}}}}'""",
    ),
    Damage.of(
        "state_ahead",
        "invalid_value",
        "compaction state 1",
        "UPDATE compaction_states SET context_revision = 1000000",
    ),
    Damage.of(
        "state_of_no_mode", "invalid_value", "compaction state 1", "UPDATE compaction_states SET mode = 'sometimes'"
    ),
    Damage.of(
        "state_of_no_policy",
        "invalid_value",
        "compaction state 1",
        "UPDATE compaction_states SET policy_sha256 = x'00'",
    ),
    Damage.of(
        "state_hands_on_nothing",
        "invalid_value",
        "compaction state 1",
        f"UPDATE compaction_states SET last_summary_key = {NO_KEY}",
    ),
    Damage.of(
        "breaker_unknown",
        "invalid_value",
        "circuit breaker openai/small",
        (
            "INSERT INTO provider_breakers (project_id, provider, model, state, failures, updated_at)"
            " SELECT project_id, 'openai', 'small', 'ajar', 0, 0 FROM projects"
        ),
    ),
    Damage.of("base_removed", "missing_base", "conversation 2", "DELETE FROM conversations WHERE conversation_id = 1"),
    Damage.of(
        "owner_removed", "missing_conversation", "conversation 1", "DELETE FROM conversations WHERE conversation_id = 1"
    ),
    Damage.of(
        "base_message_gone",
        "wrong_base_message",
        "conversation 2",
        "UPDATE conversations SET base_message_id = 99 WHERE conversation_id = 2",
    ),
    Damage.of(
        "base_message_elsewhere",
        "wrong_base_message",
        "conversation 2",
        f"UPDATE conversations SET base_message_id = {message(1, 2)} WHERE conversation_id = 2",
    ),
    Damage.of(
        "base_cycle",
        "base_cycle",
        "conversation 1",
        "UPDATE conversations SET base_conversation_id = 2 WHERE conversation_id = 1",
    ),
    Damage.of(
        "revision_negative",
        "negative_counter",
        "conversation 1",
        "UPDATE conversations SET context_revision = -1 WHERE conversation_id = 1",
    ),
    Damage.of(
        "counter_negative",
        "negative_counter",
        "counter redactions built_in",
        "INSERT INTO redaction_counters SELECT project_id, 'built_in', -2, 0 FROM projects",
    ),
    Damage.of("file_row_removed", "missing_file_row", f"file {FILE.file_id}", "DELETE FROM large_files"),
    Damage.of("file_size_changed", "wrong_file_size", f"file {FILE.file_id}", "UPDATE large_files SET size_bytes = 7"),
    Damage.of(
        "file_digest_changed",
        "changed_file_bytes",
        f"file {FILE.file_id}",
        "UPDATE large_files SET content_sha256 = zeroblob(32)",
    ),
    Damage.of(
        "file_uri_changed",
        "missing_file_bytes",
        f"file {FILE.file_id}",
        "UPDATE large_files SET storage_uri = 'files/other'",
    ),
    Damage.of(
        "words_missing",
        "search_index",
        "search index",
        "INSERT INTO messages_fts (messages_fts, rowid, words, cjk) VALUES ('delete', 6, 'message 5', '')",
    ),
    Damage.of("index_dropped", "search_index", "search index", "DROP TABLE messages_fts"),
    Damage.of(
        "words_of_nothing",
        "search_index",
        "search index",
        "INSERT INTO messages_fts (rowid, words, cjk) VALUES (99, 'ghost', '')",
    ),
    Damage.of(
        "links_of_nothing",
        "orphan_link",
        "summary key 00112233-4455-6677-8899-aabbccddeeff",
        change("LF", f"summary_key = {NO_KEY}"),
        f"UPDATE summary_messages SET summary_key = {NO_KEY} WHERE conversation_id = 2",
        "DELETE FROM summaries WHERE content = 'LF'",
    ),
)

ALL_DAMAGE = (*MESSAGE_DAMAGE, *PLACE_DAMAGE, *SUMMARY_DAMAGE, *OTHER_DAMAGE)
