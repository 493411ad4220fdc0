from __future__ import annotations

import json

import pytest

from lcm.integrity.faults import FaultKind, FaultList, fault
from lcm.integrity.verify import Verification


class TestFaultList:
    def test_lists_a_bounded_number_of_each_kind(self) -> None:
        """What is beyond the limit is counted in one fault at the end; other kinds are not affected."""
        found = FaultList(limit=2)
        found.extend(fault(FaultKind.MISSING_MESSAGE, f"message 1:{seq}", "It is gone.") for seq in range(5))
        found.extend([fault(FaultKind.WRONG_DEPTH, "summary sum_1", "Its depth is 3.")])

        assert [(each.kind.value, each.object) for each in found.all()] == [
            ("missing_message", "message 1:0"),
            ("missing_message", "message 1:1"),
            ("wrong_depth", "summary sum_1"),
            ("missing_message", "3 more"),
        ]

    @pytest.mark.parametrize("kind", list(FaultKind))
    def test_every_kind_has_a_remedy(self, kind: FaultKind) -> None:
        """One sentence tells what to do about it."""
        assert fault(kind, "x", "y").remedy.endswith(".")


class TestVerification:
    def test_is_one_json_object(self) -> None:
        """Plain values under the documented names."""
        found = fault(FaultKind.SEARCH_INDEX, "search index", "Message 3 is not in the search index.")
        proof = Verification(ok=False, content_digest="ab", checked={"messages": 3}, faults=(found,))

        assert json.loads(json.dumps(proof.to_json())) == {
            "ok": False,
            "content_digest": "ab",
            "checked": {"messages": 3},
            "faults": [
                {
                    "kind": "search_index",
                    "object": "search index",
                    "finding": "Message 3 is not in the search index.",
                    "remedy": "Run `lcm verify --rebuild-search`; the stored texts are not affected.",
                }
            ],
        }
