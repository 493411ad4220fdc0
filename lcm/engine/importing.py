"""Brings a transcript file into its project: reads what is new, prepares it, writes it batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from lcm.domain.ingest import Checkpoint, IngestCounts, Source
from lcm.domain.records import (
    HistoryNeeded,
    MessageRecord,
    Rewind,
    SessionFact,
    SkippedLine,
    SubagentLink,
    UnusedRecord,
)
from lcm.engine.prepare import Preparer
from lcm.engine.routing import Routed, SessionRoots, locator_of, root_of
from lcm.engine.writer import Batch, Writer
from lcm.errors import IdentityConflict
from lcm.storage.contracts.project import ProjectStorage
from lcm.transcripts.known_roots import KnownRoots
from lcm.transcripts.reading import (
    FileWasReplaced,
    Head,
    HistoryIsNeeded,
    ReadLine,
    TranscriptReader,
    is_still_valid,
    read_head,
)
from lcm.transcripts.seen_files import FileState, SeenFile, SeenFiles
from lcm.transcripts.source_state import SourceState

#: A batch ends at whichever comes first.
BATCH_MESSAGES = 500
BATCH_BYTES = 8 * 1024 * 1024
#: Another process may move the checkpoint while we read; each time it did some of our work.
_MAX_CONFLICTS = 1000


@dataclass(slots=True)
class FileReport:
    """What one file gave.

    Attributes:
        root: the project of the file's first conversation.
        roots: every project that holds messages of the file, that of `root` first; empty when no message was found.
        conversations: ids of the conversations written to, by the root of their project.
    """

    path: Path
    client: str
    root: str
    roots: tuple[str, ...] = ()
    counts: IngestCounts = field(default_factory=IngestCounts)
    skipped: list[SkippedLine] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    conversations: dict[str, set[int]] = field(default_factory=dict)

    @property
    def conversation_ids(self) -> set[int]:
        """Those in the project of `root`."""
        return self.conversations.get(self.root, set())


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """How the importer reaches a project: opened once per root, with its own secret rules; where sessions went.

    Attributes:
        find_project: as `open_project`, but nothing is created; needed with `seen_files`.
        seen_files: what needs no reading; None reads everything.
    """

    open_project: Callable[[str], Awaitable[ProjectStorage]]
    preparer_for: Callable[[str], Preparer]
    known_roots: KnownRoots
    find_project: Callable[[str], Awaitable[ProjectStorage | None]] | None = None
    seen_files: SeenFiles | None = None


class Importer:
    """Imports files; every file may be given any number of times."""

    def __init__(self, access: ProjectAccess, *, root: str | None = None) -> None:
        self._access = access
        self._root = root
        #: By root: the project's id and the revisions of its sources, as read once for files that seem unchanged.
        self._revisions: dict[str, tuple[str, dict[tuple[str, str], int]]] = {}
        #: By root: the project's identity salt, which is made with it and never changes.
        self._salts: dict[str, bytes] = {}

    async def import_file(self, path: Path, client: str) -> FileReport:
        """Read what is new in a file into the projects of its sessions; a file without messages creates none.

        Raises:
            OSError: the file cannot be read.
            LcmError: the store refused; batches written before it stay.
        """
        state = FileState.of(path)
        head = read_head(path, client)
        report = FileReport(path, client, self._root or self._root_of(path, client, head))
        if head.thread is None:
            _tell_only(report, self._access.preparer_for(report.root))
        else:
            files = _FileImport(self._access, report, is_fixed=self._root is not None, salts=self._salts)
            await files.run()
            self._remember(state, report, files)
        return report

    async def find_unchanged(self, path: Path, client: str | None) -> FileReport | None:
        """The report on a file that holds nothing new, told without opening it; None when it has to be read.

        Its times, size and inode are those it was read to its end with, and every project that holds it says so too.

        With a client of None the file is taken as what it was read as.
        """
        seen_files = self._access.seen_files
        if seen_files is None:
            return None
        try:
            seen = seen_files.find(locator_of(path), self._root or "", FileState.of(path))
        except (OSError, ValueError):
            return None
        if seen is None or not seen.holders or client not in (None, seen.client):
            return None
        for root in seen.holders:
            if not seen_files.is_as_left(root) and not await self._still_holds(root, path, seen):
                return None
        return FileReport(path, seen.client, next(iter(seen.holders)), roots=tuple(seen.holders))

    async def _still_holds(self, root: str, path: Path, seen: SeenFile) -> bool:
        """Whether the project is the one that took the file in, at the revision that it had then."""
        if root not in self._revisions:
            find = self._access.find_project
            project = None if find is None else await find(root)
            if project is None:
                return False
            if self._access.seen_files is not None:
                self._access.seen_files.note_use(root)
            self._revisions[root] = (str(project.project_id), await project.ingest.list_revisions())
        project_id, revisions = self._revisions[root]
        return seen.holders[root] == (project_id, revisions.get((seen.client, locator_of(path))))

    def _remember(self, state: FileState, report: FileReport, files: _FileImport) -> None:
        seen_files = self._access.seen_files
        if seen_files is None:
            return
        for root in report.roots:
            seen_files.note_use(root)
            self._revisions.pop(root, None)
        if files.has_read(state.size_bytes) and state.is_settled and FileState.of(report.path) == state:
            seen = SeenFile(report.client, files.holders())
            seen_files.remember(locator_of(report.path), self._root or "", state, seen)

    def _root_of(self, path: Path, client: str, head: Head) -> str:
        """Where the file's first session went before, else where its working directory belongs now."""
        if head.thread is None:
            return root_of(path, client, head)
        known = self._access.known_roots.find(client, head.thread.session_id)
        if known is not None:
            return known
        return self._access.known_roots.remember(client, head.thread.session_id, root_of(path, client, head))


