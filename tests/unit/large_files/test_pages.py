"""Pages of a stored file: places, sizes, encodings, and that nothing is lost between them."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.errors import InvalidInput, OutOfRange
from lcm.large_files.pages import FilePage, PageSize, Place, parse_place, read_page


def page(content: str | bytes, place: str = "1", *, lines: int = 200, chars: int = 10_000) -> FilePage:
    data = content.encode() if isinstance(content, str) else content
    return read_page(io.BytesIO(data), parse_place(place), PageSize(lines, chars))


def all_pages(content: str | bytes, *, lines: int, chars: int) -> list[FilePage]:
    pages = [page(content, lines=lines, chars=chars)]
    while pages[-1].next is not None:
        pages.append(page(content, pages[-1].next, lines=lines, chars=chars))
    return pages


class TestPage:
    def test_whole_lines_and_the_next_place(self) -> None:
        """As many lines as asked for, exactly as they stand."""
        assert page("a\nb\r\nc\n", lines=2) == FilePage("1", "3", "a\nb\r\n", "utf-8")
        assert page("a\nb\r\nc\n", "3", lines=2) == FilePage("3", None, "c\n", "utf-8")

    def test_a_line_that_does_not_fit_starts_the_next_page(self) -> None:
        """Lines stay whole where they can."""
        content = "a" * 60 + "\n" + "b" * 60 + "\n"

        assert page(content, chars=100) == FilePage("1", "2", "a" * 60 + "\n", "utf-8")

    def test_a_line_longer_than_a_page_is_continued(self) -> None:
        """The place tells the character."""
        content = "x" * 250 + "\nend\n"

        assert [(each.start, each.next, len(each.text)) for each in all_pages(content, lines=9, chars=100)] == [
            ("1", "1:101", 100),
            ("1:101", "1:201", 100),
            ("1:201", None, 55),
        ]

    def test_behind_the_end_is_empty(self) -> None:
        """No error, and no next page."""
        assert page("a\n", "7") == FilePage("7", None, "", "utf-8")
        assert page("abc", "1:9") == FilePage("1:9", None, "", "utf-8")
        assert page("") == FilePage("1", None, "", "utf-8")

    def test_a_character_behind_its_line_is_no_place_in_the_next(self) -> None:
        """The page starts with the following line then."""
        assert page("ab\ncd\n", "1:9").text == "cd\n"

    def test_joined_characters_are_not_parted(self) -> None:
        """An emoji of several code points stays on one page."""
        family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

        first, *_ = all_pages("x" * 98 + family * 30, lines=1, chars=100)

        assert first.text == "x" * 98

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
    def test_encodings(self, encoding: str) -> None:
        """The text comes out, without a byte order mark."""
        content = "a plain line of text\nand grüße to all\n" * 20

        assert page(content.encode(encoding)).text == content

    def test_bytes_that_are_no_text(self) -> None:
        """Their first 256 in hexadecimal, and no next page."""
        found = page(b"\x89PNG\r\n\x1a\n\0" * 100)

        assert (found.encoding, found.next, len(found.text.split("\n"))) == (None, None, 16)
        assert found.text.startswith("00000000  89 50 4e 47 0d 0a 1a 0a 00 89 50 4e 47 0d 0a 1a  .PNG......PNG...")

    def test_the_middle_of_a_long_line_costs_no_memory(self) -> None:
        """Fifty megabytes on one line are never held."""
        stream = io.BytesIO(b"a" * 50_000_000)
        tracemalloc.start()
        found = read_page(stream, Place(1, 49_999_901), PageSize())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert (len(found.text), found.next) == (100, None)
        assert peak < 3_000_000

    @given(
        content=st.text(st.sampled_from("ab\n\ré日\U0001f468\u200d"), max_size=600),
        lines=st.integers(1, 5),
        chars=st.integers(100, 130),
    )
    def test_pages_add_up(self, content: str, lines: int, chars: int) -> None:
        """Whatever their size, all of the pages in turn are the file."""
        pages = all_pages(content, lines=lines, chars=chars)

        assert "".join(each.text for each in pages) == content
        assert all(len(each.text) <= chars and each.text.count("\n") <= lines for each in pages)


class TestPlace:
    def test_is_written_as_it_is_read(self) -> None:
        """A line, or a character of one."""
        assert [str(parse_place(each)) for each in ("120", "1:20001", "7:1")] == ["120", "1:20001", "7"]

    @pytest.mark.parametrize("text", ["", "0", "1:0", "-1", "a", "1:2:3", "9" * 17, "9" * 16])
    def test_anything_else_is_refused(self, text: str) -> None:
        """With an example of what to give."""
        with pytest.raises(InvalidInput, match="for example 120 or 1:20001"):
            parse_place(text)

    @pytest.mark.parametrize(
        "size", [PageSize(0, 100), PageSize(1, 99), PageSize(100_001, 100), PageSize(1, 1_000_001)]
    )
    def test_sizes_have_limits(self, size: PageSize) -> None:
        """One that allows no progress or takes too much is refused."""
        with pytest.raises(OutOfRange):
            read_page(io.BytesIO(b"a"), Place(), size)
