"""The laws of scrubbing, its coordinates, JSON values, and texts made to be slow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lcm.errors import InvalidInput
from lcm.redaction.scrub import MARK, JsonValue, Replacement, Scrubber, map_offset

TOKEN = "ghp_" + "a1B2" * 9
SCRUBBER = Scrubber()
#: Patterns chosen to feed on their own marks, to cut marks, and to match at edges.
HOSTILE = Scrubber(
    global_patterns=[r"\b\d\d", r"\].", r".\[", r"^x", r"y$", r"RED", r"z*"],
    project_patterns=[r"\](?s:.)*q", r"(?m)^-.*$"],
)
PIECES = [
    TOKEN, MARK, "[REDACTED", "REDACTED]", "]", "[", "password=", 'password: "', "hunter2x", '"', "'", "\\", "\\n",
    "\n", "\r\n", " ",
    "AKIA" + "Q3EGV7ZK2MN5PT6X", "Bearer ", "postgres://a:", "@h", "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", "1234567", "xyzq", "-", "密码", "😀", "é", "\ud800",
    "token", ":", "=", "--password ", ";",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join)
scrubbers = st.sampled_from([SCRUBBER, HOSTILE])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def _shape(value: JsonValue) -> Any:
    if isinstance(value, dict):
        return [_shape(child) for child in value.values()]
    if isinstance(value, list):
        return tuple(_shape(child) for child in value)
    return "text" if isinstance(value, str) else value


class TestLaws:
    @given(scrubbers, texts)
    @settings(max_examples=400, deadline=None)
    @example(SCRUBBER, f"password=[REDACTED]{TOKEN}")
    @example(HOSTILE, "0123456789" * 20)
    @example(HOSTILE, "[REDACTED]abc")
    def test_scrubbing_twice_equals_once(self, scrubber: Scrubber, text: str) -> None:
        """A scrubbed text holds nothing more to scrub."""
        once = scrubber.scrub(text).text

        assert scrubber.scrub(once).text == once
        assert scrubber.scrub(once).replacements == ()

    @given(scrubbers, texts)
    @settings(max_examples=300, deadline=None)
    def test_only_the_replaced_ranges_change(self, scrubber: Scrubber, text: str) -> None:
        """The output is the input with each range replaced by the mark; ranges are sorted, disjoint and counted."""
        scrubbed = scrubber.scrub(text)
        expected, position = "", 0
        for replacement in scrubbed.replacements:
            assert position <= replacement.start < replacement.end
            expected += text[position : replacement.start] + MARK
            position = replacement.end

        assert scrubbed.text == expected + text[position:]
        assert sum(scrubbed.counts.values()) == len(scrubbed.replacements)

    @given(scrubbers, texts)
    @settings(max_examples=200, deadline=None)
    def test_offsets_map_monotonically(self, scrubber: Scrubber, text: str) -> None:
        """Mapped offsets never fall, starts never pass ends, and the last is the output's length."""
        scrubbed = scrubber.scrub(text)
        starts = [map_offset(scrubbed.replacements, offset) for offset in range(len(text) + 1)]
        ends = [map_offset(scrubbed.replacements, offset, is_end=True) for offset in range(len(text) + 1)]

        assert starts == sorted(starts)
        assert ends == sorted(ends)
        assert all(start <= end for start, end in zip(starts, ends, strict=True))
        assert starts[-1] == ends[-1] == len(scrubbed.text)

    @given(scrubbers, json_values)
    @settings(max_examples=200, deadline=None)
    def test_json_keeps_its_shape(self, scrubber: Scrubber, value: JsonValue) -> None:
        """Lists, objects, numbers and truth values stay, in order; a second time changes nothing."""
        scrubbed, _ = scrubber.scrub_json(value)

        assert _shape(scrubbed) == _shape(value)
        assert json.loads(json.dumps(scrubbed)) == scrubbed
        assert scrubber.scrub_json(scrubbed)[0] == scrubbed


