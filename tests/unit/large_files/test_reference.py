"""The line that stands for a file, and the summary below it."""

from __future__ import annotations

from lcm.large_files.reference import mentioned_files, reference, referenced_files, with_summaries

A, B = "file_" + "a" * 16, "file_" + "b" * 16
LINE_A = reference(A, name="a.csv", mime_type="text/csv", size_bytes=12)
LINE_B = reference(B, name=None, mime_type=None, size_bytes=3)


class TestReference:
    def test_fields(self) -> None:
        """Id, name, type and size on one line; a missing field is left out."""
        assert f"[lcm file {A} | a.csv | text/csv | 12 bytes]" == LINE_A
        assert f"[lcm file {B} | 3 bytes]" == LINE_B

    def test_any_name_is_found_again(self) -> None:
        """Brackets, bars and line ends in a name do not hide the reference."""
        line = reference(A, name="x] | 1 bytes]\n|[y" * 20, mime_type="a/b\nc", size_bytes=1)

        assert referenced_files(f"see {line} there") == (A,)
        assert "\n" not in line

    def test_only_a_whole_reference_counts(self) -> None:
        """An id alone is a mention."""
        assert referenced_files(f"{A} and [lcm file {B}") == ()
        assert mentioned_files(f"{A} and [lcm file {B}") == (A, B)


class TestSummaries:
    def test_stand_below_the_first_reference(self) -> None:
        """Once for each file; a file without one keeps its line alone."""
        text = f"see {LINE_A} and {LINE_B}, again {LINE_A}"

        assert with_summaries(text, {A: "CSV: 2 rows\nmore"}) == (
            f"see {LINE_A}\nCSV: 2 rows\nmore and {LINE_B}, again {LINE_A}"
        )

    def test_nothing_changes_without_any(self) -> None:
        """The same text comes back."""
        assert with_summaries(LINE_A, {}) == LINE_A
        assert with_summaries("no file", {A: "x"}) == "no file"
