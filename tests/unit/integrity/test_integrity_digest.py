from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from lcm.integrity.content_digest import ProjectDigest, message_digest, message_key
from tests.unit.integrity.integrity_rows import message_row

digests = st.lists(st.binary(min_size=32, max_size=32), max_size=30)


def summed(found: list[bytes]) -> str:
    project = ProjectDigest()
    for each in found:
        project.add(each)
    return project.hexdigest()


class TestProjectDigest:
    @given(digests)
    def test_is_sha256_over_the_sorted_digests(self, found: list[bytes]) -> None:
        """The definition, literally."""
        assert summed(found) == hashlib.sha256(b"".join(sorted(found))).hexdigest()

    @given(digests)
    def test_does_not_depend_on_order(self, found: list[bytes]) -> None:
        """Messages imported in the opposite order give the same digest."""
        assert summed(found) == summed(found[::-1])

    def test_counts_equal_messages(self) -> None:
        """A message that is there twice is not the same as once."""
        assert summed([b"a" * 32]) != summed([b"a" * 32, b"a" * 32])


class TestMessageKey:
    def test_is_the_ingest_key(self) -> None:
        """A record with an id of its own is known by it everywhere."""
        assert message_key(message_row(), "session-1") == b"k" * 32

    def test_of_text_does_not_depend_on_the_salt(self) -> None:
        """An ingest key made with the project's salt differs between projects; the key of the digest does not."""
        first = message_row(identity_kind="text", ingest_key=b"a" * 32)
        second = message_row(identity_kind="text", ingest_key=b"b" * 32)

        assert message_key(first, "session-1") == message_key(second, "session-1")

    def test_of_text_tells_sessions_and_occurrences(self) -> None:
        """The same words of another session, or said again, are another message."""
        row = message_row(identity_kind="text")
        again = message_row(identity_kind="text", identity_occurrence=1)

        assert len({message_key(row, "a"), message_key(row, "b"), message_key(again, "a")}) == 3


class TestMessageDigest:
    def test_tells_the_order_of_files(self) -> None:
        """Files count in part order."""
        first, second = b"1" * 32, b"2" * 32

        assert message_digest(b"k", b"c", [first, second]) != message_digest(b"k", b"c", [second, first])
