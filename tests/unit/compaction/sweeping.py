"""Stored sessions, a scripted summarizer and readable views of a context, for tests of passes and sweeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lcm.compaction.policy import CompactionPolicy
from lcm.domain.messages import Message, MessagePart, NewMessage, PartType, Role
from lcm.domain.summaries import SummaryOrigin
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryAnswer, SummaryRequest
from tests.factories import make_conversation, make_message

MESSAGE_TOKENS = 50

SMALL = CompactionPolicy(
    fresh_tail_count=4,
    fresh_tail_max_tokens=None,
    leaf_chunk_tokens=400,
    leaf_min_fanout=3,
    condensed_min_fanout=2,
    condensed_min_fanout_hard=2,
    leaf_target_tokens=80,
    condensed_target_tokens=150,
    context_threshold=0.75,
    max_passes=1000,
    max_seconds=3600,
)

Script = Callable[[SummaryRequest], Awaitable[str]]


def unscrubbed(text: str) -> str:
    return text


def text_of(tokens: int, label: str) -> str:
    """A text of that many estimated tokens which starts with a label."""
    return f"{label} " + "x" * (4 * tokens - len(label) - 1)


@dataclass
class FakeSummarizer:
    """Answers with texts of the target length, numbered, or as scripted; keeps the requests."""

    script: Script | None = None
    cost_micros: int | None = 7
    model: str = "fake/model"
    origin: SummaryOrigin = SummaryOrigin.MODEL
    is_remote: bool = True
    requests: list[SummaryRequest] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        self.requests.append(request)
        number = len(self.requests)
        if self.script is not None:
            return SummaryAnswer(await self.script(request), cost_micros=self.cost_micros)
        tokens = min(request.target_tokens, request.source.target_tokens)
        return SummaryAnswer(text_of(tokens, f"Summary {number}."), cost_micros=self.cost_micros)


async def start_session(
    project: ProjectStorage, count: int, *, tokens: int = MESSAGE_TOKENS
) -> tuple[int, list[Message]]:
    """A conversation of `count` messages in context: prompt, tool call, result, answer, and so on, a minute apart."""
    conversation = await project.conversations.create_conversation(make_conversation())
    messages = await append_session(project, conversation.conversation_id, range(count), tokens=tokens)
    return conversation.conversation_id, messages


async def append_session(
    project: ProjectStorage, conversation_id: int, numbers: range, *, tokens: int = MESSAGE_TOKENS
) -> list[Message]:
    new = [_message(number, tokens) for number in numbers]
    messages = await project.conversations.append_messages(conversation_id, new)
    await project.context.append_messages(conversation_id, [message.message_id for message in messages])
    return messages


def _message(number: int, tokens: int) -> NewMessage:
    role, part_type = _KINDS[number % 4]
    content = text_of(tokens, f"message {number}")
    call_id = None if part_type is PartType.TEXT else f"call-{number // 4}"
    part = MessagePart(0, part_type, 0, len(content), tool_call_id=call_id)
    return make_message(content, role=role, minutes=number, token_count=tokens, parts=(part,))


_KINDS = (
    (Role.USER, PartType.TEXT),
    (Role.ASSISTANT, PartType.TOOL_CALL),
    (Role.TOOL, PartType.TOOL_RESULT),
    (Role.ASSISTANT, PartType.TEXT),
)


async def shape(project: ProjectStorage, conversation_id: int) -> str:
    """The context in one line: `m` for a message, the depth for a summary."""
    items = await project.context.list_items(conversation_id)
    return "".join("m" if item.is_message else str(item.depth) for item in items)


async def shown_message_ids(project: ProjectStorage, conversation_id: int) -> list[int]:
    """Every message that the context shows, itself or below a summary, in the order of the context."""
    shown: list[int] = []
    for item in await project.context.list_items(conversation_id):
        if item.ref.message_id is not None:
            shown.append(item.ref.message_id)
        elif item.ref.summary_key is not None:
            below = await project.summaries.list_subtree(item.ref.summary_key)
            keys = [item.ref.summary_key, *(entry.summary.summary_key for entry in below)]
            listed = [message for key in keys for message in await project.summaries.list_messages(key)]
            shown += [message.message_id for message in sorted(listed, key=lambda message: message.seq)]
    return shown


def ids(messages: Sequence[Message]) -> list[int]:
    return [message.message_id for message in messages]


def cancel_this() -> None:
    """Cancel the running task; it ends at its next await."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def then_cancel(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The step with a fault: its caller is cancelled as soon as it has run."""

    async def cancelled(*args: Any, **options: Any) -> Any:
        result = await call(*args, **options)
        cancel_this()
        return result

    return cancelled
