-- 0001 baseline (SQLite)
--
-- Purpose: every table, index, trigger and full-text index of the first schema.
-- Locks: runs inside one BEGIN IMMEDIATE on a new file; nothing else can hold it.
-- Tested: SQLite 3.40.1; fresh file, repeated run, two processes at once, killed between statements; equal to the
--   metadata in lcm/tables, which tests/migrations compares with it.

-- The metadata: written by ops/freeze_migration.py, never by hand.

CREATE TABLE alembic_version (
    version_num TEXT NOT NULL,
    CONSTRAINT pk_alembic_version PRIMARY KEY (version_num)
);

CREATE TABLE machines (
    machine_id BLOB NOT NULL,
    identity_key TEXT NOT NULL,
    display_name TEXT,
    registered_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    CONSTRAINT pk_machines PRIMARY KEY (machine_id),
    CONSTRAINT uq_machines_identity_key UNIQUE (identity_key)
);

CREATE TABLE projects (
    project_id BLOB NOT NULL,
    display_name TEXT NOT NULL,
    identity_salt BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT pk_projects PRIMARY KEY (project_id),
    CONSTRAINT ck_projects_identity_salt_length CHECK (length(identity_salt) = 32)
);

CREATE TABLE schema_migrations (
    id TEXT NOT NULL,
    checksum_sha256 TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    CONSTRAINT pk_schema_migrations PRIMARY KEY (id),
    CONSTRAINT ck_schema_migrations_checksum_sha256_length CHECK (length(checksum_sha256) = 64)
);

