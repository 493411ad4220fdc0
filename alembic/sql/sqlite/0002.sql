-- 0002 compaction state and context audits (SQLite)
--
-- Purpose: what compaction remembers between runs, circuit breakers of model providers, and who took what out of a
--   context by hand and why.
-- Locks: inside one BEGIN IMMEDIATE; creates empty tables only, so it takes no time however large the database is.
-- Tested: SQLite 3.40.1; fresh file, a database of 0001 with rows, repeated run, two processes at once.

-- The metadata: written by ops/freeze_migration.py, never by hand.

CREATE TABLE provider_breakers (
    project_id BLOB NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    state TEXT NOT NULL,
    failures INTEGER NOT NULL,
    error_code TEXT,
    opened_at INTEGER,
    probe_at INTEGER,
    updated_at INTEGER NOT NULL,
    CONSTRAINT pk_provider_breakers PRIMARY KEY (project_id, provider, model),
    CONSTRAINT fk_provider_breakers_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE RESTRICT,
    CONSTRAINT ck_provider_breakers_state CHECK (state IN ('closed', 'open', 'half_open')),
    CONSTRAINT ck_provider_breakers_failures CHECK (failures BETWEEN 0 AND 9007199254740991)
);

CREATE TABLE compaction_states (
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    mode TEXT NOT NULL,
    context_revision INTEGER NOT NULL,
    policy_sha256 BLOB NOT NULL,
    stop_reason TEXT NOT NULL,
    last_summary_key BLOB,
    noted_at INTEGER NOT NULL,
    CONSTRAINT pk_compaction_states PRIMARY KEY (conversation_id, mode),
    CONSTRAINT fk_compaction_states_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_compaction_states_context_revision CHECK (context_revision BETWEEN 0 AND 9007199254740991),
    CONSTRAINT ck_compaction_states_policy_sha256_length CHECK (length(policy_sha256) = 32)
);

CREATE TABLE context_audits (
    audit_key BLOB NOT NULL,
    project_id BLOB NOT NULL,
    conversation_id INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    action TEXT NOT NULL,
    reason TEXT NOT NULL,
    exclusion_before TEXT,
    created_at INTEGER NOT NULL,
    CONSTRAINT pk_context_audits PRIMARY KEY (audit_key),
    CONSTRAINT fk_context_audits_conversation_id_project_id FOREIGN KEY(conversation_id, project_id) REFERENCES conversations (conversation_id, project_id) ON DELETE CASCADE,
    CONSTRAINT fk_context_audits_message_id_project_id FOREIGN KEY(message_id, project_id) REFERENCES messages (message_id, project_id) ON DELETE CASCADE,
    CONSTRAINT ck_context_audits_action CHECK (action IN ('exclude', 'include'))
);

CREATE INDEX ix_context_audits_conversation ON context_audits (conversation_id, created_at);

CREATE INDEX ix_context_audits_message ON context_audits (message_id, created_at);
