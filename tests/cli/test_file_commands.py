"""`lcm describe` and `lcm grep` on stored files, in real homes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.engine.sessions import SESSION, assistant, user, write

LINES = "".join(f"{number:04d} some words of a rather long report\n" for number in range(4_000))


@pytest.fixture
def with_file(cli: Cli, tmp_path: Path) -> tuple[Cli, str]:
    """A home with one session that holds a large file, and the file's id."""
    asked = user(1, f'Read <file name="report.txt" mime="text/plain">{LINES}</file>', cwd=str(cli.folder))
    path = write(tmp_path / "t" / "session.jsonl", asked, assistant(2, "Done.", cwd=str(cli.folder)))
    assert cli.inside("import", path).code == 0
    hit = cli.inside("grep", "report", "--scope", "files", "--json").json["hits"][0]
    return cli, str(hit["id"])


class TestDescribeFile:
    def test_pages_lead_through_the_file(self, with_file: tuple[Cli, str]) -> None:
        """The JSON of each page tells where the next one starts, until there is none."""
        cli, file_id = with_file
        text, place = "", "1"
        while place:
            arguments = ("--from", place, "--lines", "100000", "--chars", "30001", "--json")
            page = cli.inside("describe", file_id, *arguments).json["page"]
            text, place = text + page["text"], page["next"]

        assert text == LINES

    def test_shows_what_it_holds_and_how_to_go_on(self, with_file: tuple[Cli, str]) -> None:
        """Facts, summary and page on stdout; the next command on stderr."""
        cli, file_id = with_file
        run = cli.inside("describe", file_id, "--from", "10", "--lines", "2")

        assert run.code == 0
        assert "Text: 4,000 lines\nbegins: 0000 some words of a rather long report" in run.out
        assert run.out.endswith(
            "\n\n0009 some words of a rather long report\n0010 some words of a rather long report\n"
        )
        assert run.err == f"The next page: lcm describe {file_id} --from 12\n"

    def test_bytes_that_are_gone(self, with_file: tuple[Cli, str]) -> None:
        """The row is told all the same, and the exit code says that something is missing."""
        cli, file_id = with_file
        (path,) = cli.home.glob(f"projects/*/files/{file_id}*")
        path.unlink()
        run = cli.inside("describe", file_id, "--json")

        assert (run.code, run.json["page"], run.json["file"]["file_id"]) == (1, None, file_id)
        assert run.error == run.json["problem"] == "The bytes of this file are gone from the project's folder."

    @pytest.mark.parametrize("arguments", [("--from", "0"), ("--from", "x"), ("--lines", "0"), ("--chars", "99")])
    def test_wrong_places_and_sizes(self, invoke: Callable[..., tuple[int, str]], arguments: tuple[str, str]) -> None:
        """Are errors of usage."""
        code, error = invoke("describe", "file_0123456789abcdef", *arguments)

        assert code == 2
        assert error.splitlines()[-1].startswith(f"lcm: Invalid value for '{arguments[0]}'")


class TestGrepFiles:
    def test_a_hit_names_the_line_for_describe(self, with_file: tuple[Cli, str]) -> None:
        """The line of the hit is the place where `describe` starts."""
        cli, file_id = with_file
        (hit,) = cli.inside("grep", "^2999 ", "--mode", "regex", "--scope", "all", "--json").json["hits"]
        page = cli.inside("describe", file_id, "--from", str(hit["line"]), "--lines", "1", "--json").json["page"]

        assert (hit["kind"], hit["id"], hit["line"], hit["file_name"]) == ("file", file_id, 3000, "report.txt")
        assert page["text"] == "2999 some words of a rather long report\n"

    def test_is_printed_with_file_line_and_message(self, with_file: tuple[Cli, str]) -> None:
        """What a person needs to go on."""
        cli, file_id = with_file
        run = cli.inside("grep", "1234", "--scope", "files")

        assert run.out.startswith(f"{file_id}  report.txt, line 1,235, in message 1:0  2026-")
        assert run.out.endswith("\n      1234 some words of a rather long report\n")

    def test_only_one_conversation(self, with_file: tuple[Cli, str]) -> None:
        """Named by a number, or the beginning of its session; an unknown one is an error."""
        cli, _ = with_file

        for name in ("1", SESSION[:8]):
            assert (
                cli.inside("grep", "report", "--scope", "files", "--conversation", name, "--json").json["match_count"]
                == 1
            )
        assert cli.inside("grep", "report", "--conversation", "77").code == 1