CREATE TABLE conversations (
    conversation_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id BLOB NOT NULL,
    conversation_key BLOB NOT NULL,
    session_id TEXT NOT NULL,
    client TEXT NOT NULL,
    title TEXT,
    relation TEXT NOT NULL,
    base_conversation_id INTEGER,
    base_message_id INTEGER,
    parent_tool_call_id TEXT,
    context_revision INTEGER NOT NULL,
    bootstrapped_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT uq_conversations_conversation_id_project_id UNIQUE (conversation_id, project_id),
    CONSTRAINT uq_conversations_key UNIQUE (conversation_key),
    CONSTRAINT fk_conversations_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT fk_conversations_base_conversation_id_project_id FOREIGN KEY(base_conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_conversations_relation CHECK (relation IN ('root', 'segment', 'resume', 'fork', 'subagent')),
    CONSTRAINT ck_conversations_context_revision CHECK (context_revision BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_conversations_base CHECK (base_message_id IS NULL OR base_conversation_id IS NOT NULL)
);

CREATE INDEX ix_conversations_created ON conversations (created_at, conversation_id);

CREATE INDEX ix_conversations_session ON conversations (session_id, created_at, conversation_id);

CREATE TABLE ingest_tombstones (
    project_id BLOB NOT NULL,
    ingest_key BLOB NOT NULL,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT pk_ingest_tombstones PRIMARY KEY (ingest_key),
    CONSTRAINT fk_ingest_tombstones_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_ingest_tombstones_ingest_key_length CHECK (length(ingest_key) = 32)
);

CREATE TABLE project_aliases (
    project_id BLOB NOT NULL,
    machine_id BLOB NOT NULL,
    path TEXT NOT NULL,
    normalized_path TEXT NOT NULL,
    linked_at INTEGER NOT NULL,
    CONSTRAINT pk_project_aliases PRIMARY KEY (machine_id, normalized_path),
    CONSTRAINT uq_project_aliases_machine_id_path UNIQUE (machine_id, path),
    CONSTRAINT fk_project_aliases_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT fk_project_aliases_machine_id FOREIGN KEY(machine_id) REFERENCES machines (machine_id) ON DELETE RESTRICT
);

CREATE TABLE redaction_counters (
    project_id BLOB NOT NULL,
    category TEXT NOT NULL,
    count INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT pk_redaction_counters PRIMARY KEY (project_id, category),
    CONSTRAINT fk_redaction_counters_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_redaction_counters_category CHECK (category IN ('built_in', 'global', 'project')),
    CONSTRAINT ck_redaction_counters_count CHECK (count BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE search_state (
    project_id BLOB NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT pk_search_state PRIMARY KEY (project_id, name),
    CONSTRAINT fk_search_state_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT
);

CREATE TABLE session_ingest_log (
    project_id BLOB NOT NULL,
    session_id TEXT NOT NULL,
    message_count INTEGER NOT NULL,
    completed_at INTEGER NOT NULL,
    CONSTRAINT pk_session_ingest_log PRIMARY KEY (project_id, session_id),
    CONSTRAINT fk_session_ingest_log_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_session_ingest_log_message_count CHECK (message_count BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE sources (
    source_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id BLOB NOT NULL,
    machine_id BLOB NOT NULL,
    client TEXT NOT NULL,
    locator TEXT NOT NULL,
    revision INTEGER NOT NULL,
    byte_offset INTEGER NOT NULL,
    line_count INTEGER NOT NULL,
    inode TEXT NOT NULL,
    tail_sha256 BLOB NOT NULL,
    parser_state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT uq_sources_source_id_project_id UNIQUE (source_id, project_id),
    CONSTRAINT uq_sources_locator UNIQUE (machine_id, client, locator),
    CONSTRAINT fk_sources_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT fk_sources_machine_id FOREIGN KEY(machine_id) REFERENCES machines (machine_id) ON DELETE RESTRICT,
    CONSTRAINT ck_sources_revision CHECK (revision BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_sources_byte_offset CHECK (byte_offset BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_sources_line_count CHECK (line_count BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE large_files (
    project_id BLOB NOT NULL,
    file_id TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    file_name TEXT,
    mime_type TEXT,
    size_bytes INTEGER NOT NULL,
    content_sha256 BLOB NOT NULL,
    storage_uri TEXT NOT NULL,
    exploration_summary TEXT,
    created_at INTEGER NOT NULL,
    CONSTRAINT pk_large_files PRIMARY KEY (file_id),
    CONSTRAINT fk_large_files_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT fk_large_files_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_large_files_size_bytes CHECK (size_bytes BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_large_files_content_sha256_length CHECK (length(content_sha256) = 32),
    CONSTRAINT ck_large_files_storage_uri CHECK (length(storage_uri) > 0)
);

CREATE INDEX ix_large_files_conversation ON large_files (conversation_id, created_at, file_id);

CREATE TABLE messages (
    message_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    token_count INTEGER NOT NULL,
    occurred_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ingest_key BLOB NOT NULL,
    identity_kind TEXT NOT NULL,
    identity_occurrence INTEGER NOT NULL,
    content_sha256 BLOB NOT NULL,
    api_message_id TEXT,
    source_id INTEGER,
    source_ordinal INTEGER,
    context_exclusion TEXT,
    CONSTRAINT uq_messages_message_id_project_id UNIQUE (message_id, project_id),
    CONSTRAINT uq_messages_ingest_key UNIQUE (ingest_key),
    CONSTRAINT uq_messages_seq UNIQUE (conversation_id, seq),
    CONSTRAINT fk_messages_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_messages_source_id_project_id FOREIGN KEY(source_id, project_id) REFERENCES sources (source_id, project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_messages_role CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    CONSTRAINT ck_messages_identity_kind CHECK (identity_kind IN ('uuid', 'call', 'position', 'text')),
    CONSTRAINT ck_messages_context_exclusion CHECK (context_exclusion IN ('meta', 'client_summary', 'rewound', 'duplicate', 'audited')),
    CONSTRAINT ck_messages_seq CHECK (seq BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_messages_token_count CHECK (token_count BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_messages_identity_occurrence CHECK (identity_occurrence BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_messages_ingest_key_length CHECK (length(ingest_key) = 32),
    CONSTRAINT ck_messages_content_sha256_length CHECK (length(content_sha256) = 32)
);

CREATE INDEX ix_messages_occurred ON messages (occurred_at, message_id);

CREATE TABLE model_calls (
    call_key BLOB NOT NULL,
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    level TEXT NOT NULL,
    depth INTEGER NOT NULL,
    status TEXT NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost_micros INTEGER,
    error_code TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    CONSTRAINT pk_model_calls PRIMARY KEY (call_key),
    CONSTRAINT fk_model_calls_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_model_calls_status CHECK (status IN ('reserved', 'answered', 'rejected', 'failed')),
    CONSTRAINT ck_model_calls_reserved_tokens CHECK (reserved_tokens BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_model_calls_input_tokens CHECK (input_tokens BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_model_calls_output_tokens CHECK (output_tokens BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_model_calls_cost_micros CHECK (cost_micros BETWEEN 0 AND 9007199254740991)
);

CREATE INDEX ix_model_calls_started ON model_calls (started_at, call_key);

CREATE TABLE source_occurrences (
    project_id BLOB NOT NULL,
    source_id INTEGER NOT NULL,
    identity_digest BLOB NOT NULL,
    occurrences INTEGER NOT NULL,
    CONSTRAINT pk_source_occurrences PRIMARY KEY (source_id, identity_digest),
    CONSTRAINT fk_source_occurrences_source_id_project_id FOREIGN KEY(source_id, project_id) REFERENCES sources (source_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_source_occurrences_occurrences CHECK (occurrences BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE summaries (
    summary_rowid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id BLOB NOT NULL,
    summary_key BLOB NOT NULL,
    summary_id TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    depth INTEGER NOT NULL,
    content TEXT NOT NULL,
    token_count INTEGER NOT NULL,
    earliest_at INTEGER,
    latest_at INTEGER,
    descendant_count INTEGER NOT NULL,
    descendant_token_count INTEGER NOT NULL,
    source_message_token_count INTEGER NOT NULL,
    origin TEXT NOT NULL,
    level TEXT NOT NULL,
    model TEXT,
    prompt_version TEXT,
    superseded_by_key BLOB,
    created_at INTEGER NOT NULL,
    CONSTRAINT uq_summaries_summary_key_project_id UNIQUE (summary_key, project_id),
    CONSTRAINT uq_summaries_summary_id UNIQUE (summary_id),
    CONSTRAINT fk_summaries_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_summaries_kind CHECK (kind IN ('leaf', 'condensed')),
    CONSTRAINT ck_summaries_origin CHECK (origin IN ('model', 'extractive', 'truncated')),
    CONSTRAINT ck_summaries_level CHECK (level IN ('normal', 'aggressive', 'fallback')),
    CONSTRAINT ck_summaries_depth CHECK ((kind = 'leaf' AND depth = 0) OR (kind = 'condensed' AND depth >= 1)),
    CONSTRAINT ck_summaries_time_range CHECK (earliest_at <= latest_at),
    CONSTRAINT ck_summaries_token_count CHECK (token_count BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_summaries_descendant_count CHECK (descendant_count BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_summaries_descendant_token_count CHECK (descendant_token_count BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_summaries_source_message_token_count CHECK (source_message_token_count BETWEEN 0 AND 9007199254740991)
);

CREATE INDEX ix_summaries_conversation ON summaries (conversation_id, created_at, summary_rowid);

CREATE TABLE context_items (
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id INTEGER,
    summary_key BLOB,
    CONSTRAINT pk_context_items PRIMARY KEY (conversation_id, position),
    CONSTRAINT fk_context_items_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_context_items_message_id_project_id FOREIGN KEY(message_id, project_id) REFERENCES messages (message_id, project_id) ON DELETE RESTRICT,
    CONSTRAINT fk_context_items_summary_key_project_id FOREIGN KEY(summary_key, project_id) REFERENCES summaries (summary_key, project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_context_items_position CHECK (position BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_context_items_one_reference CHECK ((message_id IS NULL) <> (summary_key IS NULL))
);

CREATE UNIQUE INDEX uq_context_items_message ON context_items (message_id, conversation_id) WHERE message_id IS NOT NULL;

CREATE UNIQUE INDEX uq_context_items_summary ON context_items (summary_key, conversation_id) WHERE summary_key IS NOT NULL;

CREATE TABLE message_parts (
    project_id BLOB NOT NULL,
    message_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    part_type TEXT NOT NULL,
    content_start INTEGER,
    content_end INTEGER,
    text TEXT,
    tool_call_id TEXT,
    tool_name TEXT,
    is_error BOOLEAN,
    file_id TEXT,
    metadata TEXT,
    CONSTRAINT pk_message_parts PRIMARY KEY (message_id, ordinal),
    CONSTRAINT fk_message_parts_message_id_project_id FOREIGN KEY(message_id, project_id) REFERENCES messages (message_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_message_parts_part_type CHECK (part_type IN ('text', 'reasoning', 'tool_call', 'tool_result', 'file')),
    CONSTRAINT ck_message_parts_ordinal CHECK (ordinal BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_message_parts_place CHECK ((text IS NULL AND content_start >= 0 AND content_end >= content_start) OR (text IS NOT NULL AND content_start IS NULL AND content_end IS NULL))
);

CREATE INDEX ix_message_parts_tool_call ON message_parts (tool_call_id, message_id) WHERE tool_call_id IS NOT NULL;

CREATE TABLE message_sources (
    project_id BLOB NOT NULL,
    message_id INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    source_ordinal INTEGER NOT NULL,
    CONSTRAINT pk_message_sources PRIMARY KEY (message_id, source_id),
    CONSTRAINT fk_message_sources_message_id_project_id FOREIGN KEY(message_id, project_id) REFERENCES messages (message_id, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_message_sources_source_id_project_id FOREIGN KEY(source_id, project_id) REFERENCES sources (source_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_message_sources_source_ordinal CHECK (source_ordinal BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE summary_large_files (
    project_id BLOB NOT NULL,
    summary_key BLOB NOT NULL,
    ordinal INTEGER NOT NULL,
    file_id TEXT NOT NULL,
    CONSTRAINT pk_summary_large_files PRIMARY KEY (summary_key, ordinal),
    CONSTRAINT fk_summary_large_files_summary_key_project_id FOREIGN KEY(summary_key, project_id) REFERENCES summaries (summary_key, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_summary_large_files_ordinal CHECK (ordinal BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE summary_messages (
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    summary_key BLOB NOT NULL,
    message_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    is_live BOOLEAN NOT NULL,
    CONSTRAINT pk_summary_messages PRIMARY KEY (summary_key, message_id),
    CONSTRAINT uq_summary_messages_summary_key_ordinal UNIQUE (summary_key, ordinal),
    CONSTRAINT fk_summary_messages_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_summary_messages_summary_key_project_id FOREIGN KEY(summary_key, project_id) REFERENCES summaries (summary_key, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_summary_messages_message_id_project_id FOREIGN KEY(message_id, project_id) REFERENCES messages (message_id, project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_summary_messages_ordinal CHECK (ordinal BETWEEN 0 AND 9007199254740991)
);

CREATE UNIQUE INDEX uq_summary_messages_live ON summary_messages (message_id, conversation_id) WHERE is_live IS 1;

CREATE TABLE summary_parents (
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    summary_key BLOB NOT NULL,
    parent_summary_key BLOB NOT NULL,
    ordinal INTEGER NOT NULL,
    is_live BOOLEAN NOT NULL,
    CONSTRAINT pk_summary_parents PRIMARY KEY (summary_key, parent_summary_key),
    CONSTRAINT uq_summary_parents_summary_key_ordinal UNIQUE (summary_key, ordinal),
    CONSTRAINT fk_summary_parents_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_summary_parents_summary_key_project_id FOREIGN KEY(summary_key, project_id) REFERENCES summaries (summary_key, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_summary_parents_parent_summary_key_project_id FOREIGN KEY(parent_summary_key, project_id) REFERENCES summaries (summary_key, project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_summary_parents_ordinal CHECK (ordinal BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_summary_parents_no_self_edge CHECK (summary_key <> parent_summary_key)
);

CREATE UNIQUE INDEX uq_summary_parents_live ON summary_parents (parent_summary_key, conversation_id) WHERE is_live IS 1;

-- Beyond the metadata: full-text indexes and triggers, written by hand.

-- Words and bigrams of CJK text, derived by lcm. Contentless: the text lives once, in the base table. A row is removed
-- by the 'delete' command with exactly the values it was inserted with.
CREATE VIRTUAL TABLE messages_fts USING fts5 (
    words,
    cjk,
    content = '',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE VIRTUAL TABLE summaries_fts USING fts5 (
    words,
    cjk,
    content = '',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Depth grows along every edge, so the graph of summaries has no cycle.
CREATE TRIGGER summary_parents_depth
BEFORE INSERT ON summary_parents
WHEN (SELECT depth FROM summaries WHERE summary_key = NEW.parent_summary_key AND project_id = NEW.project_id)
    >= (SELECT depth FROM summaries WHERE summary_key = NEW.summary_key AND project_id = NEW.project_id)
BEGIN
    SELECT RAISE(ABORT, 'lcm: a summary merges less deep ones');
END;

CREATE TRIGGER messages_identity
BEFORE UPDATE OF message_id, project_id, conversation_id, seq, role, ingest_key, identity_kind ON messages
BEGIN
    SELECT RAISE(ABORT, 'lcm: the identity of a message does not change');
END;

CREATE TRIGGER schema_migrations_no_update
BEFORE UPDATE ON schema_migrations
BEGIN
    SELECT RAISE(ABORT, 'lcm: the ledger is append-only');
END;

CREATE TRIGGER schema_migrations_no_delete
BEFORE DELETE ON schema_migrations
BEGIN
    SELECT RAISE(ABORT, 'lcm: the ledger is append-only');
END;
