from __future__ import annotations

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcm.assembly.budget import BudgetPolicy, Selection, select_items
from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.messages import Role
from lcm.domain.tool_pairs import tool_groups
from lcm.errors import OutOfRange


def make_item(
    number: int,
    tokens: int = 10,
    *,
    role: Role | None = Role.USER,
    api: str | None = None,
    calls: tuple[str, ...] = (),
    results: tuple[str, ...] = (),
) -> ContextItem:
    ref = ItemRef(summary_key=uuid.UUID(int=number)) if role is None else ItemRef(message_id=number + 1)
    return ContextItem(
        ordinal=number,
        position=1024 * number,
        ref=ref,
        token_count=tokens,
        occurred_at=None,
        role=role,
        api_message_id=api,
        tool_call_ids=calls,
        tool_result_ids=results,
    )


@st.composite
def contexts(draw: st.DrawFn) -> list[ContextItem]:
    ids = st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple)
    return [
        make_item(
            number,
            draw(st.integers(0, 30)),
            role=draw(st.sampled_from([None, *Role])),
            api=draw(st.sampled_from([None, "m1", "m2"])),
            calls=draw(ids),
            results=draw(ids),
        )
        for number in range(draw(st.integers(0, 14)))
    ]


POLICIES = st.builds(BudgetPolicy, st.integers(1, 200), st.integers(0, 6), st.none() | st.integers(1, 80))


class TestSelectItems:
    def test_fills_the_prefix_from_its_newest_end(self) -> None:
        """A tail of one and a budget of 35 leave room for two of the older items."""
        selection = select_items([make_item(number) for number in range(6)], BudgetPolicy(35, 1))

        assert selection == Selection(start=3, tail_start=5, token_count=30, is_final=True)

    def test_stops_at_the_first_that_does_not_fit(self) -> None:
        """A small item behind a large one is not pulled forward into the gap."""
        items = [make_item(0, 1), make_item(1, 100), make_item(2, 10), make_item(3, 10)]

        assert select_items(items, BudgetPolicy(50, 1)).start == 2

    def test_tail_is_included_over_budget(self) -> None:
        """The fresh tail alone may cost more than the budget; nothing older is added."""
        selection = select_items([make_item(number, 100) for number in range(4)], BudgetPolicy(150, 2))

        assert selection == Selection(start=2, tail_start=2, token_count=200, is_final=True)

    def test_everything_fits(self) -> None:
        """With room for all, all are included."""
        assert select_items([make_item(0), make_item(1)], BudgetPolicy(1_000)).start == 0

    def test_empty_context(self) -> None:
        """Nothing is selected from nothing."""
        assert select_items([], BudgetPolicy(10)) == Selection(0, 0, 0, is_final=False)

    def test_open_result_asks_for_older_items(self) -> None:
        """A tail that starts with a result whose call was not read yet is not final."""
        items = [make_item(0), make_item(1, role=Role.TOOL, results=("a",)), make_item(2, role=Role.ASSISTANT)]

        assert not select_items(items, BudgetPolicy(20, 2)).is_final

    def test_result_before_its_call_asks_for_older_items(self) -> None:
        """A result may belong to an older call of the same id, which changes the groups that a token bound counts."""
        items = [
            make_item(0),
            make_item(1, 30, role=Role.TOOL, results=("a",)),
            make_item(2, 5, role=Role.ASSISTANT, calls=("a",)),
            make_item(3, 30),
        ]

        assert not select_items(items, BudgetPolicy(40, 2, 40)).is_final

    @settings(max_examples=400)
    @given(contexts(), POLICIES)
    def test_a_final_choice_from_newest_items_is_the_choice_from_all(
        self, items: list[ContextItem], policy: BudgetPolicy
    ) -> None:
        """Reading newest first until the choice is final gives what reading everything gives."""
        whole = select_items(items, policy)

        for unread in range(len(items)):
            part = select_items(items[unread:], policy)
            if part.is_final:
                assert (part.start + unread, part.tail_start + unread) == (whole.start, whole.tail_start)
                assert part.token_count == whole.token_count

    @given(contexts(), POLICIES)
    def test_tail_starts_at_a_group(self, items: list[ContextItem], policy: BudgetPolicy) -> None:
        """The protected tail never starts in the middle of a tool group, whatever the limits."""
        starts = {group.start for group in tool_groups(items)} | {len(items)}

        assert select_items(items, policy).tail_start in starts


class TestBudgetPolicy:
    @pytest.mark.parametrize("budget", [0, -1, 2**53, 1.5, True])
    def test_refuses_a_budget_that_is_no_positive_safe_integer(self, budget: object) -> None:
        """Zero, negative, too large, fractional and boolean budgets are out of range."""
        with pytest.raises(OutOfRange):
            BudgetPolicy(budget).validate()  # type: ignore[arg-type]

    def test_refuses_a_tail_bound_of_zero_tokens(self) -> None:
        """A token bound of the tail is positive or absent."""
        with pytest.raises(OutOfRange):
            BudgetPolicy(100, 8, 0).validate()
