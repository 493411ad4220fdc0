"""Files made to hurt: each is told in a few words, within bounds of memory and tokens."""

from __future__ import annotations

import io
import itertools
import string
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.large_files.explore.explorer import explore
from lcm.text import require_safe
from lcm.tokens import estimate_tokens
from tests.unit.large_files.exploring import explored

_LETTERS = string.ascii_lowercase
ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in itertools.pairwise(_LETTERS)
)
ENTITY_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in itertools.pairwise(_LETTERS))
    + "]><z>&z;</z>"
)
EXTERNAL = '<?xml version="1.0"?><!DOCTYPE z [<!ENTITY f SYSTEM "file:///etc/passwd">]><z>&f;</z>'
HOSTILE = {
    "deep arrays": ("a.json", "[" * 3_000_000),
    "deep objects": ("a.json", '{"a":' * 500_000),
    "unclosed string": ("a.json", '["' + "a" * 4_000_000),
    "alias bomb": ("a.yaml", ALIAS_BOMB),
    "deep yaml": ("a.yaml", "- " * 100_000),
    "deep flow": ("a.yaml", "a: " + "[" * 100_000),
    "entity bomb": ("a.xml", ENTITY_BOMB),
    "external entity": ("a.xml", EXTERNAL),
    "deep elements": ("a.xml", "<a>" * 1_000_000),
    "many attributes": ("a.xml", "<a " + " ".join(f"a{number}=''" for number in range(50_000)) + "/>"),
    "deep toml": ("a.toml", "a = " + "[" * 100_000),
    "dotted toml": ("a.toml", "a." * 100_000 + "b = 1"),
    "unclosed quote": ("a.csv", 'a,b\n"' + "x," * 1_000_000),
    "open comments": ("a.html", "<!--<title>" * 100_000),
    "deep python": ("a.py", "x = " + "(" * 100_000),
    "long sum": ("a.py", "x = " + "1+" * 100_000 + "1"),
    "long attribute": ("a.py", "def f(a: " + "a." * 90_000 + "b): pass"),
    "line feeds as java": ("A.java", "\n" * 2_000_000),
    "open quotes as javascript": ("a.js", '"\\' * 1_000_000),
    "declarations without end": ("a.cs", "public a a a a a(\n" * 100_000),
    "hunk of no lines": ("a.diff", "--- a\n+++ a\n@@ -1,999999999 +1,999999999 @@\n" + "\n" * 100_000),
}

SUFFIXES = [""]
SUFFIXES += [".json", ".jsonl", ".csv", ".tsv", ".yaml", ".toml", ".ini", ".xml", ".html"]
SUFFIXES += [".py", ".js", ".c", ".diff", ".log", ".md", ".png"]


class TestHostileFiles:
    @pytest.mark.parametrize("kind", HOSTILE)
    def test_is_told_within_bounds(self, kind: str) -> None:
        """At most about 200 tokens, whatever the file holds."""
        name, content = HOSTILE[kind]
        summary = "\n".join(explored(content, name))

        require_safe("summary", summary)
        assert 0 < estimate_tokens(summary) <= 230

    def test_aliases_are_not_followed(self) -> None:
        """A YAML bomb is its 26 top keys."""
        assert explored(ALIAS_BOMB, "a.yaml")[0] == "YAML: a mapping with 26 top keys"

    def test_entities_are_not_expanded(self) -> None:
        """A document that declares any is not read further."""
        assert explored(ENTITY_BOMB, "a.xml") == ["XML: declares entities; not read further"]
        assert explored(EXTERNAL, "a.xml") == ["XML: declares entities; not read further"]

    def test_depth_is_counted_not_followed(self) -> None:
        """Three million open brackets are one item."""
        assert explored(HOSTILE["deep arrays"][1], "a.json") == [
            "JSON: an array of at least 1 item",
            "first item: array of 1 item, first array",
        ]

    def test_one_line_of_fifty_megabytes(self) -> None:
        """Its beginning is read; of it all nothing but its size."""
        stream = io.BytesIO(b"a" * 50_000_000)
        tracemalloc.start()
        summary = explore(stream, name="a.txt")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert summary.split("\n")[0] == "Text: 1 line"
        assert peak < 20_000_000

    def test_bytes_that_are_no_characters(self) -> None:
        """A few of them in a text are replaced or read as Latin-1, and nothing fails."""
        assert explored(b"some \xff words\n" * 100, "a.txt")[0] == "Text: 100 lines"
        assert explored(b"ok\n" * 30_000 + b"\xff\xfe\n", "a.txt")[0] == "Text: 30,001 lines"

    def test_control_characters_do_not_get_through(self) -> None:
        """Neither terminal sequences nor zero bytes."""
        summary = "\n".join(explored('{"\\u0000\\u001b[31mred": 1, "\\ud800": 2}', "a.json"))

        assert "\x1b" not in summary
        require_safe("summary", summary)

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        data=st.one_of(
            st.binary(max_size=300),
            st.text("[]{}<>\"':,-=+@#&*!?/\\.ab1 \n\t\r", max_size=200).map(str.encode),
        ),
        suffix=st.sampled_from(SUFFIXES),
        mime_type=st.sampled_from([None, "", "text/csv", "image/png", "application/json; charset=x", "\ud800"]),
    )
    def test_any_bytes_under_any_name(self, data: bytes, suffix: str, mime_type: str | None) -> None:
        """A summary that can be stored comes out."""
        summary = explore(io.BytesIO(data), name=f"a{suffix}", mime_type=mime_type)

        require_safe("summary", summary)
        assert 0 < estimate_tokens(summary) <= 230