class TestScrubber:
    def test_clean_text_is_returned_as_it_is(self) -> None:
        """Text without secrets comes back without replacements and without counts."""
        scrubbed = SCRUBBER.scrub("nothing here")

        assert (scrubbed.text, scrubbed.replacements, scrubbed.counts) == ("nothing here", (), {})

    def test_offsets_are_code_points_of_the_input(self) -> None:
        """Characters of several bytes before and between secrets do not shift the ranges."""
        text = f"密码😀{TOKEN}é{TOKEN}"

        assert SCRUBBER.scrub(text).replacements == (Replacement(3, 43, "built_in"), Replacement(44, 84, "built_in"))

    def test_each_category_is_counted(self) -> None:
        """Built-in rules, global and project patterns are counted apart."""
        scrubber = Scrubber(global_patterns=[r"ACME-\d+"], project_patterns=["falcon"])

        scrubbed = scrubber.scrub(f"{TOKEN} ACME-17 falcon falcon")

        assert scrubbed.text == f"{MARK} {MARK} {MARK} {MARK}"
        assert scrubbed.counts == {"built_in": 1, "global": 1, "project": 2}

    def test_overlap_is_owned_by_the_lowest_rule(self) -> None:
        """Overlapping matches become one replacement in the category that comes first."""
        scrubber = Scrubber(global_patterns=["use ghp_a1"], project_patterns=[r"B2 now"])

        scrubbed = scrubber.scrub(f"please use {TOKEN} now")

        assert scrubbed.text == f"please {MARK}"
        assert scrubbed.counts == {"built_in": 1}

    def test_what_a_replacement_uncovers_is_found_in_input_coordinates(self) -> None:
        """A pattern that matches only beside a mark joins the replacement it grew from."""
        scrubber = Scrubber(global_patterns=["secret one"], project_patterns=[r"\] two"])

        scrubbed = scrubber.scrub("a secret one two b")

        assert scrubbed.text == f"a {MARK} b"
        assert scrubbed.replacements == (Replacement(2, 16, "global"),)

    def test_empty_matches_are_ignored(self) -> None:
        """A pattern that can match nothing redacts only what it really matches."""
        assert Scrubber(global_patterns=["x*"]).scrub("axxb").text == f"a{MARK}b"

    def test_invalid_pattern_is_refused(self) -> None:
        """A pattern that RE2 cannot run stops construction, named by place, not by text."""
        with pytest.raises(InvalidInput) as caught:
            Scrubber(global_patterns=["fine"], project_patterns=["fine", "(?=ACME)x"])

        assert str(caught.value) == (
            "The project redaction pattern 2 is refused: "
            "it uses lookaround or another construct that RE2 does not have."
        )

    def test_version_names_the_rule_set(self) -> None:
        """Equal patterns have equal versions; another pattern, or the same in the other list, has another."""
        plain, other = Scrubber().version, Scrubber(global_patterns=["a"]).version

        assert Scrubber().version == plain
        assert len({plain, other, Scrubber(project_patterns=["a"]).version}) == 3


