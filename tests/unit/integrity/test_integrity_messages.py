from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from lcm.integrity.faults import Fault
from lcm.integrity.messages import check_content, check_place, check_sequence, recomputed_digest
from lcm.storage.contracts.integrity import MessageRow
from tests.unit.integrity.integrity_rows import key, live_leaf, message_row, part_row


def kinds(found: Iterable[Fault]) -> list[str]:
    return [each.kind.value for each in found]


def content_kinds(row: MessageRow) -> list[str]:
    return kinds(check_content(row, recomputed_digest(row)))


class TestCheckContent:
    def test_whole_message_has_no_fault(self) -> None:
        """Known values, one part over the content, the digest of both."""
        assert content_kinds(message_row()) == []

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"content": "jello"}, ["changed_message"]),
            ({"role": "tool"}, ["changed_message"]),
            ({"role": "boss"}, ["invalid_value", "changed_message"]),
            ({"token_count": -1}, ["invalid_value"]),
            ({"identity_kind": "guess"}, ["invalid_value"]),
            ({"content": None}, ["unreadable_message"]),
            ({"parts": None}, ["unreadable_message"]),
            ({"parts": ()}, ["changed_message"]),
            ({"parts": (part_row(1),)}, ["missing_part"]),
            ({"parts": (part_row(0, 0, 6),)}, ["wrong_part_span", "changed_message"]),
            ({"parts": (part_row(0, 3, 2),)}, ["wrong_part_span", "changed_message"]),
            ({"parts": (part_row(0, None, None),)}, ["wrong_part_span", "changed_message"]),
            ({"parts": (part_row(0, 0, 5, text="too"),)}, ["wrong_part_span", "changed_message"]),
            ({"parts": (part_row(part_type="smell"),)}, ["invalid_value"]),
        ],
    )
    def test_damage_is_named(self, fields: dict[str, Any], expected: list[str]) -> None:
        """Each kind of damage gives its faults, in order of checking."""
        assert content_kinds(message_row(**fields)) == expected


class TestCheckPlace:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"item_count": 1}, []),
            ({"item_count": 0, "live_leaves": (live_leaf(1),)}, []),
            ({"item_count": 0, "exclusion": "meta"}, []),
            ({"item_count": 1, "live_leaves": (live_leaf(1, conversation_id=2),)}, []),
            ({"item_count": 0}, ["message_in_no_place"]),
            ({"item_count": 0, "live_leaves": (live_leaf(9),)}, ["message_in_no_place"]),
            ({"item_count": 0, "live_leaves": (live_leaf(1, conversation_id=2),)}, ["message_in_no_place"]),
            ({"item_count": 2}, ["message_in_two_places"]),
            ({"item_count": 1, "live_leaves": (live_leaf(1),)}, ["message_in_two_places"]),
            ({"item_count": 1, "exclusion": "rewound"}, ["message_in_two_places"]),
            ({"item_count": 0, "live_leaves": (live_leaf(1),), "exclusion": "meta"}, ["message_in_two_places"]),
            ({"item_count": 0, "live_leaves": (live_leaf(9),), "exclusion": "meta"}, ["message_in_two_places"]),
            ({"item_count": 0, "live_leaves": (live_leaf(1), live_leaf(2))}, ["duplicate_live_upper"]),
        ],
    )
    def test_one_place_is_right(self, fields: dict[str, Any], expected: list[str]) -> None:
        """In context, below an anchored leaf of its own conversation, or excluded: one of them, not more."""
        anchored = {key(1), key(2)}

        assert kinds(check_place(message_row(**fields), anchored)) == expected


class TestCheckSequence:
    def test_next_number_is_right(self) -> None:
        """The number that follows the last one."""
        assert list(check_sequence(3, 7, 7)) == []

    def test_gap_names_the_first_missing(self) -> None:
        """The object is the message that should have come."""
        found = list(check_sequence(3, 7, 9))

        assert [(each.kind.value, each.object) for each in found] == [("missing_message", "message 3:7")]

    def test_number_again_is_a_fault(self) -> None:
        """A number below the expected one was given before."""
        assert kinds(check_sequence(3, 7, 6)) == ["repeated_seq"]
