"""What a client's hooks call in the life of a session: bootstrap, ingest, after a turn; all over the one writer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lcm.clock import Clock, utc_now
from lcm.compaction.due import is_leaf_pass_due_in
from lcm.compaction.incremental import compact_incrementally
from lcm.compaction.policy import CompactionPolicy
from lcm.compaction.result import CompactionResult
from lcm.compaction.run import Compactor
from lcm.domain.conversations import Conversation
from lcm.domain.ingest import IngestCounts, Source
from lcm.domain.records import MessageRecord, Thread
from lcm.engine.importing import FileReport, Importer, ProjectAccess
from lcm.engine.routing import locator_of
from lcm.engine.serial import SessionLocks
from lcm.engine.writer import Batch, Writer, conversation_keys_of
from lcm.errors import IdentityConflict, LcmError
from lcm.log import get_logger
from lcm.settings.model import Settings
from lcm.storage.contracts.project import ProjectStorage
from lcm.transcripts.reading import read_head

log = get_logger(__name__)

#: The client of messages that a program gives itself.
API_CLIENT = "api"
#: Another process may write the same session; each time its own messages come first.
_MAX_CONFLICTS = 100


@dataclass(frozen=True, slots=True)
class TurnReport:
    """What a finished turn brought.

    Attributes:
        is_leaf_pass_due: some conversation of the transcript holds enough raw messages outside its fresh tail.
    """

    report: FileReport
    is_leaf_pass_due: bool

    @property
    def counts(self) -> IngestCounts:
        return self.report.counts


class Engine:
    """Operations on sessions, one at a time per session; every one of them may be repeated.

    Args:
        root: the project of sessions given by a program, and of all transcripts when `routes_transcripts` is False;
            otherwise a transcript's sessions go to the projects they began in.
    """

    def __init__(
        self,
        access: ProjectAccess,
        settings: Settings,
        root: str,
        *,
        routes_transcripts: bool = True,
        clock: Clock = utc_now,
    ) -> None:
        self._access = access
        self._settings = settings
        self._root = root
        self._importer = Importer(access, root=None if routes_transcripts else root)
        self._clock = clock
        self._locks = SessionLocks()
        self._compactions = SessionLocks()

    async def bootstrap(self, path: Path, client: str) -> FileReport:
        """Bring a transcript's messages into the store and mark its conversations as bootstrapped.

        Raises:
            OSError: the file cannot be read. LcmError: the store refused; batches written before it stay.
        """
        async with self._locks.hold(_session_of(path, client)):
            report = await self._importer.import_file(path, client)
            for project, conversation in await self._conversations_of(report):
                await project.conversations.mark_bootstrapped(conversation.conversation_id, self._clock())
        return report

    async def ingest(self, session_id: str, record: MessageRecord, *, client: str = API_CLIENT) -> IngestCounts:
        """Store one message that a program gives; see `ingest_batch`."""
        return await self.ingest_batch(session_id, [record], is_whole_history=False, client=client)

    async def ingest_batch(
        self,
        session_id: str,
        records: Sequence[MessageRecord],
        *,
        is_whole_history: bool,
        client: str = API_CLIENT,
    ) -> IngestCounts:
        """Store messages of one session that a program gives, in order, all or none.

        A record without uuid, call id and time is told from equal ones by how many came before it in the session. With
        `is_whole_history` the records are the session from its first message on, so giving them again adds nothing;
        without it they come after what was given before. Records of a coding agent that have the client's own ids are
        given under that `client`: then its transcript brings nothing twice.

        Raises:
            UnsafeText: a text holds U+0000 or a lone surrogate; nothing was written.
        """
        if not records:
            return IngestCounts()
        async with self._locks.hold(session_id):
            project = await self._access.open_project(self._root)
            writer = Writer(project, client, await project.ingest.get_identity_salt())
            for _ in range(_MAX_CONFLICTS):
                source = await project.ingest.get_or_create_source(client, f"api:{session_id}")
                try:
                    return await self._write(writer, source, session_id, records, is_from_start=is_whole_history)
                except IdentityConflict:
                    continue
        raise IdentityConflict("Other processes keep writing this session; try again when they are done.")

    async def after_turn(self, path: Path, client: str) -> TurnReport:
        """Bring in what a turn added to a transcript, and tell whether a leaf pass is due; none is made here.

        Raises:
            OSError: the file cannot be read. LcmError: the store refused; batches written before it stay.
        """
        async with self._locks.hold(_session_of(path, client)):
            report = await self._importer.import_file(path, client)
            found = await self._conversations_of(report)
            due = [await self._is_leaf_pass_due(project, conversation) for project, conversation in found]
        return TurnReport(report, any(due))

    async def compact_after_turn(
        self, turn: TurnReport, make_compactor: Callable[[ProjectStorage], Compactor]
    ) -> list[CompactionResult]:
        """Incremental compaction of the conversations of a turn that are due; the others are left alone.

        Best effort: what fails is logged and costs nothing that is stored. Compactions of one session wait for each
        other. Ingest does not wait for them, since a model may take minutes: a range is replaced only while it holds
        what was summarized, so messages that arrive meanwhile are safe.
        """
        results = []
        for project, conversation in await self._conversations_of(turn.report):
            if not await self._is_leaf_pass_due(project, conversation):
                continue
            async with self._compactions.hold(conversation.session_id):
                try:
                    result = await compact_incrementally(
                        make_compactor(project),
                        project,
                        conversation.conversation_id,
                        max_depth=self._settings.compaction.incremental_max_depth,
                    )
                except LcmError as error:
                    log.warning("compaction_failed", conversation_id=conversation.conversation_id, error=error.code)
                else:
                    results.append(result)
        return results

    async def _write(
        self, writer: Writer, source: Source, session_id: str, records: Sequence[MessageRecord], *, is_from_start: bool
    ) -> IngestCounts:
        first = 0 if is_from_start else source.checkpoint.line_count
        preparer = self._access.preparer_for(self._root)
        batch = Batch()
        for line, record in enumerate(records, first):
            thread = Thread(session_id, record.thread.agent_id)
            batch.messages.append(preparer.prepare(replace(record, line=line, thread=thread)))
        checkpoint = replace(source.checkpoint, line_count=first + len(records))
        written = await writer.write(source, batch, checkpoint, is_from_start=is_from_start)
        return written.counts

    async def _conversations_of(self, report: FileReport) -> list[tuple[ProjectStorage, Conversation]]:
        """Those that this read wrote to, and those that earlier reads of the file did."""
        found = []
        for root in report.roots:
            project = await self._access.open_project(root)
            async with project.snapshot() as stored:
                source = await stored.ingest.get_or_create_source(report.client, locator_of(report.path))
                conversations = [await stored.conversations.find_by_key(key) for key in conversation_keys_of(source)]
            found += [(project, each) for each in conversations if each is not None]
        return found

    async def _is_leaf_pass_due(self, project: ProjectStorage, conversation: Conversation) -> bool:
        if self._settings.compaction.autocompact_disabled:
            return False
        policy = CompactionPolicy.automatic(self._settings)
        async with project.snapshot() as stored:
            return await is_leaf_pass_due_in(stored, conversation.conversation_id, policy)


def _session_of(path: Path, client: str) -> str:
    """The session that a transcript belongs to, as far as its head tells."""
    thread = read_head(path, client).thread
    return thread.session_id if thread else path.stem
