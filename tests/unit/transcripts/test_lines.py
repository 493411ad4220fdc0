"""Reading transcript lines: numbers, offsets, repairs, and a reason for every line that is no record."""

from __future__ import annotations

import hashlib
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.transcripts.lines import Line, iter_lines, tail_digest

_PIECES = [b'{"a":1}', b"", b"  ", b"nonsense", b'{"b":"\\ud83d"}', b"[1]", b'{"c":"\xff"}']


def write(folder: Path, data: bytes) -> Path:
    path = folder / "session.jsonl"
    path.write_bytes(data)
    return path


def read(folder: Path, data: bytes, *, offset: int = 0, line: int = 0) -> list[Line]:
    return list(iter_lines(write(folder, data), offset=offset, line=line))


class TestIterLines:
    def test_lines_are_numbered_from_zero_with_the_offset_after_their_newline(self, tmp_path: Path) -> None:
        """Two records of nine and eight bytes end at 9 and 17."""
        lines = read(tmp_path, b'{"a": 1}\n{"b":2}\n')

        assert lines == [Line(0, 9, {"a": 1}, None, 0, 9), Line(1, 17, {"b": 2}, None, 0, 8)]

    def test_blank_lines_count_but_yield_nothing(self, tmp_path: Path) -> None:
        """A record after two blank lines has number 2."""
        assert read(tmp_path, b"\n  \r\n{}\n") == [Line(2, 8, {}, None, 0, 3)]

    def test_crlf_belongs_to_the_line(self, tmp_path: Path) -> None:
        """The offset after a line that ends with CRLF is after both bytes."""
        assert [line.end_offset for line in read(tmp_path, b"{}\r\n{}\r\n")] == [4, 8]

    def test_a_byte_order_mark_at_the_start_is_passed_over(self, tmp_path: Path) -> None:
        """A file that begins with a BOM gives its first record."""
        assert read(tmp_path, b'\xef\xbb\xbf{"a":1}\n') == [Line(0, 11, {"a": 1}, None, 0, 11)]

    def test_an_empty_file_has_no_lines(self, tmp_path: Path) -> None:
        """No bytes, no lines; a lone BOM is none either."""
        assert read(tmp_path, b"") == []
        assert read(tmp_path, b"\xef\xbb\xbf") == []

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"hello", "not JSON"),
            (b"\0\0\0\0", "not JSON"),
            (b'{"a":NaN}', "not JSON"),
            (b'{"a":-Infinity}', "not JSON"),
            (b'{"a":1} x', "not JSON"),
            (b"[1, 2]", "JSON but not an object"),
            (b'"text"', "JSON but not an object"),
            (b"[" * 100_000, "nested too deeply"),
            (b'{"a":' * 100_000, "nested too deeply"),
            (b'{"a":' + b"9" * 5000 + b"}", "a number with too many digits"),
        ],
    )
    def test_a_line_that_is_no_record_has_a_reason(self, tmp_path: Path, data: bytes, reason: str) -> None:
        """Whatever is wrong with a line, it is skipped with one safe sentence and the next one is read."""
        lines = read(tmp_path, data + b'\n{"next":1}\n')

        assert (lines[0].record, lines[0].skipped, lines[0].end_offset) == (None, reason, len(data) + 1)
        assert lines[1].record == {"next": 1}

    def test_a_pretty_printed_file_is_skipped_line_by_line(self, tmp_path: Path) -> None:
        """JSON over many lines has no record and does not fail."""
        lines = read(tmp_path, b'{\n  "a": [\n    1\n  ]\n}\n')

        assert [line.skipped for line in lines] == [
            "not JSON",
            "not JSON",
            "JSON but not an object",
            "not JSON",
            "not JSON",
        ]

    def test_integers_beyond_64_bits_are_kept(self, tmp_path: Path) -> None:
        """A hundred digits are still an exact integer."""
        assert read(tmp_path, b'{"a":' + b"9" * 100 + b"}\n")[0].record == {"a": 10**100 - 1}

    def test_a_number_beyond_a_double_becomes_its_text(self, tmp_path: Path) -> None:
        """1e999 is JSON, and the record with it is not lost."""
        assert read(tmp_path, b'{"a":1e999,"b":2.5}\n')[0].record == {"a": "1e999", "b": 2.5}


