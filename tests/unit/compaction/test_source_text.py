from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from lcm.compaction import source_text
from lcm.domain.messages import IdentityKind, Message, Role
from lcm.domain.summaries import EscalationLevel, Summary, SummaryKind, SummaryOrigin
from tests.unit.compaction.items import AT, context, raw, summary

MESSAGE = Message(
    message_id=1,
    conversation_id=1,
    seq=0,
    role=Role.USER,
    content="Fix the build.",
    token_count=4,
    occurred_at=AT,
    created_at=AT,
    ingest_key=b"k" * 32,
    identity_kind=IdentityKind.TEXT,
    identity_occurrence=0,
    api_message_id=None,
    source_ordinal=None,
    exclusion=None,
    content_sha256=b"c" * 32,
)
SUMMARY = Summary(
    summary_key=uuid.UUID(int=1),
    summary_id="sum_00000000000000aa",
    conversation_id=1,
    kind=SummaryKind.LEAF,
    depth=0,
    content="The build was fixed.",
    token_count=5,
    earliest_at=AT,
    latest_at=AT + timedelta(minutes=46),
    descendant_count=0,
    descendant_token_count=0,
    source_message_token_count=4,
    file_ids=(),
    origin=SummaryOrigin.MODEL,
    level=EscalationLevel.NORMAL,
    model="m",
    prompt_version="1",
    superseded_by_key=None,
    created_at=datetime(2026, 3, 1, tzinfo=UTC),
)


class TestLeafText:
    def test_puts_time_and_role_over_each_message(self) -> None:
        """Messages are separated by a blank line and keep their text."""
        answer = replace(
            MESSAGE, role=Role.ASSISTANT, content="Done.\nIt builds.", occurred_at=AT + timedelta(minutes=1)
        )

        assert source_text.leaf_text([MESSAGE, answer]) == (
            "[2026-02-17 07:37 UTC] user\nFix the build.\n\n[2026-02-17 07:38 UTC] assistant\nDone.\nIt builds."
        )

    def test_times_are_utc(self) -> None:
        """A time in another zone is converted."""
        message = replace(MESSAGE, occurred_at=datetime(2026, 2, 17, 1, 0, tzinfo=timezone(timedelta(hours=2))))

        assert source_text.leaf_text([message]).startswith("[2026-02-16 23:00 UTC] user\n")

    def test_leaves_out_messages_without_content(self) -> None:
        """A record that holds only reasoning says nothing here."""
        assert source_text.leaf_text([replace(MESSAGE, content=""), replace(MESSAGE, content=" \n")]) == ""

    def test_leaves_out_the_middle_of_what_is_too_long(self) -> None:
        """Of 1,000 tokens where 30 fit, two thirds are the beginning and one is the end; short messages stay whole."""
        huge = replace(MESSAGE, role=Role.TOOL, content="a" * 3900 + "z" * 100)

        assert source_text.leaf_text([MESSAGE, huge], max_tokens=34) == (
            "[2026-02-17 07:37 UTC] user\nFix the build.\n\n[2026-02-17 07:37 UTC] tool\n"
            + "a" * 80
            + "\n[... about 970 tokens are left out here ...]\n"
            + "z" * 40
        )

    def test_leaves_out_nothing_that_fits(self) -> None:
        """Exactly the limit is allowed."""
        assert source_text.leaf_text([MESSAGE], max_tokens=4) == source_text.leaf_text([MESSAGE])


class TestLargestShare:
    @pytest.mark.parametrize(
        ("sizes", "total", "share"),
        [([], 10, 0), ([3, 4], 10, 4), ([100, 2], 10, 8), ([100, 100, 1], 11, 5), ([100, 100], 1, 0)],
    )
    def test_small_ones_leave_their_rest_to_the_large(self, sizes: list[int], total: int, share: int) -> None:
        """What all get together is never more than the total."""
        assert source_text.largest_share(sizes, total) == share


class TestCondensedText:
    def test_puts_range_and_id_over_each_summary(self) -> None:
        """Summaries are separated by a blank line."""
        later = replace(SUMMARY, summary_id="sum_00000000000000bb", content="Released.")

        assert source_text.condensed_text([SUMMARY, later]) == (
            "[2026-02-17 07:37 UTC - 2026-02-17 08:23 UTC] sum_00000000000000aa\nThe build was fixed.\n\n"
            "[2026-02-17 07:37 UTC - 2026-02-17 08:23 UTC] sum_00000000000000bb\nReleased."
        )

    def test_a_missing_range_is_the_time_of_creation(self) -> None:
        """A summary without source times shows when it was made."""
        text = source_text.condensed_text([replace(SUMMARY, earliest_at=None, latest_at=None)])

        assert text.startswith("[2026-03-01 00:00 UTC - 2026-03-01 00:00 UTC] sum_")


class TestPrevious:
    def test_a_leaf_continues_the_nearest_summary(self) -> None:
        """The most recent summary before the chunk, over messages in between."""
        items = context(summary(), summary(), raw(), raw())

        assert source_text.keys_before_leaf(items, 3) == (uuid.UUID(int=2),)
        assert source_text.keys_before_leaf(items, 0) == ()

    def test_a_condensation_of_leaves_continues_the_last_two_leaves(self) -> None:
        """Of the four items before, deeper summaries are passed over and the last two leaves taken, oldest first."""
        items = context(summary(), summary(), summary(depth=1), summary(), summary(), raw(), summary())

        assert source_text.keys_before_condensation(items, 6, 0) == (uuid.UUID(int=4), uuid.UUID(int=5))
        assert source_text.keys_before_condensation(items, 3, 0) == (uuid.UUID(int=1), uuid.UUID(int=2))

    def test_looks_at_four_items_only(self) -> None:
        """A leaf further away is no continuity."""
        items = context(summary(), *[summary(depth=1)] * 4, summary())

        assert source_text.keys_before_condensation(items, 5, 0) == ()

    def test_deeper_condensations_stand_for_themselves(self) -> None:
        """From depth 1 on nothing precedes."""
        assert source_text.keys_before_condensation(context(summary(depth=1), summary(depth=1)), 1, 1) == ()

    def test_text_is_none_without_summaries(self) -> None:
        """The texts are joined by a blank line."""
        assert source_text.previous_text([]) is None
        assert (
            source_text.previous_text([SUMMARY, replace(SUMMARY, content="Next.")]) == "The build was fixed.\n\nNext."
        )


class TestFiles:
    def test_mentioned_files_are_unique_and_in_order(self) -> None:
        """Only whole ids count: not longer ones, and not the end of another word."""
        first = replace(MESSAGE, content="[file_00000000000000bb] 看file_00000000000000aa看 file_00000000000000aaf")
        second = replace(MESSAGE, content="file_00000000000000bb myfile_00000000000000cc file_00000000000000dd.")

        assert source_text.mentioned_files([first, second]) == (
            "file_00000000000000bb",
            "file_00000000000000aa",
            "file_00000000000000dd",
        )

    def test_carried_files_are_unique_and_in_order(self) -> None:
        """A condensed summary carries the files of its children."""
        children = [replace(SUMMARY, file_ids=("b", "a")), replace(SUMMARY, file_ids=("a", "c"))]

        assert source_text.carried_files(children) == ("b", "a", "c")


class TestTimeRange:
    def test_spans_all_summaries(self) -> None:
        """Earliest of the earliest, latest of the latest, whatever the order."""
        earlier = replace(SUMMARY, earliest_at=AT - timedelta(hours=1), latest_at=AT)

        assert source_text.time_range([SUMMARY, earlier]) == (AT - timedelta(hours=1), AT + timedelta(minutes=46))
