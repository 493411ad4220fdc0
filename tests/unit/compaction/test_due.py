"""Whether a leaf pass is due, told from the newest items: the same as from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.compaction.due import is_leaf_pass_due_in
from lcm.compaction.incremental import is_leaf_pass_due
from lcm.compaction.policy import CompactionPolicy
from lcm.domain.context import ContextItem
from lcm.errors import UnknownConversation
from lcm.storage.contracts.project import ProjectStorage, Repositories
from tests.unit.compaction.items import POLICY, context, raw, summary
from tests.unit.compaction.sweeping import SMALL, start_session

ITEMS = st.builds(
    raw,
    st.integers(1, 9),
    calls=st.sampled_from(["", "", "a", "b", "ab"]),
    answers=st.sampled_from(["", "", "a", "b"]),
    api=st.sampled_from([None, "one"]),
) | st.builds(summary, depth=st.integers(0, 1))


@dataclass
class ReadContext:
    """A context that is read only; it keeps which pages were asked for."""

    items: Sequence[ContextItem]
    pages: list[int] = field(default_factory=list)

    async def list_newest(self, _conversation_id: int, *, before_position: int | None, limit: int) -> list[ContextItem]:
        found = [each for each in self.items if before_position is None or each.position < before_position]
        self.pages.append(limit)
        return found[::-1][:limit]

    async def has_raw_tokens(self, _conversation_id: int, tokens: int, *, before_position: int) -> bool:
        older = (each.token_count for each in self.items if each.position < before_position and each.is_message)
        return sum(older) >= tokens


async def is_due(items: Sequence[ContextItem], policy: CompactionPolicy) -> tuple[bool, list[int]]:
    read = ReadContext(items)
    repositories = cast("Repositories", _Repositories(read))
    return await is_leaf_pass_due_in(repositories, 1, policy), read.pages


@dataclass
class _Repositories:
    context: Any


class TestIsLeafPassDueIn:
    @given(
        items=st.lists(ITEMS, max_size=40).map(lambda each: context(*each)),
        padding=st.integers(0, 150),
        policy=st.builds(
            replace,
            st.just(POLICY),
            fresh_tail_count=st.integers(0, 8),
            fresh_tail_max_tokens=st.none() | st.integers(1, 60),
            leaf_chunk_tokens=st.sampled_from([30, 100, 400]),
        ),
    )
    async def test_is_what_all_items_say(
        self, items: list[ContextItem], padding: int, policy: CompactionPolicy
    ) -> None:
        """Whatever is paired with what, and however much lies before the pages that were read."""
        whole = context(*[raw(3)] * padding, *items)

        assert (await is_due(whole, policy))[0] is is_leaf_pass_due(whole, policy)

    async def test_reads_one_page_of_a_long_conversation(self) -> None:
        """64 of 5,000 items tell where the fresh tail starts."""
        due, pages = await is_due(context(*[raw(3)] * 5_000), POLICY)

        assert due
        assert pages == [64]

    async def test_a_result_whose_call_is_further_back(self) -> None:
        """A call from before the first page keeps everything since in the tail: nothing is due."""
        items = context(raw(1, calls="a"), *[raw(3)] * 100, raw(1, answers="a"))

        due, pages = await is_due(items, POLICY)

        assert not due
        assert pages == [64, 64]

    @pytest.mark.parametrize(("messages", "expected"), [(11, False), (12, True)])
    async def test_of_a_stored_conversation(self, project: ProjectStorage, messages: int, expected: bool) -> None:
        """Eight messages of 50 tokens outside the tail of four fill a chunk of 400."""
        conversation_id, _ = await start_session(project, messages)

        assert await is_leaf_pass_due_in(project, conversation_id, SMALL) is expected

    async def test_unknown_conversation(self, project: ProjectStorage) -> None:
        """No conversation, no answer."""
        with pytest.raises(UnknownConversation):
            await is_leaf_pass_due_in(project, 99, SMALL)
