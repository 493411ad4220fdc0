"""Which files are transcripts, and who wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lcm.transcripts.discover import UnreadablePath, client_folders, client_of, find_transcripts


def make(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


class TestFindTranscripts:
    def test_every_layout_below_a_folder_in_sorted_order(self, tmp_path: Path) -> None:
        """Flat files, nested ones, subagents; other files are none."""
        expected = [
            make(tmp_path / "a.jsonl"),
            make(tmp_path / "agent-1.jsonl"),
            make(tmp_path / "a/subagents/agent-2.jsonl"),
            make(tmp_path / "b/2026/02/rollout-x.jsonl"),
        ]
        make(tmp_path / "a/subagents/agent-2.meta.json")

        assert list(find_transcripts([tmp_path])) == expected

    def test_a_file_is_given_once(self, tmp_path: Path) -> None:
        """Named twice, or by a link."""
        path = make(tmp_path / "a.jsonl")
        (tmp_path / "b.jsonl").hardlink_to(path)
        (tmp_path / "c.jsonl").symlink_to(path)

        assert list(find_transcripts([path, tmp_path, path])) == [path]

    def test_a_named_file_may_have_any_name(self, tmp_path: Path) -> None:
        """The person knows."""
        path = make(tmp_path / "backup.txt")

        assert list(find_transcripts([path])) == [path]

    @pytest.mark.parametrize("name", ["none.jsonl", "a.jsonl/b.jsonl", "x\0y"])
    def test_what_is_not_there_has_a_reason(self, tmp_path: Path, name: str) -> None:
        """Also below a file, and under a name no file can have."""
        make(tmp_path / "a.jsonl")
        [found] = find_transcripts([tmp_path / name])

        assert isinstance(found, UnreadablePath)
        assert found.path == tmp_path / name

    def test_a_link_to_nothing_has_a_reason(self, tmp_path: Path) -> None:
        """It is told, the rest is found."""
        (tmp_path / "a.jsonl").symlink_to(tmp_path / "gone")
        path = make(tmp_path / "b.jsonl")

        assert list(find_transcripts([tmp_path])) == [
            UnreadablePath(tmp_path / "a.jsonl", "no such file or folder"),
            path,
        ]

    def test_a_link_to_itself_has_a_reason(self, tmp_path: Path) -> None:
        """A loop is not followed."""
        (tmp_path / "a.jsonl").symlink_to(tmp_path / "a.jsonl")

        assert list(find_transcripts([tmp_path])) == [UnreadablePath(tmp_path / "a.jsonl", "the file cannot be read")]


class TestClientFolders:
    @pytest.mark.parametrize(
        ("client", "expected"),
        [
            ("auto", ["claude/projects", "codex/sessions"]),
            ("claude", ["claude/projects"]),
            ("codex", ["codex/sessions"]),
        ],
    )
    def test_those_that_exist(self, tmp_path: Path, client: str, expected: list[str]) -> None:
        """Of both clients or of one."""
        for folder in ("claude/projects", "codex/sessions"):
            (tmp_path / folder).mkdir(parents=True)
        found = client_folders(tmp_path / "claude", tmp_path / "codex", client)

        assert found == [tmp_path / name for name in expected]


class TestClientOf:
    @pytest.mark.parametrize(
        ("record", "client"),
        [
            ({"type": "session_meta", "payload": {"id": "x"}}, "codex"),
            ({"type": "response_item", "payload": {}}, "codex"),
            ({"id": "x", "timestamp": "2025-09-01T00:00:00Z", "instructions": None}, "codex"),
            ({"record_type": "state"}, "codex"),
            ({"type": "user", "message": {}}, "claude"),
            ({"type": "summary", "summary": "x"}, "claude"),
            ({"type": "queue-operation", "payload": 1}, "claude"),
            ({"type": [], "payload": 1}, "claude"),
            ({"type": {"a": 1}, "payload": 1}, "claude"),
        ],
    )
    def test_the_first_record_tells(self, tmp_path: Path, record: dict[str, Any], client: str) -> None:
        """Whatever the file is called."""
        assert client_of(make(tmp_path / "x.jsonl", record)) == client

    def test_lines_that_are_no_record_are_passed_over(self, tmp_path: Path) -> None:
        """Damaged ones at the beginning do not decide."""
        path = make(tmp_path / "x.jsonl", [1], {"type": "session_meta", "payload": {}})

        assert client_of(path) == "codex"

    def test_a_file_without_any_record_is_read_as_claudes(self, tmp_path: Path) -> None:
        """Its parser names every line."""
        assert client_of(make(tmp_path / "x.jsonl", *([1] * 60))) == "claude"
