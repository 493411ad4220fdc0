import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.errors import OutOfRange, UnsafeText
from lcm.text import clip, one_line, require_safe, require_safe_integer

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
JOINING = st.sampled_from(["a", "e\u0301", FAMILY, "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "한", "\u0301"])


class TestRequireSafe:
    @pytest.mark.parametrize("text", ["", "plain", "é漢😀", "line\nbreak\t"])
    def test_ordinary_text_passes(self, text: str) -> None:
        """Any Unicode text without U+0000 may be stored."""
        require_safe("content", text)

    def test_nul_is_refused(self) -> None:
        """U+0000 is refused and the error names the field, not the text."""
        with pytest.raises(UnsafeText) as caught:
            require_safe("title", "secret\0")

        assert str(caught.value) == "The field title contains U+0000; remove or replace it and try again."

    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
    def test_a_lone_surrogate_is_refused(self, text: str) -> None:
        """What no encoding can write is refused."""
        with pytest.raises(UnsafeText, match="The field content contains a lone surrogate"):
            require_safe("content", text)


class TestRequireSafeInteger:
    @pytest.mark.parametrize("value", [0, 1, 9007199254740991])
    def test_safe_integers_pass(self, value: int) -> None:
        """0 to 2^53-1 keeps its value in every JSON client."""
        require_safe_integer("seq", value)

    @pytest.mark.parametrize("value", [-1, 9007199254740992, True, 1.0, "1", None])
    def test_anything_else_is_refused(self, value: object) -> None:
        """Values outside the range, booleans, floats and text are out of range."""
        with pytest.raises(OutOfRange, match="The field seq is out of range; allowed is 0 to 9007199254740991"):
            require_safe_integer("seq", value)

    def test_the_minimum_can_be_moved(self) -> None:
        """A field may allow -1 as 'before the first'."""
        require_safe_integer("after_seq", -1, minimum=-1)
        with pytest.raises(OutOfRange, match="allowed is 1 to"):
            require_safe_integer("limit", 0, minimum=1)


class TestClip:
    @pytest.mark.parametrize(
        ("text", "max_chars", "clipped"),
        [
            ("abcdef", 3, "abc"),
            ("abc", 3, "abc"),
            ("abc", 0, ""),
            ("abc", -1, ""),
            ("xe\u0301y", 2, "x"),
            ("xe\u0301y", 3, "xe\u0301"),
            ("a" + FAMILY + "b", 4, "a"),
            ("a" + FAMILY + "b", 6, "a" + FAMILY),
            ("a\U0001f44d\U0001f3fd", 2, "a"),
            ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 3, "\U0001f1e9\U0001f1ea"),
            ("a\u2764\ufe0f", 2, "a"),
            ("a\u1112\u1161\u11ab", 3, "a"),
        ],
    )
    def test_the_cut_moves_back_to_a_safe_place(self, text: str, max_chars: int, clipped: str) -> None:
        """Accents, joined emoji, skin tones, flags and Hangul syllables are kept whole or left out."""
        assert clip(text, max_chars) == clipped

    def test_endless_joined_text_is_cut_at_the_limit(self) -> None:
        """Looking for a safe place is bounded: a thousand accents in a row are cut hard."""
        assert clip("a" + "\u0301" * 1000, 500) == "a" + "\u0301" * 499

    @given(st.text(), st.integers(min_value=0, max_value=30))
    def test_the_result_is_a_beginning_within_the_limit(self, text: str, max_chars: int) -> None:
        """Clipping gives a prefix of at most `max_chars` code points, and clipping it again changes nothing."""
        clipped = clip(text, max_chars)

        assert text.startswith(clipped)
        assert len(clipped) <= max_chars
        assert clip(clipped, max_chars) == clipped

    @given(st.lists(JOINING).map("".join), st.integers(min_value=0, max_value=30))
    def test_what_follows_the_cut_never_belongs_to_what_precedes_it(self, text: str, max_chars: int) -> None:
        """Neither a combining mark follows the cut nor a joiner precedes it."""
        clipped = clip(text, max_chars)

        rest = text[len(clipped) :]
        if clipped and rest:
            assert not unicodedata.combining(rest[0])
            assert not clipped.endswith("\u200d")
            assert not rest.startswith(("\u200d", "\U0001f3fd"))


class TestOneLine:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("  two\n\n lines\t", "two lines"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("a\x00b\x08c\x7f", "abc"),
            ("\x9b31mred", "red"),
            ("a \x00 b", "a b"),
            ("user\u202etxt.exe", "usertxt.exe"),
            ("a\ud800b", "ab"),
            ("line\u2028break", "line break"),
            (FAMILY, FAMILY),
            ("\x1b", ""),
        ],
    )
    def test_only_printable_text_on_one_line_remains(self, text: str, line: str) -> None:
        """Escape sequences, controls and direction marks go; white space collapses; emoji stay whole."""
        assert one_line(text, 200) == line

    def test_the_line_is_clipped(self) -> None:
        """At most `max_chars` code points remain, without a space at the end."""
        assert one_line("one two three", 8) == "one two"

    def test_text_behind_much_white_space_is_found(self) -> None:
        """A long beginning that vanishes does not hide what comes later."""
        assert one_line(" " * 100_000 + "here", 20) == "here"

    def test_a_long_text_gives_the_same_line_as_its_beginning(self) -> None:
        """Reading only a part of a long text does not show."""
        assert one_line("\x1b[31mred " * 50_000, 11) == "red red red"

    @given(st.text(), st.integers(min_value=0, max_value=40))
    def test_the_result_is_safe_to_print(self, text: str, max_chars: int) -> None:
        """The line holds no control character or surrogate, and is within the limit."""
        line = one_line(text, max_chars)

        assert len(line) <= max_chars
        assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in line)
