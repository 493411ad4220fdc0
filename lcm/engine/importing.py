"""Brings a transcript file into its project: reads what is new, prepares it, writes it batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lcm.domain.ingest import Checkpoint, IngestCounts, Source
from lcm.domain.records import (
    MessageRecord,
    ParsedItem,
    Rewind,
    SessionFact,
    SkippedLine,
    SubagentLink,
    UnusedRecord,
)
from lcm.engine.prepare import Preparer
from lcm.engine.writer import Batch, Writer
from lcm.errors import IdentityConflict
from lcm.identity.project import project_root
from lcm.storage.contracts.project import ProjectStorage
from lcm.transcripts.reading import HistoryIsNeeded, ReadLine, TranscriptReader, first_cwd, is_still_valid

#: A batch ends at whichever comes first.
BATCH_MESSAGES = 500
BATCH_BYTES = 8 * 1024 * 1024
#: Another process may move the checkpoint while we read; each time it did some of our work.
_MAX_CONFLICTS = 1000


@dataclass(slots=True)
class FileReport:
    """What one file gave; `root` is the project it went to."""

    path: Path
    client: str
    root: str
    counts: IngestCounts = field(default_factory=IngestCounts)
    skipped: list[SkippedLine] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    conversation_ids: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """How the importer reaches a project: opened once per root, with its own secret rules."""

    open_project: Callable[[str], Awaitable[ProjectStorage]]
    preparer_for: Callable[[str], Preparer]


class Importer:
    """Imports files; every file may be given any number of times."""

    def __init__(self, access: ProjectAccess, *, root: str | None = None) -> None:
        self._access = access
        self._root = root

    async def import_file(self, path: Path, client: str) -> FileReport:
        """Read what is new in a file into its project.

        Raises:
            OSError: the file cannot be read.
            LcmError: the store refused; batches written before it stay.
        """
        root = self._root or root_of(path, client)
        project = await self._access.open_project(root)
        report = FileReport(path, client, root)
        importing = _FileImport(project, self._access.preparer_for(root), report)
        await importing.run()
        return report


def root_of(path: Path, client: str) -> str:
    """The project of a file: that of its first conversation's first working directory, else the file's own folder."""
    return project_root(first_cwd(path, client) or str(path.absolute().parent))


class _FileImport:
    def __init__(self, project: ProjectStorage, preparer: Preparer, report: FileReport) -> None:
        self._project = project
        self._preparer = preparer
        self._report = report

    async def run(self) -> None:
        salt = await self._project.ingest.get_identity_salt()
        writer = Writer(self._project, self._report.client, salt)
        for _ in range(_MAX_CONFLICTS):
            source = await self._source()
            try:
                await self._read_on(writer, source)
            except HistoryIsNeeded:
                await self._start_over()
            except IdentityConflict:
                continue
            else:
                return
        raise IdentityConflict("Other processes keep reading this file; try again when they are done.")

    async def _source(self) -> Source:
        """The source with a checkpoint that still fits its file."""
        source = await self._project.ingest.get_or_create_source(self._report.client, _locator(self._report.path))
        if is_still_valid(self._report.path, source.checkpoint):
            return source
        return await self._project.ingest.reset_source(source.source_id, expected_revision=source.revision)

    async def _start_over(self) -> None:
        source = await self._project.ingest.get_or_create_source(self._report.client, _locator(self._report.path))
        await self._project.ingest.reset_source(source.source_id, expected_revision=source.revision)

    async def _read_on(self, writer: Writer, source: Source) -> None:
        reader = TranscriptReader(self._report.path, self._report.client, source.checkpoint)
        pending = _Pending()
        for line in reader.read():
            pending.add(line, self._preparer)
            if pending.is_full:
                source = await self._write(writer, source, pending, reader.checkpoint_at(line))
                pending = _Pending()
        if pending.last is not None:
            await self._write(writer, source, pending, reader.checkpoint_at(pending.last))

    async def _write(self, writer: Writer, source: Source, pending: _Pending, checkpoint: Checkpoint) -> Source:
        if pending.is_empty and checkpoint.offset == source.checkpoint.offset:
            self._tell(pending)
            return source
        written = await writer.write(source, pending.batch, checkpoint)
        self._report.counts.add(written.counts)
        self._report.conversation_ids |= written.conversation_ids
        self._tell(pending)
        return written.source

    def _tell(self, pending: _Pending) -> None:
        self._report.skipped += pending.skipped
        self._report.unused += pending.unused


@dataclass(slots=True)
class _Pending:
    """Lines read since the last checkpoint."""

    batch: Batch = field(default_factory=Batch)
    skipped: list[SkippedLine] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    last: ReadLine | None = None

    @property
    def is_full(self) -> bool:
        return len(self.batch.messages) >= BATCH_MESSAGES or self.batch.size_bytes >= BATCH_BYTES

    @property
    def is_empty(self) -> bool:
        return not (self.batch.messages or self.batch.facts or self.batch.links or self.batch.rewinds)

    def add(self, line: ReadLine, preparer: Preparer) -> None:
        self.last = line
        self.batch.text_repairs += line.repairs
        self.batch.size_bytes += line.size_bytes
        for item in line.items:
            self._add_item(item, preparer)

    def _add_item(self, item: ParsedItem, preparer: Preparer) -> None:
        match item:
            case MessageRecord():
                self.batch.messages.append(preparer.prepare(item))
            case SessionFact():
                title = preparer.scrub_text(item.title) if item.title else None
                self.batch.facts.append(replace(item, title=title))
            case SubagentLink():
                self.batch.links.append(item)
            case Rewind():
                self.batch.rewinds.append(item)
            case SkippedLine():
                self.skipped.append(item)
            case UnusedRecord():
                self.unused[item.kind] += 1


def _locator(path: Path) -> str:
    """The file's absolute name; bytes that are no text are replaced, as the store holds text only."""
    return str(path.absolute()).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def iter_reasons(report: FileReport) -> Iterator[tuple[int, str]]:
    """Skipped lines for people: numbered from 1."""
    return ((skipped.line + 1, skipped.reason) for skipped in report.skipped)
