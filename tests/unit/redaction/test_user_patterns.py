"""The user's pattern file: reading, validating, adding and removing lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.errors import InvalidInput, NotFound
from lcm.redaction.scrub import MARK, Scrubber
from lcm.redaction.user_patterns import add_pattern, parse_patterns, remove_pattern, validate_pattern

FILE = "# company ids\nACME-\\d+\n\n  falcon  \r\n# end"


class TestParsePatterns:
    def test_comments_and_blank_lines_are_no_patterns(self) -> None:
        """Patterns come in order, without comments, blank lines and outer white space."""
        assert parse_patterns(FILE) == ["ACME-\\d+", "falcon"]


class TestValidatePattern:
    @pytest.mark.parametrize(
        "pattern", ["falcon", r"ACME-\d{4,}", "(?i)x|y", r"\p{Han}+", "a*", r"\bfoo", "(?P<n>a)", r"\\C"]
    )
    def test_valid_pattern_is_accepted(self, pattern: str) -> None:
        """What RE2 runs and what can match some text is accepted."""
        validate_pattern(pattern)

    @pytest.mark.parametrize(
        ("pattern", "reason"),
        [
            ("(?=ACME)", "it uses lookaround or another construct that RE2 does not have"),
            ("(?<!ACME)x", "it uses lookaround or another construct that RE2 does not have"),
            (r"(ACME)\1", "it uses a backreference or an unknown escape"),
            ("(ACME", "a closing parenthesis is missing"),
            ("ACME)", "a closing parenthesis has no opening one"),
            ("[ACME", "a closing bracket is missing"),
            ("[z-a]", "a character class has an invalid range or an unknown name"),
            ("ACME{2000}", "a repetition count is above 1000 or not in order"),
            ("*ACME", "a repetition has nothing to repeat"),
            ("ACME**", "two repetitions follow each other"),
            ("ACME\\", "it ends with a backslash"),
            (r"\C", "it matches single bytes (\\C), which may cut a character"),
            ("ACME\nx", "it spans several lines"),
            ("\ud800", "it is not valid text"),
            (" ", "it is empty"),
            ("^", "it can match only the empty text"),
            (r"\b|$", "it can match only the empty text"),
            ("(?:)", "it can match only the empty text"),
            ("a{0}", "it can match only the empty text"),
        ],
    )
    def test_refusal_says_why_without_the_pattern(self, pattern: str, reason: str) -> None:
        """A refused pattern gets one line with the reason; the pattern itself, perhaps a secret, is not in it."""
        with pytest.raises(InvalidInput) as caught:
            validate_pattern(pattern)

        assert str(caught.value) == f"The redaction pattern is refused: {reason}."


class TestAddPattern:
    def test_pattern_becomes_the_last_line(self) -> None:
        """The new line comes last, even after a line without an end, and comments stay."""
        assert add_pattern("# ids\nfalcon", "ACME-\\d+") == "# ids\nfalcon\nACME-\\d+\n"

    def test_windows_line_ends_are_kept(self) -> None:
        """A file with CRLF gets its new line with CRLF."""
        assert add_pattern("falcon\r\n", "eagle") == "falcon\r\neagle\r\n"

    def test_known_pattern_changes_nothing(self) -> None:
        """Adding twice is adding once."""
        assert add_pattern(FILE, "falcon") == FILE

    def test_leading_hash_is_escaped(self) -> None:
        """A pattern that starts with `#` is kept as a pattern, not as a comment."""
        text = add_pattern("", "#falcon")

        assert parse_patterns(text) == ["\\#falcon"]
        assert Scrubber(global_patterns=parse_patterns(text)).scrub("a #falcon").text == f"a {MARK}"

    def test_invalid_pattern_is_refused(self) -> None:
        """An invalid pattern never gets into a file."""
        with pytest.raises(InvalidInput):
            add_pattern(FILE, "(falcon")


class TestRemovePattern:
    def test_only_the_pattern_goes(self) -> None:
        """Comments, blank lines and other patterns stay as they were."""
        assert remove_pattern(FILE, "falcon") == "# company ids\nACME-\\d+\n\n# end"

    def test_unknown_pattern_is_not_found(self) -> None:
        """Removing what is not there is an error, also when a comment has the same words."""
        with pytest.raises(NotFound):
            remove_pattern(FILE, "company ids")

    @given(
        st.sampled_from(["", "falcon\n", "# ids\n\nfalcon\n"]), st.sampled_from(["eagle", "#eagle", " a+ ", r"\d{4}"])
    )
    def test_removing_undoes_adding(self, text: str, pattern: str) -> None:
        """Adding a new pattern to a file that ends its lines, then removing it, gives the file back."""
        assert remove_pattern(add_pattern(text, pattern), pattern) == text