class TestScrubJson:
    def test_value_is_judged_with_its_key(self) -> None:
        """A string under a secret name goes, alone or in a list; the same string elsewhere stays."""
        value: JsonValue = {"password": "hunter2x", "note": "hunter2x", "api_keys": ["ab12cd34ef56"], "count": 3}

        assert SCRUBBER.scrub_json(value) == (
            {"password": MARK, "note": "hunter2x", "api_keys": [MARK], "count": 3},
            {"built_in": 2},
        )

    def test_headers_are_judged_with_their_key(self) -> None:
        """A credential in an object of headers goes without its scheme."""
        value: JsonValue = {"Authorization": "token ab12cd34ef56ab78", "X-Api-Key": "ab12cd34ef56"}

        assert SCRUBBER.scrub_json(value)[0] == {"Authorization": f"token {MARK}", "X-Api-Key": MARK}

    def test_prose_and_references_under_a_secret_name_stay(self) -> None:
        """Help texts, variable references and numbers under a secret name are no secrets."""
        value: JsonValue = {"password": "Must be 12 characters", "token": "${TOKEN_1}", "secret": True, "api_key": 5}

        assert SCRUBBER.scrub_json(value) == (value, {})

    def test_keys_are_scrubbed_and_stay_distinct(self) -> None:
        """Two secret keys become two keys."""
        value: JsonValue = {TOKEN: 1, TOKEN + "x": 2, "plain": 3}

        assert SCRUBBER.scrub_json(value) == ({MARK: 1, f"{MARK}#2": 2, "plain": 3}, {"built_in": 2})

    def test_the_given_value_is_not_changed(self) -> None:
        """Scrubbing copies; the caller's value keeps its strings."""
        value: JsonValue = {"list": [{"token": "ab12cd34ef56"}]}

        SCRUBBER.scrub_json(value)

        assert value == {"list": [{"token": "ab12cd34ef56"}]}

    @pytest.mark.parametrize("depth", [200, 20_000])
    def test_deep_nesting_is_walked(self, depth: int) -> None:
        """A value nested far beyond the recursion limit is scrubbed."""
        value: JsonValue = TOKEN
        for _ in range(depth):
            value = [value]

        scrubbed, counts = SCRUBBER.scrub_json(value)
        for _ in range(depth):
            assert isinstance(scrubbed, list)
            scrubbed = scrubbed[0]

        assert (scrubbed, counts) == (MARK, {"built_in": 1})


class TestMapOffset:
    @pytest.mark.parametrize(
        ("offset", "start", "end"),
        [
            (0, 0, 0),
            (2, 2, 2),
            (3, 2, 12),
            (5, 12, 12),
            (6, 13, 13),
            (7, 14, 14),
            (20, 14, 24),
            (47, 24, 24),
            (48, 25, 25),
        ],
    )
    def test_offset_moves_with_the_marks(self, offset: int, start: int, end: int) -> None:
        """Inside a range a start goes to the mark's start and an end to its end; outside both move alike."""
        replacements = (Replacement(2, 5, "built_in"), Replacement(7, 47, "global"))

        assert map_offset(replacements, offset) == start
        assert map_offset(replacements, offset, is_end=True) == end


class TestHostileTexts:
    @pytest.mark.parametrize("unit", ["a", "password=", "\\", "密", "-----BEGIN PRIVATE KEY-----"])
    def test_a_megabyte_of_one_thing_is_scrubbed(self, unit: str) -> None:
        """Repetition cannot make the rules slow: a megabyte comes back, and is stable."""
        text = unit * (1_000_000 // len(unit))

        once = SCRUBBER.scrub(text).text

        assert SCRUBBER.scrub(once).text == once

    @pytest.mark.parametrize(
        "unit",
        [
            "A", "0", "=", "-", '"', "[", "a.", "password: ", 'password="', "password = a1b2c3 ", "--password ",
            "secret:",
            "token/", "https://", "https://a:", "eyJ", "eyJa.", "-----BEGIN PRIVATE KEY-----\nMIIE", "curl -u a ",
            "machine login a ", "<password>", "name: token value: ", "AKIA", MARK, "sk-ant-", "Bearer ", "password:a:",
        ],
    )  # fmt: skip
    def test_every_beginning_of_a_rule_may_repeat(self, unit: str) -> None:
        """What begins many rules and completes none is scrubbed and stable, too."""
        once = SCRUBBER.scrub(unit * 8_000).text

        assert SCRUBBER.scrub(once).text == once

    def test_self_feeding_pattern_comes_to_an_end(self) -> None:
        """A pattern that matches again beside each of its marks does not eat the text one character a pass."""
        scrubbed = Scrubber(global_patterns=[r"\b\d\d"]).scrub("12" * 100_000 + " words\nnext line")

        assert scrubbed.text == f"{MARK} words\nnext line"
