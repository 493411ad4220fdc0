"""What is told of JSON, tables, configuration and markup."""

from __future__ import annotations

import json

from tests.unit.large_files.exploring import explored


class TestJson:
    def test_an_object_is_told_to_depth_two(self) -> None:
        """Top keys with their types, and the keys or the first item of what is below them."""
        value = {
            "version": 2,
            "users": [{"id": 1}, {"id": 2}],
            "meta": {"by": "ci", "tags": []},
            "ok": True,
            "no": None,
        }

        assert explored(json.dumps(value), "a.json") == [
            "JSON: an object with 5 keys",
            "version: number",
            "users: array of 2 items, first object",
            "meta: object {by string, tags array}",
            "ok: boolean",
            "no: null",
        ]

    def test_an_array_is_told_by_its_first_item(self) -> None:
        """How many items, and the keys of the first."""
        value = [{"id": number, "name": "x"} for number in range(1_500)]

        assert explored(json.dumps(value), "a.json") == [
            "JSON: an array of 1,500 items",
            "first item: object {id number, name string}",
        ]

    def test_ten_keys_are_named(self) -> None:
        """The others are counted."""
        lines = explored(json.dumps({f"k{number}": 1 for number in range(25)}), "a.json")

        assert lines[0] == "JSON: an object with 25 keys"
        assert lines[1] == "k0: number"
        assert lines[10:] == ["k9: number", "15 more keys"]

    def test_is_known_by_content_alone(self) -> None:
        """Without a name, or under one that lies."""
        assert explored('{"a": 1}')[0] == "JSON: an object with 1 key"
        assert explored('{"a": 1}', "a.csv", "text/csv")[0] == "JSON: an object with 1 key"

    def test_what_is_no_json_is_text(self) -> None:
        """Whatever its name says."""
        assert explored('{"a": 1, oops', "a.json", "application/json")[0] == "Text: 1 line"

    def test_a_byte_order_mark_is_no_fault(self) -> None:
        """UTF-8 and UTF-16 with their marks read as any other."""
        assert explored(b"\xef\xbb\xbf[1]", "a.json")[0] == "JSON: an array of 1 item"
        assert explored("[1]".encode("utf-16"), "a.json")[0] == "JSON: an array of 1 item"

    def test_one_beyond_the_read_beginning_is_counted_at_least(self) -> None:
        """Four megabytes are read."""
        first, second = explored("[" + "[1, 2]," * 700_000 + "0]", "a.json")

        assert first.startswith("JSON: an array of at least ")
        assert second == "first item: array of 2 items, first number"


class TestJsonLines:
    def test_lines_and_the_first_record(self) -> None:
        """One record a line."""
        assert explored('{"t": 1, "msg": "a"}\n{"t": 2, "msg": "b"}\n\n{"t": 3}\n', "a.jsonl") == [
            "JSON lines: 4 lines; the first record is an object with 2 keys",
            "t: number",
            "msg: string",
        ]

    def test_is_known_by_content_alone(self) -> None:
        """Several JSON values are no JSON text."""
        assert explored('{"t": 1}\n{"t": 2}\n')[0].startswith("JSON lines: 2 lines")


class TestTables:
    def test_csv(self) -> None:
        """Rows, columns, first row; a field may hold the delimiter and a line end."""
        assert explored('id,name,note\n1,"Ann, B.","two\nlines"\n2,Bob,\n', "a.csv") == [
            "CSV: 2 rows below the header",
            "3 columns: id, name, note",
            "first row: 1,Ann, B.,two lines",
        ]

    def test_other_delimiters(self) -> None:
        """Semicolons by content, tabs by name."""
        assert explored("a;b\n1;2\n", "a.csv")[1] == "2 columns: a, b"
        assert explored("a\tb\n1\t2\n", "a.tsv")[:2] == ["TSV: 1 row below the header", "2 columns: a, b"]

    def test_text_with_a_comma_is_no_table(self) -> None:
        """Rows have to be of one width."""
        assert explored("Dear all,\nno table, this, is\nreally\nnone\n", "a.csv")[0] == "Text: 4 lines"


class TestConfiguration:
    def test_yaml(self) -> None:
        """Top keys of the first document."""
        content = "name: ci\non: [push, pull]\njobs:\n  build: &b {steps: [1]}\n  test: *b\n"

        assert explored(content, "ci.yml") == ["YAML: a mapping with 3 top keys", "name, on, jobs"]

    def test_yaml_with_several_documents(self) -> None:
        """They are counted."""
        assert explored("- 1\n- a: 2\n---\nb: 1\n", "a.yaml") == ["YAML: a sequence of 2 items in 2 documents"]

    def test_toml(self) -> None:
        """Tables with the number of their keys."""
        assert explored('title = "x"\n[project]\nname = "a"\nversion = "1"\n[tool.x]\ny = 1\n', "a.toml") == [
            "TOML: 3 top keys",
            "[project] 2 keys, [tool] 1 key, title",
        ]

    def test_ini(self) -> None:
        """Sections with the number of their keys."""
        assert explored("[core]\nbare = false\npath\n[user]\nname = A\n", "a.ini") == [
            "INI: 2 sections",
            "[core] 2 keys, [user] 1 key",
        ]


class TestMarkup:
    def test_xml(self) -> None:
        """The root and its children."""
        content = '<?xml version="1.0"?><feed xmlns="urn:x"><title>t</title><entry><id/></entry><entry/></feed>'

        assert explored(content, "feed.xml") == [
            "XML: root feed with 3 child elements, 5 elements in all",
            "root attributes: xmlns",
            "children: title (1), entry (2)",
        ]

    def test_html(self) -> None:
        """Title, elements, headings."""
        content = "<!DOCTYPE html><html><title>Home</title><h1>Hello <b>you</b></h1><p>a<p>b</html>"

        assert explored(content) == [
            "HTML: 1 line",
            "title: Home",
            "elements: p (2), b (1), h1 (1), html (1), title (1)",
            "h1: Hello you",
        ]


class TestUntold:
    def test_an_empty_file(self) -> None:
        """Whatever its name."""
        assert explored("", "a.json") == ["An empty file"]

    def test_equal_bytes_are_told_equally(self) -> None:
        """Nothing depends on the moment or on order."""
        content = "<a>" + "".join(f"<b{number % 7}/>" for number in range(1_000)) + "</a>"

        assert len({tuple(explored(content, "a.xml")) for _ in range(5)}) == 1
