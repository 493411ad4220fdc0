"""What is told of code, patches, logs, prose and media."""

from __future__ import annotations

import struct
import zlib

import pytest

from tests.unit.large_files.exploring import explored


class TestCode:
    def test_python(self) -> None:
        """Imports, signatures, and the methods of classes."""
        content = (
            "import os\nfrom a.b import c, d\n\nclass Store(Base):\n    def __init__(self): ...\n"
            "    async def find(self, key: str, *, limit=5) -> list[str]:\n        return []\n\n"
            "def main(*args, **kw) -> int:\n    import late\n"
        )

        assert explored(content, "store.py") == [
            "Python: 10 lines, 2 imports, 3 declarations",
            "imports: os; a.b (c, d)",
            "class Store(Base)",
            ".find(key, *, limit) -> list[str]",
            "main(*args, **kw) -> int",
        ]

    def test_python_of_another_version(self) -> None:
        """What its parser refuses is read line by line."""
        assert explored("import os\nprint 'x'\ndef f(a):\n    pass\n", "old.py") == [
            "Python: 4 lines, 1 import, 1 declaration",
            "imports: import os",
            "def f(a)",
        ]

    @pytest.mark.parametrize(
        ("name", "content", "imports", "declarations"),
        [
            (
                "a.ts",
                "import {a} from './a';\nexport interface P {\n  x: number\n}\nexport const f = (a: P) => a;\n",
                "imports: import {a} from './a'",
                ["export interface P", "export const f = (a: P) => a"],
            ),
            (
                "a.go",
                'import (\n\t"fmt"\n)\n\nfunc Main(a int) error {\n\treturn nil\n}\ntype T struct {\n}\n',
                'imports: import (; "fmt"',
                ["func Main(a int) error", "type T struct"],
            ),
            (
                "a.rs",
                "use std::fs;\npub struct S;\nimpl S {\n    pub fn new(a: u8) -> Self { S }\n}\n",
                "imports: use std::fs",
                ["pub struct S", "impl S", "pub fn new(a: u8) -> Self"],
            ),
            (
                "A.java",
                "import java.util.List;\npublic final class A {\n    private int f(List<String> a) {\n    }\n}\n",
                "imports: import java.util.List",
                ["public final class A", "private int f(List<String> a)"],
            ),
            (
                "a.c",
                "#include <stdio.h>\nstatic int add(int a, int b)\n{\n    return call(a);\n}\n",
                "imports: #include <stdio.h>",
                ["static int add(int a, int b)"],
            ),
            (
                "a.rb",
                "require 'set'\nclass A\n  def b(c)\n  end\nend\n",
                "imports: require 'set'",
                ["class A", "def b(c)"],
            ),
            ("run.sh", "source lib.sh\nbuild() {\n  make\n}\n", "imports: source lib.sh", ["build()"]),
            ("a.sql", "\\i base.sql\nCREATE TABLE t (\n  a int\n);\n", "imports: \\i base.sql", ["CREATE TABLE t ("]),
        ],
    )
    def test_other_languages(self, name: str, content: str, imports: str, declarations: list[str]) -> None:
        """Imports and declarations by line."""
        assert explored(content, name)[1:] == [imports, *declarations]

    def test_a_script_is_known_by_its_first_line(self) -> None:
        """Without a name."""
        assert explored("#!/usr/bin/env python3\nimport os\n")[0] == "Python: 2 lines, 1 import, 0 declarations"

    def test_prose_under_the_name_of_code_is_text(self) -> None:
        """Nothing is made up."""
        assert explored("Just some words.\nMore of them.\n", "a.rs")[0] == "Text: 2 lines"


class TestPatch:
    def test_files_and_lines(self) -> None:
        """A removed line that looks like a file's head is a removed line."""
        content = (
            "diff --git a/x.sql b/x.sql\n--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- old remark\n+-- new\n same\n"
            "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
        )

        assert explored(content) == [
            "Diff: 2 files, 2 hunks, 1 lines added, 2 removed",
            "x.sql +1 -1",
            "gone +0 -1",
        ]


class TestLog:
    def test_times_levels_and_errors(self) -> None:
        """Range of time, count of levels, the first errors, the last line."""
        content = (
            "2026-02-17T07:37:00Z INFO start\n2026-02-17T07:38:00Z WARNING slow\n"
            "2026-02-17T07:39:00Z ERROR no space left\n2026-02-17T07:40:00Z INFO end\n"
        )

        assert explored(content, "app.log") == [
            "Log: 4 lines",
            "from 2026-02-17T07:37:00 to 2026-02-17T07:40:00",
            "levels: INFO 2, ERROR 1, WARN 1",
            "2026-02-17T07:39:00Z ERROR no space left",
            "last: 2026-02-17T07:40:00Z INFO end",
        ]


class TestProse:
    def test_markdown(self) -> None:
        """Headings outside code."""
        assert explored("# Title #\ntext\n```\n# no heading\n```\n## Part\n", "a.md") == [
            "Markdown: 6 lines, 2 headings",
            "# Title",
            "## Part",
        ]

    def test_text_is_told_by_head_middle_and_tail(self) -> None:
        """With its number of lines."""
        lines = explored("\n".join(f"This is line {number} of the text." for number in range(1_000)))

        assert lines[0] == "Text: 1,000 lines"
        assert lines[1].startswith("begins: This is line 0 of the text. This is line 1 ")
        assert lines[2].startswith("middle: This is line 502 of the text. This is line 503 ")
        assert lines[3].endswith("This is line 999 of the text.")

    def test_other_scripts_and_encodings(self) -> None:
        """Nothing is cut inside a character, whatever the encoding."""
        assert explored("日本語\n" * 1_000)[1].startswith("begins: 日本語 日本語")
        assert explored("sehr viele grüße\n".encode("latin-1") * 100)[1].startswith("begins: sehr viele grüße sehr")
        assert "\ufffd" not in "".join(explored("añb😀\n" * 5_000))


class TestMedia:
    def test_a_picture(self) -> None:
        """Kind and dimensions from its header."""
        assert explored(png(640, 480), "shot.png", "image/png") == ["image/png, 640 x 480 pixels, 45 bytes"]

    def test_a_lying_type(self) -> None:
        """The bytes decide."""
        assert explored(png(2, 3), "a.txt", "text/plain") == [
            "image/png, 2 x 3 pixels, 45 bytes",
            "declared as text/plain, but the bytes are image/png",
        ]

    def test_a_broken_picture(self) -> None:
        """What the header lacks is not made up."""
        assert explored(b"\x89PNG\r\n\x1a\n\0\0", "a.png") == ["image/png, 10 bytes"]

    def test_a_document_that_looks_like_text(self) -> None:
        """A PDF is none."""
        assert explored(b"%PDF-1.7\nplain words\n", "a.pdf") == ["application/pdf, 21 bytes"]

    def test_unknown_bytes(self) -> None:
        """Their declared type is told as such."""
        assert explored(bytes(range(256)) * 4, "a.bin", "application/x-thing") == [
            "Bytes of an unknown kind (declared as application/x-thing), 1,024 bytes"
        ]


def png(width: int, height: int) -> bytes:
    """A picture's signature, its header and its end."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + header
        + struct.pack(">II", zlib.crc32(header), 0)
        + b"IEND"
        + (struct.pack(">I", zlib.crc32(b"IEND")))
    )
