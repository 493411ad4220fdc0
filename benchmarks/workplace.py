"""The folder of a run: transcripts and stores that several lines use, each made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import processes, transcripts
from benchmarks.sizes import Sizes

DATABASE = "db.sqlite"


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a run keeps its things, and how large they are.

    A folder that is given to a later run saves making them again; the transcripts always fit, the stores only as long
    as lcm's schema stays.
    """

    folder: Path
    sizes: Sizes

    @property
    def environment(self) -> dict[str, str]:
        """Of measured processes; they have no home yet."""
        return processes.clean_environment(self.folder)

    def environment_of(self, home: Path) -> dict[str, str]:
        return {**self.environment, "LCM_HOME": str(home)}

    def corpus(self, messages: int) -> Path:
        """Transcripts of this many messages in sessions of `sizes.per_session`."""
        per_session = self.sizes.per_session
        return self._made(
            f"corpus-{messages}-{per_session}",
            lambda folder: transcripts.write_sessions(folder, messages, per_session),
        )

    def long_session(self, messages: int) -> Path:
        """A folder with the transcript of one session."""
        return self._made(
            f"session-{messages}", lambda folder: transcripts.write_sessions(folder, messages, messages, seed=2)
        )

    def huge_line(self) -> Path:
        """A transcript of one huge line."""
        size_bytes = int(self.sizes.huge_line_mb * 1e6)

        def write(folder: Path) -> None:
            folder.mkdir()
            transcripts.write_huge_line(folder / "huge.jsonl", size_bytes)

        return self._made(f"huge-{size_bytes}", write) / "huge.jsonl"

    def home_of(self, transcript_folder: Path) -> Path:
        """A home into which these transcripts were imported; to be read, not changed."""
        return self._made(f"home-{transcript_folder.name}", lambda home: self.import_into(home, transcript_folder))

    def import_into(self, home: Path, transcript_folder: Path) -> processes.Usage:
        """`lcm import` as a process of its own."""
        return processes.run(processes.lcm("import", str(transcript_folder), "--json"), self.environment_of(home))

    def copy_of(self, home: Path, name: str) -> Path:
        """A copy that may be changed; one of that name which was there before is gone."""
        target = self.scratch(name)
        shutil.copytree(home, target)
        return target

    def scratch(self, name: str) -> Path:
        """A path where nothing is."""
        path = self.folder / "scratch" / name
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(exist_ok=True)
        return path

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        """The folder of that name; it gets the name when it is complete."""
        target = self.folder / name
        if not target.exists():
            unfinished = self.scratch(f"unfinished-{name}")
            make(unfinished)
            unfinished.replace(target)
        return target


def database_of(home: Path) -> Path:
    """The database of a home with one project."""
    [database] = home.glob(f"projects/*/{DATABASE}")
    return database


def stored_bytes(home: Path) -> int:
    """Bytes of the database, with a log that was not folded in."""
    return sum(path.stat().st_size for path in database_of(home).parent.glob(f"{DATABASE}*"))
