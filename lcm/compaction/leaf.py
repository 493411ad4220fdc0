"""The leaf pass: the oldest raw messages become one summary of depth 0."""

from __future__ import annotations

from collections.abc import Sequence

from lcm.compaction import source_text
from lcm.compaction.chunks import LeafChunk
from lcm.compaction.passes import PassScope, require_sources, store_if_saving
from lcm.domain.context import ContextItem
from lcm.domain.messages import Message
from lcm.domain.summaries import NewSummary, Summary, SummaryKind
from lcm.large_files.shown import with_file_summaries
from lcm.summarizer.contract import SourceText, WrittenSummary
from lcm.tokens import estimate_tokens


async def run_leaf_pass(scope: PassScope, items: Sequence[ContextItem], chunk: LeafChunk) -> Summary | None:
    """Summarize a chunk of `items` and put the summary in its place; None when that saves too little to be stored.

    The model is called outside any transaction; what it wrote is stored, linked and shown in one short one.

    Raises:
        ContextChanged, IdentityConflict: another compaction was faster; nothing was written.
        SummarizerUnavailable: no answer; nothing was written.
    """
    messages = await scope.project.conversations.list_messages_by_id(chunk.message_ids)
    require_sources(messages, chunk)
    preceding = await scope.list_summaries(source_text.keys_before_leaf(items, chunk.start))
    previous = source_text.previous_text(preceding) or scope.seed
    shown = await with_file_summaries(scope.project.large_files, messages)
    written = await scope.write(leaf_source(scope, shown, previous=previous))
    return await store_if_saving(scope, chunk, new_leaf(scope.conversation_id, messages, written))


def leaf_source(scope: PassScope, messages: Sequence[Message], *, previous: str | None) -> SourceText:
    """What the summarizer is given of these messages."""
    text = source_text.leaf_text(messages, max_tokens=scope.policy.max_source_tokens)
    return SourceText(
        conversation_id=scope.conversation_id,
        text=text,
        token_count=estimate_tokens(text),
        depth=0,
        target_tokens=scope.policy.leaf_target_tokens,
        previous=previous,
    )


def new_leaf(conversation_id: int, messages: Sequence[Message], written: WrittenSummary) -> NewSummary:
    """The leaf to store: its text, and what it says about its sources."""
    return NewSummary(
        conversation_id=conversation_id,
        kind=SummaryKind.LEAF,
        depth=0,
        content=written.text,
        token_count=written.token_count,
        earliest_at=min(message.occurred_at for message in messages),
        latest_at=max(message.occurred_at for message in messages),
        source_message_token_count=sum(message.token_count for message in messages),
        file_ids=source_text.mentioned_files(messages),
        origin=written.origin,
        level=written.level,
        model=written.model,
        prompt_version=written.prompt_version,
    )
