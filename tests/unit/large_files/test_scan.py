"""Words and patterns in the text of one file: lines, borders of blocks, encodings, bounds."""

from __future__ import annotations

import io
import re
import tracemalloc

import pytest

from lcm.large_files.scan import FileSearch, LineMatch, ScanBudget, find_in_file

MEGABYTE = 1024 * 1024


def budget(bytes_left: int = 1 << 40, seconds: float = 1_000.0) -> ScanBudget:
    return ScanBudget(bytes_left, seconds)


def find(content: str | bytes, *literals: str, pattern: str | None = None) -> LineMatch | None:
    data = content.encode() if isinstance(content, str) else content
    match = None
    if pattern is not None:
        compiled = re.compile(pattern)
        match = lambda text: found.start() if (found := compiled.search(text)) else None  # noqa: E731
    return find_in_file(io.BytesIO(data), FileSearch(literals, match), budget())


class TestWords:
    def test_the_first_line_with_a_word(self) -> None:
        """ASCII letters match either case; the place is in the text given."""
        assert find("one\ntwo\nThe Needle here\nneedle\n", "NEEDLE") == LineMatch(3, "The Needle here", 4)

    def test_all_words_must_occur(self) -> None:
        """On any lines; one that holds all of them comes first."""
        assert find("a needle\nsome hay\n", "needle", "hay") == LineMatch(1, "a needle", 2)
        assert find("a needle\nsome hay\nhay, needle\n", "needle", "hay") == LineMatch(3, "hay, needle", 5)
        assert find("a needle\n", "needle", "hay") is None

    def test_words_in_different_blocks(self) -> None:
        """A file is searched as one text."""
        content = "needle\n" + "x\n" * MEGABYTE + "hay\n"

        assert find(content, "needle", "hay") == LineMatch(1, "needle", 0)

    def test_a_word_on_the_border_of_two_blocks(self) -> None:
        """In a line, and in a line longer than any block."""
        lines = "x" * (MEGABYTE - 10) + "\n" + "a needle in it\n"
        one_line = "x" * (2 * MEGABYTE - 3) + "needle" + "x" * MEGABYTE

        assert find(lines, "needle") == LineMatch(2, "a needle in it", 2)
        found = find(one_line, "needle")
        assert found is not None
        assert (found.line, found.text[found.place : found.place + 6]) == (1, "needle")

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
    def test_encodings(self, encoding: str) -> None:
        """A word is found in whatever encoding the file has."""
        content = "a plain line of text\n" * 10 + "und grüße an uns\n"

        assert find(content.encode(encoding), "grüße") == LineMatch(11, "und grüße an uns", 4)

    def test_other_scripts(self) -> None:
        """Text without spaces is found anywhere; only ASCII letters have two cases."""
        assert find("データベースの全文検索\n", "全文") == LineMatch(1, "データベースの全文検索", 7)
        assert find("ÄRGER\n", "ärger") is None

    def test_bytes_that_are_no_text(self) -> None:
        """Have no lines."""
        assert find(b"\0needle\n", "needle") is None


class TestPatterns:
    def test_matches_within_a_line(self) -> None:
        """Anchors hold at every line, and no match goes on to the next."""
        assert find("x a1\nb22\r\n", pattern=r"^b\d+$") == LineMatch(2, "b22", 0)
        assert find("a\nb\n", pattern=r"a\sb") is None

    def test_an_empty_line(self) -> None:
        """Is a line; what follows the last line end is none."""
        assert find("a\n\nb\n", pattern="^$") == LineMatch(2, "", 0)
        assert find("a\nb\n", pattern="^$") is None

    def test_literals_of_the_pattern_preselect(self) -> None:
        """They are looked for in either case, the pattern decides."""
        assert find("NEEDLE 1\nneedle 2\n", "needle", pattern=r"needle \d") == LineMatch(2, "needle 2", 0)


class TestBounds:
    def test_a_spent_budget_ends_the_scan(self) -> None:
        """And it is known afterwards."""
        spent = budget(bytes_left=MEGABYTE)
        content = io.BytesIO(b"x\n" * MEGABYTE + b"needle\n")

        assert find_in_file(content, FileSearch(("needle",)), spent) is None
        assert spent.is_spent

    def test_no_time_left(self) -> None:
        """Nothing is read."""
        assert find_in_file(io.BytesIO(b"needle\n"), FileSearch(("needle",)), budget(seconds=0)) is None

    def test_one_long_line_is_not_held(self) -> None:
        """Fifty megabytes without a line end take a few megabytes of memory."""
        stream = io.BytesIO(b"a" * 50_000_000 + b"needle")
        tracemalloc.start()
        found = find_in_file(stream, FileSearch(("needle",)), budget())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert found is not None
        assert peak < 12_000_000