@dataclass(slots=True)
class _Lane:
    """One project that lines of the file go to, with what is to be written there next."""

    root: str
    project: ProjectStorage
    writer: Writer
    preparer: Preparer
    source: Source
    batch: Batch = field(default_factory=Batch)

    def add(self, item: Routed) -> None:
        match item:
            case MessageRecord():
                self.batch.messages.append(self.preparer.prepare(item))
            case SessionFact():
                title = self.preparer.scrub_text(item.title) if item.title else None
                self.batch.facts.append(replace(item, title=title))
            case SubagentLink():
                self.batch.links.append(item)
            case Rewind():
                self.batch.rewinds.append(item)


class _FileImport:
    """One file into one project, or several when its sessions belong to several.

    Each project has a checkpoint of its own, moved with its rows. Those of the other projects are written before the
    primary one, from which reading goes on: what a crash in between brings again they know by their line counts.
    """

    def __init__(
        self, access: ProjectAccess, report: FileReport, *, is_fixed: bool, salts: dict[str, bytes] | None = None
    ) -> None:
        self._access = access
        self._salts = {} if salts is None else salts
        self._report = report
        self._is_fixed = is_fixed
        self._lanes: dict[str, _Lane] = {}
        self._roots = self._session_roots()
        self._told = self._nothing_told()
        self._waiting = 0

    async def run(self) -> None:
        needs_history = False
        for _ in range(_MAX_CONFLICTS):
            try:
                await self._start(from_beginning=needs_history)
                needs_history = False
                await self._read_on()
            except HistoryIsNeeded:
                needs_history = True
            except FileWasReplaced:
                continue
            except IdentityConflict:
                if not await self._was_moved():
                    raise
            else:
                self._report.roots = tuple(self._lanes)
                return
        raise IdentityConflict("Other processes keep changing or reading this file; try again when they are done.")

    def has_read(self, size_bytes: int) -> bool:
        """Whether everything up to here is stored, an incomplete last line included."""
        return self._primary.source.checkpoint.offset == size_bytes

    def holders(self) -> dict[str, tuple[str, int]]:
        """By root of the projects that hold messages of the file: the project's id and the source's revision."""
        return {root: (str(lane.project.project_id), lane.source.revision) for root, lane in self._lanes.items()}

    def _nothing_told(self) -> _Told:
        return _Told(self._access.preparer_for(self._report.root))

    # Where to go on

    async def _start(self, *, from_beginning: bool) -> None:
        """Open the projects that the file is known to belong to, with checkpoints that still fit it."""
        self._lanes = {}
        self._told = self._nothing_told()
        self._waiting = 0
        primary = await self._open_lane(self._report.root)
        self._roots = self._session_roots(_saved_roots(primary.source.checkpoint))
        for root in self._roots.state().values():
            if root not in self._lanes:
                await self._open_lane(root)
        if not all(self._fits(lane) for lane in self._lanes.values()):
            # All or none: a project that begins again while the primary goes on would never see its earlier lines.
            for lane in reversed(self._lanes.values()):
                await self._reset(lane)
        elif from_beginning:
            await self._reset(primary)
        if primary.source.checkpoint.offset == 0:
            self._roots = self._session_roots()
            self._report.skipped.clear()
            self._report.unused.clear()

    async def _lane(self, root: str) -> _Lane:
        """The lane of a project that no line before this one belongs to, or one that is open."""
        if root not in self._lanes:
            lane = await self._open_lane(root)
            if not self._fits(lane):
                await self._reset(lane)
        return self._lanes[root]

    async def _open_lane(self, root: str) -> _Lane:
        project = await self._access.open_project(root)
        source = await project.ingest.get_or_create_source(self._report.client, locator_of(self._report.path))
        if root not in self._salts:
            self._salts[root] = await project.ingest.get_identity_salt()
        writer = Writer(project, self._report.client, self._salts[root])
        self._lanes[root] = _Lane(root, project, writer, self._access.preparer_for(root), source)
        return self._lanes[root]

    @property
    def _primary(self) -> _Lane:
        return self._lanes[self._report.root]

    def _fits(self, lane: _Lane) -> bool:
        return is_still_valid(self._report.path, lane.source.checkpoint)

    async def _was_moved(self) -> bool:
        """Whether another process moved a checkpoint that we go by."""
        for lane in self._lanes.values():
            found = await lane.project.ingest.get_or_create_source(self._report.client, locator_of(self._report.path))
            if found.revision != lane.source.revision:
                return True
        return False

    async def _reset(self, lane: _Lane) -> None:
        source = lane.source
        lane.source = await lane.project.ingest.reset_source(source.source_id, expected_revision=source.revision)

    def _session_roots(self, saved: dict[str, str] | None = None) -> SessionRoots:
        report = self._report
        known = None if self._is_fixed else self._access.known_roots
        return SessionRoots(report.path, report.client, report.root, saved=saved, known=known)

    # Reading and writing

    async def _read_on(self) -> None:
        primary = self._primary
        reader = TranscriptReader(
            self._report.path, self._report.client, primary.source.checkpoint, text_key=primary.writer.salt
        )
        last: ReadLine | None = None
        for line in reader.read():
            await self._add(line)
            last = line
            if self._is_full:
                await self._write(reader.checkpoint_at(line, roots=self._roots.state()))
                last = None
        if last is not None:
            await self._write(reader.checkpoint_at(last, roots=self._roots.state()))

    @property
    def _is_full(self) -> bool:
        if self._waiting >= BATCH_MESSAGES:
            return True
        return self._primary.batch.size_bytes >= BATCH_BYTES

    async def _add(self, line: ReadLine) -> None:
        self._primary.batch.text_repairs += line.repairs
        self._primary.batch.size_bytes += line.size_bytes
        for item in line.items:
            if isinstance(item, (SkippedLine, UnusedRecord)):
                self._told.add(item)
            elif not isinstance(item, HistoryNeeded):
                await self._route(item)

    async def _route(self, item: Routed) -> None:
        root = self._roots.root_of(item)
        if isinstance(item, SessionFact) and not (item.title or item.parent_session_id):
            return
        lane = await self._lane(root)
        is_there = lane is not self._primary and item.line < lane.source.checkpoint.line_count
        if is_there:
            return
        self._waiting += isinstance(item, MessageRecord)
        try:
            lane.add(item)
        except RecursionError:
            self._told.add(SkippedLine(item.line, "nested too deeply"))

    async def _write(self, checkpoint: Checkpoint) -> None:
        """The other projects first: the primary's checkpoint says that all before it is stored everywhere."""
        for lane in self._lanes.values():
            if lane is not self._primary and not lane.batch.is_empty:
                await self._write_lane(lane, replace(checkpoint, parser_state="{}"))
        primary = self._primary
        if not primary.batch.is_empty or checkpoint.offset != primary.source.checkpoint.offset:
            await self._write_lane(primary, checkpoint)
        self._waiting = 0
        self._report.skipped += self._told.skipped
        self._report.unused += self._told.unused
        self._told = self._nothing_told()

    async def _write_lane(self, lane: _Lane, checkpoint: Checkpoint) -> None:
        written = await lane.writer.write(lane.source, lane.batch, checkpoint)
        lane.source, lane.batch = written.source, Batch()
        self._report.counts.add(written.counts)
        if written.conversation_ids:
            self._report.conversations.setdefault(lane.root, set()).update(written.conversation_ids)


@dataclass(slots=True)
class _Told:
    """What is reported of lines that gave nothing to store."""

    preparer: Preparer
    skipped: list[SkippedLine] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)

    def add(self, item: object) -> None:
        match item:
            case SkippedLine():
                self.skipped.append(item)
            case UnusedRecord():
                # A kind is the client's word, but a file may hold anything in its place: it is told like any text.
                name = self.preparer.scrub_name(item.kind)
                self.unused[name if name == item.kind else "other"] += 1


def _tell_only(report: FileReport, preparer: Preparer) -> None:
    """The reasons for every line of a file that holds no message."""
    told = _Told(preparer)
    for line in TranscriptReader(report.path, report.client, Checkpoint()).read():
        for item in line.items:
            told.add(item)
    report.skipped, report.unused = told.skipped, told.unused


def _saved_roots(checkpoint: Checkpoint) -> dict[str, str]:
    return (SourceState.read(checkpoint.parser_state) or SourceState()).roots
