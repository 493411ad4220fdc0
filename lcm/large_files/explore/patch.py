"""Diffs and patches: files touched, lines added and removed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lcm.large_files.explore.outline import counted, outline
from lcm.large_files.explore.sample import Sample

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_MAX_FILES = 18


@dataclass(slots=True)
class _FileChange:
    name: str
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class _Reader:
    """Reads a unified diff line by line; the lengths in a hunk's head tell its lines from the next file's head."""

    files: list[_FileChange] = field(default_factory=list)
    file_count: int = 0
    hunks: int = 0
    added: int = 0
    removed: int = 0
    _file: _FileChange | None = None
    _old: str = ""
    _old_left: int = 0
    _new_left: int = 0

    def see(self, line: str) -> None:
        if self._old_left > 0 or self._new_left > 0:
            self._see_change(line)
        elif line.startswith("--- "):
            self._old = _path(line)
        elif line.startswith("+++ "):
            new = _path(line)
            self._open(self._old if new == "/dev/null" else new)
        elif (hunk := _HUNK.match(line)) and self._file:
            self.hunks += 1
            self._old_left, self._new_left = (int(each or 1) for each in hunk.groups())

    def _open(self, name: str) -> None:
        """Only the first files are kept; all are counted."""
        self._file = _FileChange(name)
        self.file_count += 1
        if self.file_count <= _MAX_FILES:
            self.files.append(self._file)

    def _see_change(self, line: str) -> None:
        if self._file is not None and line.startswith("+"):
            self._file.added += 1
            self.added += 1
            self._new_left -= 1
        elif self._file is not None and line.startswith("-"):
            self._file.removed += 1
            self.removed += 1
            self._old_left -= 1
        elif not line.startswith("\\"):
            self._old_left -= 1
            self._new_left -= 1


def _path(line: str) -> str:
    """Without the tool's prefix and what follows a tab."""
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def explore_patch(sample: Sample) -> str | None:
    reader = _Reader()
    for line in sample.iter_lines():
        reader.see(line)
    if not reader.hunks:
        return None
    files = counted(reader.file_count, "file", at_least=not sample.is_whole)
    changes = f"{reader.added:,} lines added, {reader.removed:,} removed"
    details = [f"{each.name} +{each.added} -{each.removed}" for each in reader.files]
    if reader.file_count > len(details):
        details.append(f"and {reader.file_count - len(details):,} more files")
    return outline(f"Diff: {files}, {counted(reader.hunks, 'hunk')}, {changes}", details)