class TestRepairs:
    def test_invalid_utf8_becomes_the_replacement_character(self, tmp_path: Path) -> None:
        """Two invalid bytes are two repairs; a U+FFFD that was there before is none."""
        lines = read(tmp_path, b'{"a\xff":"x\xfey\xef\xbf\xbd"}\n')

        assert (lines[0].record, lines[0].repairs) == ({"a\ufffd": "x\ufffdy\ufffd"}, 2)

    def test_nul_becomes_visible_in_values_and_keys(self, tmp_path: Path) -> None:
        """Raw and escaped U+0000 become U+2400 at any depth, each counted."""
        lines = read(tmp_path, b'{"k\\u0000":[{"a":"x\\u0000y\\u0000"}],"raw":"p\0q"}\n')

        assert (lines[0].record, lines[0].repairs) == ({"k\u2400": [{"a": "x\u2400y\u2400"}], "raw": "p\u2400q"}, 4)

    def test_lone_surrogates_are_replaced_and_pairs_are_kept(self, tmp_path: Path) -> None:
        """A high half at the end, a low half alone and a true pair: two repairs."""
        lines = read(tmp_path, rb'{"a":"x\ud83d","b":"\uDE00y","c":"\ud83d\ude00"}' + b"\n")

        assert (lines[0].record, lines[0].repairs) == ({"a": "x\ufffd", "b": "\ufffdy", "c": "\U0001f600"}, 2)

    def test_a_backslash_before_u0000_is_text(self, tmp_path: Path) -> None:
        """A doubly escaped NUL is six characters of text and stays."""
        lines = read(tmp_path, rb'{"a":"\\u0000"}' + b"\n")

        assert (lines[0].record, lines[0].repairs) == ({"a": "\\u0000"}, 0)


class TestLastLine:
    def test_a_whole_record_without_newline_is_a_record(self, tmp_path: Path) -> None:
        """Its offset is after its last byte."""
        assert read(tmp_path, b'{"a":1}\n{"b":2}')[1] == Line(1, 15, {"b": 2}, None, 0, 7)

    @pytest.mark.parametrize("tail", [b'{"b":', b"12", b'{"b":"\xf0\x9f'])
    def test_an_incomplete_one_is_not_consumed(self, tmp_path: Path, tail: bytes) -> None:
        """What may still grow into a record is reported, and the offset stays before it."""
        assert read(tmp_path, b"{}\n" + tail)[1] == Line(1, 3, None, "incomplete last line", 0, len(tail))

    def test_an_incomplete_line_is_read_again_when_it_is_whole(self, tmp_path: Path) -> None:
        """Going on at the reported offset with its line number gives the record."""
        [half] = read(tmp_path, b'{"a":')

        assert read(tmp_path, b'{"a":1}\n', offset=half.end_offset, line=0) == [Line(0, 8, {"a": 1}, None, 0, 8)]

    @pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
    def test_a_line_end_that_came_later_is_no_line(self, tmp_path: Path, line_end: bytes) -> None:
        """After a record consumed without newline, its late line end neither counts nor shifts the numbers."""
        lines = read(tmp_path, b"{}" + line_end + b'{"a":1}\n', offset=2, line=1)

        assert [(line.line, line.record) for line in lines] == [(1, {"a": 1})]
        assert lines[0].end_offset == 10 + len(line_end)

    def test_a_blank_line_after_a_newline_counts_on_resume(self, tmp_path: Path) -> None:
        """A newline that follows a newline is a blank line of its own."""
        assert [line.line for line in read(tmp_path, b"{}\n\n{}\n", offset=3, line=1)] == [2]

    def test_an_offset_beyond_the_end_gives_nothing(self, tmp_path: Path) -> None:
        """A file that shrank is no error here."""
        assert read(tmp_path, b"{}\n", offset=99, line=5) == []


class TestResume:
    @given(pieces=st.lists(st.sampled_from(_PIECES), max_size=8), line_end=st.sampled_from([b"\n", b"\r\n"]))
    def test_reading_on_at_any_line_equals_reading_at_once(
        self, tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], line_end: bytes
    ) -> None:
        """The lines after an `end_offset` are the same whether read at once or resumed there."""
        data = line_end.join(pieces)
        path = write(tmp_path_factory.mktemp("resume"), data)
        whole = list(iter_lines(path))

        for index, line in enumerate(whole):
            is_consumed = line.skipped != "incomplete last line"
            rest = iter_lines(path, offset=line.end_offset, line=line.line + is_consumed)
            assert list(rest) == whole[index + is_consumed :]


class TestHugeLine:
    @pytest.mark.parametrize(("character", "width"), [("x", 1), ("\U0001f600", 4)])
    def test_memory_stays_below_three_times_the_decoded_text(self, tmp_path: Path, character: str, width: int) -> None:
        """A line of 30 million characters, once ASCII and once with one emoji in it."""
        size = 30_000_000
        path = write(tmp_path, b'{"text":"' + character.encode() + b"y" * size + b'"}\n')

        tracemalloc.start()
        text_chars = sum(len(line.record["text"]) for line in iter_lines(path) if line.record is not None)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert text_chars == size + 1
        assert peak < 3 * width * size


class TestTailDigest:
    def test_it_covers_the_64_kib_before_the_offset(self, tmp_path: Path) -> None:
        """Bytes further back and bytes after the offset do not matter."""
        path = write(tmp_path, b"a" * 10 + b"b" * 65_536 + b"c" * 10)

        assert tail_digest(path, 65_546) == hashlib.sha256(b"b" * 65_536).digest()

    def test_a_short_beginning_is_covered_whole(self, tmp_path: Path) -> None:
        """Before offset 3 there are three bytes, before 0 none."""
        path = write(tmp_path, b"abcdef")

        assert tail_digest(path, 3) == hashlib.sha256(b"abc").digest()
        assert tail_digest(path, 0) == hashlib.sha256(b"").digest()
