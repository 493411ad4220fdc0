"""One harmless call of every operation of every contract, for rules that hold for all of them."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

from lcm.domain.breakers import Breaker, BreakerState
from lcm.domain.compaction_state import CompactionMode, CompactionState
from lcm.domain.context import AuditAction, ItemRef
from lcm.domain.ingest import Checkpoint
from lcm.domain.large_files import NewLargeFile
from lcm.domain.messages import Exclusion, Role
from lcm.domain.model_calls import CallOutcome, CallReservation, CallStatus
from lcm.errors import LcmError
from lcm.storage.contracts.lexical_search import MatchQuery, SearchFilters, TextKind
from lcm.storage.contracts.project import Repositories
from tests.factories import START, make_conversation, make_message, make_summary

_KEY = uuid.UUID("01890000-0000-7000-8000-00000000beef")
_DIGEST = b"d" * 32
_FILE = NewLargeFile("file_1", 1, 1, _DIGEST, "files/file_1")
_CALL = CallReservation(1, "leaf", "fake/model", "normal", 0, 1)
_STATE = CompactionState(1, CompactionMode.SWEEP, 0, _DIGEST, "done", None, START)
_BREAKER = Breaker("openai", "openai/gpt-x", BreakerState.CLOSED, 1, "timeout", None, None, START)
_WORDS = MatchQuery(words=("hello",))
_ALL = SearchFilters()

OPERATIONS: dict[str, Callable[[Repositories], Awaitable[object]]] = {
    "conversations.create_conversation": lambda r: r.conversations.create_conversation(make_conversation()),
    "conversations.get_or_create_conversation": lambda r: r.conversations.get_or_create_conversation(
        make_conversation()
    ),
    "conversations.get_conversation": lambda r: r.conversations.get_conversation(1),
    "conversations.find_by_key": lambda r: r.conversations.find_by_key(_KEY),
    "conversations.find_newest_of_session": lambda r: r.conversations.find_newest_of_session("s"),
    "conversations.list_of_session": lambda r: r.conversations.list_of_session("s"),
    "conversations.list_conversations": lambda r: r.conversations.list_conversations(),
    "conversations.list_overviews": lambda r: r.conversations.list_overviews(),
    "conversations.update_conversation": lambda r: r.conversations.update_conversation(1),
    "conversations.mark_bootstrapped": lambda r: r.conversations.mark_bootstrapped(1, START),
    "conversations.append_messages": lambda r: r.conversations.append_messages(1, [make_message()]),
    "conversations.create_messages": lambda r: r.conversations.create_messages(1, [make_message(seq=0)]),
    "conversations.list_messages": lambda r: r.conversations.list_messages(1),
    "conversations.get_message": lambda r: r.conversations.get_message(1),
    "conversations.list_messages_by_id": lambda r: r.conversations.list_messages_by_id([1]),
    "conversations.find_last_message": lambda r: r.conversations.find_last_message(1),
    "conversations.find_last_seq": lambda r: r.conversations.find_last_seq(1),
    "conversations.has_message": lambda r: r.conversations.has_message(1, Role.USER, "hello"),
    "conversations.count_messages": lambda r: r.conversations.count_messages(1),
    "conversations.count_messages_of_session": lambda r: r.conversations.count_messages_of_session("s"),
    "conversations.create_parts": lambda r: r.conversations.create_parts(1, []),
    "conversations.list_parts": lambda r: r.conversations.list_parts([1]),
    "conversations.count_parts": lambda r: r.conversations.count_parts(),
    "conversations.find_tool_results": lambda r: r.conversations.find_tool_results(["call-1"]),
    "conversations.find_callers": lambda r: r.conversations.find_callers(["call-1"]),
    "conversations.count_exclusions": lambda r: r.conversations.count_exclusions(),
    "conversations.delete_messages": lambda r: r.conversations.delete_messages([1]),
    "summaries.insert_summary": lambda r: r.summaries.insert_summary(make_summary(1)),
    "summaries.insert_in_place": lambda r: r.summaries.insert_in_place(make_summary(1), [ItemRef(message_id=1)]),
    "summaries.link_messages": lambda r: r.summaries.link_messages(_KEY, [1]),
    "summaries.link_children": lambda r: r.summaries.link_children(_KEY, [_KEY]),
    "summaries.supersede": lambda r: r.summaries.supersede(_KEY, make_summary(1)),
    "summaries.list_fallbacks": lambda r: r.summaries.list_fallbacks(1),
    "summaries.get_summary": lambda r: r.summaries.get_summary("sum_0"),
    "summaries.list_by_key": lambda r: r.summaries.list_by_key([_KEY]),
    "summaries.find_by_prefix": lambda r: r.summaries.find_by_prefix("sum_"),
    "summaries.list_summaries": lambda r: r.summaries.list_summaries(1),
    "summaries.list_recent": lambda r: r.summaries.list_recent(limit=1),
    "summaries.list_children": lambda r: r.summaries.list_children(_KEY),
    "summaries.list_uppers": lambda r: r.summaries.list_uppers(_KEY),
    "summaries.list_messages": lambda r: r.summaries.list_messages(_KEY),
    "summaries.list_subtree": lambda r: r.summaries.list_subtree(_KEY),
    "context.list_items": lambda r: r.context.list_items(1),
    "context.list_newest": lambda r: r.context.list_newest(1, limit=1),
    "context.list_depths": lambda r: r.context.list_depths(1),
    "context.count_tokens": lambda r: r.context.count_tokens(1),
    "context.has_raw_tokens": lambda r: r.context.has_raw_tokens(1, 1, before_position=1),
    "context.count_items": lambda r: r.context.count_items(1),
    "context.append_messages": lambda r: r.context.append_messages(1, [1]),
    "context.append_summary": lambda r: r.context.append_summary(1, _KEY),
    "context.insert_messages_after": lambda r: r.context.insert_messages_after(1, None, [1]),
    "context.find_place": lambda r: r.context.find_place(1, 1),
    "context.find_nearest_place": lambda r: r.context.find_nearest_place(1, 1),
    "context.find_furthest": lambda r: r.context.find_furthest(1, [1]),
    "context.replace_range": lambda r: r.context.replace_range(1, [ItemRef(message_id=1)], _KEY),
    "context.exclude_messages": lambda r: r.context.exclude_messages(1, [1], Exclusion.META),
    "context.restore_messages": lambda r: r.context.restore_messages(1, None, [1]),
    "context_audits.note": lambda r: r.context_audits.note(1, [1], AuditAction.EXCLUDE, "why"),
    "context_audits.list_audits": lambda r: r.context_audits.list_audits(),
    "context_audits.list_taken_out": lambda r: r.context_audits.list_taken_out(1),
    "context_audits.list_neighbours": lambda r: r.context_audits.list_neighbours(1, [1]),
    "context.copy_base": lambda r: r.context.copy_base(1, 1, 1),
    "large_files.insert_file": lambda r: r.large_files.insert_file(_FILE),
    "large_files.get_file": lambda r: r.large_files.get_file("file_1"),
    "large_files.list_files": lambda r: r.large_files.list_files(),
    "large_files.list_by_id": lambda r: r.large_files.list_by_id(["file_1"]),
    "large_files.find_by_prefix": lambda r: r.large_files.find_by_prefix("file_"),
    "lexical_search.match_messages": lambda r: r.lexical_search.match_messages(_WORDS, _ALL, limit=1),
    "lexical_search.match_summaries": lambda r: r.lexical_search.match_summaries(_WORDS, _ALL, limit=1),
    "lexical_search.scan_messages": lambda r: r.lexical_search.scan_messages(["x"], _ALL, before_id=None, limit=1),
    "lexical_search.scan_summaries": lambda r: r.lexical_search.scan_summaries(["x"], _ALL, before_id=None, limit=1),
    "lexical_search.find_newest": lambda r: r.lexical_search.find_newest(
        TextKind.MESSAGE, ["x"], _ALL, lambda texts: range(len(texts)), limit=1, max_bytes=1
    ),
    "lexical_search.find_missing": lambda r: r.lexical_search.find_missing(),
    "lexical_search.rebuild": lambda r: r.lexical_search.rebuild(),
    "redaction_admin.add_counts": lambda r: r.redaction_admin.add_counts({"built_in": 1}),
    "redaction_admin.get_counts": lambda r: r.redaction_admin.get_counts(),
    "coordination.record_session_ingest": lambda r: r.coordination.record_session_ingest("s", 1),
    "coordination.find_session_ingest": lambda r: r.coordination.find_session_ingest("s"),
    "ingest.get_or_create_source": lambda r: r.ingest.get_or_create_source("claude", "a"),
    "ingest.list_revisions": lambda r: r.ingest.list_revisions(),
    "ingest.save_checkpoint": lambda r: r.ingest.save_checkpoint(1, Checkpoint(), expected_revision=0),
    "ingest.reset_source": lambda r: r.ingest.reset_source(1, expected_revision=0),
    "ingest.get_identity_salt": lambda r: r.ingest.get_identity_salt(),
    "ingest.find_identities": lambda r: r.ingest.find_identities([_DIGEST]),
    "ingest.find_tombstones": lambda r: r.ingest.find_tombstones([_DIGEST]),
    "ingest.get_occurrences": lambda r: r.ingest.get_occurrences(1, [_DIGEST]),
    "ingest.save_occurrences": lambda r: r.ingest.save_occurrences(1, {_DIGEST: 1}),
    "ingest.record_places": lambda r: r.ingest.record_places(1, [(1, 0)]),
    "model_calls.reserve": lambda r: r.model_calls.reserve(_CALL),
    "model_calls.finish": lambda r: r.model_calls.finish(_KEY, CallOutcome(CallStatus.FAILED)),
    "model_calls.list_calls": lambda r: r.model_calls.list_calls(),
    "compaction_states.find": lambda r: r.compaction_states.find(1, CompactionMode.SWEEP),
    "compaction_states.list_states": lambda r: r.compaction_states.list_states(CompactionMode.SWEEP),
    "compaction_states.note": lambda r: r.compaction_states.note(_STATE),
    "breakers.find": lambda r: r.breakers.find("openai", "openai/gpt-x"),
    "breakers.list_breakers": lambda r: r.breakers.list_breakers(),
    "breakers.save": lambda r: r.breakers.save(_BREAKER, expected=None),
    "integrity.list_conversations": lambda r: r.integrity.list_conversations(),
    "integrity.list_messages": lambda r: r.integrity.list_messages(1, limit=1),
    "integrity.list_summaries": lambda r: r.integrity.list_summaries(limit=1),
    "integrity.list_shown_summaries": lambda r: r.integrity.list_shown_summaries(),
    "integrity.list_items": lambda r: r.integrity.list_items(1, limit=1),
    "integrity.list_source_links": lambda r: r.integrity.list_source_links(limit=1),
    "integrity.list_audits": lambda r: r.integrity.list_audits(),
    "integrity.list_borrowed": lambda r: r.integrity.list_borrowed(),
    "integrity.list_checkpoints": lambda r: r.integrity.list_checkpoints(limit=1),
    "integrity.find_lost_keys": lambda r: r.integrity.find_lost_keys([b"k" * 32]),
    "integrity.count_lost_messages": lambda r: r.integrity.count_lost_messages(),
    "integrity.list_compaction_states": lambda r: r.integrity.list_compaction_states(),
    "integrity.list_breakers": lambda r: r.integrity.list_breakers(),
    "integrity.list_files": lambda r: r.integrity.list_files(limit=1),
    "integrity.find_file_digests": lambda r: r.integrity.find_file_digests(["file_1"]),
    "integrity.count_unanswered_calls": lambda r: r.integrity.count_unanswered_calls(),
    "integrity.list_counters": lambda r: r.integrity.list_counters(),
    "integrity.list_orphans": lambda r: r.integrity.list_orphans(limit=1),
}


async def refused_operations(repositories: Repositories, error: type[LcmError]) -> set[str]:
    """Names of the operations that raise exactly this error here."""
    refused = set()
    for name, call in OPERATIONS.items():
        try:
            await call(repositories)
        except LcmError as raised:
            if type(raised) is error:
                refused.add(name)
    return refused
