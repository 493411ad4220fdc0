"""Laws of compaction over generated sessions and policies, with a deterministic summarizer over real storage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.assembly.assembler import assemble
from lcm.compaction.chunks import fresh_tail_start, iter_leaf_chunks
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult, StopReason
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.domain.context import ContextItem
from lcm.domain.messages import MessagePart, NewMessage, PartType
from lcm.domain.tool_pairs import tool_pairs
from lcm.storage.contracts.project import ProjectStorage
from tests.engine.context_proofs import read_graph, require_true_figures
from tests.factories import make_conversation, make_message
from tests.unit.compaction.sweeping import SMALL, FakeSummarizer, start_session, text_of

laws = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
long_laws = settings(laws, max_examples=200)

policies = st.builds(
    CompactionPolicy,
    fresh_tail_count=st.integers(0, 10),
    fresh_tail_max_tokens=st.none() | st.integers(1, 400),
    leaf_chunk_tokens=st.integers(40, 900),
    leaf_min_fanout=st.integers(1, 4),
    condensed_min_fanout=st.integers(1, 3),
    condensed_min_fanout_hard=st.just(2),
    leaf_target_tokens=st.integers(5, 200),
    condensed_target_tokens=st.integers(5, 200),
    context_threshold=st.just(0.75),
    max_passes=st.integers(1, 40),
    max_seconds=st.just(3600.0),
)


@dataclass(frozen=True)
class Step:
    """A prompt, an answer, or parallel calls of which some are answered, now or after the next step."""

    kind: str
    tokens: int
    calls: int = 0
    answered: int = 0
    is_late: bool = False


steps = st.builds(
    Step,
    kind=st.sampled_from(["prompt", "answer", "calls", "calls"]),
    tokens=st.integers(10, 300),
    calls=st.integers(1, 3),
    answered=st.integers(0, 3),
    is_late=st.booleans(),
)


def to_messages(script: Sequence[Step], prefix: str) -> list[NewMessage]:
    messages: list[NewMessage] = []
    late: list[NewMessage] = []
    for number, step in enumerate(script):
        ids = [f"{prefix}-{number}-{n}" for n in range(step.calls)]
        if step.kind == "calls":
            messages += [_tool(PartType.TOOL_CALL, each, step, f"{prefix}-{number}") for each in ids]
        else:
            role = "user" if step.kind == "prompt" else "assistant"
            messages.append(make_message(text_of(step.tokens, step.kind), role=role, token_count=step.tokens))
        messages, late = messages + late, []
        if step.kind == "calls":
            results = [_tool(PartType.TOOL_RESULT, each, step) for each in ids[: step.answered]]
            late = results if step.is_late else []
            messages += [] if step.is_late else results
    return [replace(each, occurred_at=make_message(minutes=n).occurred_at) for n, each in enumerate(messages + late)]


def _tool(part_type: PartType, call_id: str, step: Step, api_message_id: str | None = None) -> NewMessage:
    content = text_of(step.tokens, part_type.value)
    part = MessagePart(0, part_type, 0, len(content), tool_call_id=call_id, tool_name="Bash")
    role = "assistant" if part_type is PartType.TOOL_CALL else "tool"
    return make_message(content, role=role, token_count=step.tokens, parts=(part,), api_message_id=api_message_id)


async def sweep(project: ProjectStorage, conversation_id: int, policy: CompactionPolicy) -> CompactionResult:
    return await sweep_conversation(Compactor(FakeSummarizer(), policy, str), project, conversation_id)


async def add(project: ProjectStorage, conversation_id: int, messages: Sequence[NewMessage]) -> list[int]:
    stored = await project.conversations.append_messages(conversation_id, messages)
    ids = [message.message_id for message in stored]
    await project.context.append_messages(conversation_id, ids)
    return ids


async def require_law(
    project: ProjectStorage, conversation_id: int, policy: CompactionPolicy, ids: list[int]
) -> list[ContextItem]:
    """Sweep once and compare with what the context was before."""
    before = await project.context.list_items(conversation_id)
    tail = before[fresh_tail_start(before, policy) :]
    result = await sweep(project, conversation_id, policy)
    after = await project.context.list_items(conversation_id)
    graph = await read_graph(project, conversation_id)

    assert graph.message_ids == ids
    assert [item.ref for item in after[len(after) - len(tail) :]] == [item.ref for item in tail]
    assert result.tokens_before == sum(item.token_count for item in before)
    assert result.tokens_after == sum(item.token_count for item in after)
    assert result.tokens_after <= result.tokens_before
    if result.stop_reason is StopReason.DONE and result.passes == result.summaries_created:
        assert not list(iter_leaf_chunks(after, policy))
    await require_true_figures(project, conversation_id)
    return after


async def require_whole_pairs(project: ProjectStorage, conversation_id: int, before: Sequence[ContextItem]) -> None:
    """No summary parts a call from its result."""
    graph = await read_graph(project, conversation_id)
    leaf_of = {message.message_id: key for key, messages in graph.sources.items() for message in messages}
    for pair in tool_pairs(before):
        call, result = before[pair.call].ref.message_id or 0, before[pair.result].ref.message_id or 0
        assert leaf_of.get(call) == leaf_of.get(result)


async def require_pairs_in_any_budget(project: ProjectStorage, conversation_id: int, budget: int, tail: int) -> None:
    context = await assemble(project, conversation_id, budget=budget, fresh_tail_count=tail)
    blocks = [block for message in context.messages for block in message.content]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert calls == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert context.token_count <= budget or context.items_included == context.tail_items


async def require_laws(project: ProjectStorage, data: st.DataObject) -> None:
    """Two sweeps of a session that grew between them, by policies of their own."""
    conversation = await project.conversations.create_conversation(make_conversation())
    conversation_id, prefix = conversation.conversation_id, str(data.draw(st.uuids()))
    ids: list[int] = []
    for part in ("first", "second"):
        script = data.draw(st.lists(steps, min_size=1, max_size=14))
        ids += await add(project, conversation_id, to_messages(script, f"{prefix}-{part}"))
        before = await project.context.list_items(conversation_id)
        await require_law(project, conversation_id, data.draw(policies), ids)
        await require_whole_pairs(project, conversation_id, before)
        for budget in data.draw(st.lists(st.integers(1, 4000), min_size=1, max_size=3)):
            await require_pairs_in_any_budget(project, conversation_id, budget, data.draw(st.integers(0, 8)))


class TestLaws:
    @laws
    @given(data=st.data())
    async def test_hold_for_any_session_and_policy(self, project: ProjectStorage, data: st.DataObject) -> None:
        """Summaries, then the tail untouched, in order; true figures; whole pairs under any budget."""
        await require_laws(project, data)

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    @long_laws
    @given(data=st.data())
    async def test_hold_for_very_many(self, project: ProjectStorage, data: st.DataObject) -> None:
        """The same for 200 sessions."""
        await require_laws(project, data)


class TestCost:
    async def test_a_pass_asks_the_storage_a_fixed_number_of_times(self, project: ProjectStorage) -> None:
        """Eight times the messages take eight times the passes and not one more question in each."""
        policy = replace(SMALL, leaf_chunk_tokens=400, condensed_target_tokens=60)
        for count in (50, 400):
            conversation_id, _ = await start_session(project, count)
            counted = Counted(project)

            result = await sweep(cast("ProjectStorage", counted), conversation_id, policy)

            assert result.passes >= count // 8
            assert counted.calls.pop("list_items") == 1
            assert counted.calls["insert_in_place"] == result.passes
            assert counted.calls.total() <= 7 * result.passes


@dataclass
class Counted:
    """A project, its repositories or those of a transaction, which counts operations by name."""

    real: Any
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return partial(self._call, found, name) if iscoroutinefunction(found) else Counted(found, self.calls)

    async def _call(self, operation: Callable[..., Any], name: str, *args: Any, **options: Any) -> Any:
        self.calls[name] += 1
        return await operation(*args, **options)

    @asynccontextmanager
    async def _in_transaction(self) -> Any:
        self.calls["transaction"] += 1
        async with self.real.transaction() as repositories:
            yield Counted(repositories, self.calls)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._in_transaction()
