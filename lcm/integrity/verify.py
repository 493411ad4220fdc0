"""The proof over a project or one conversation: no message is lost, changed, shown twice or unreachable. Only reads.

Messages, parts and context items are read in pages; the graph of summaries is held without its texts.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcm.domain.large_files import LargeFile
from lcm.domain.messages import PartType
from lcm.domain.summaries import SummaryKind
from lcm.errors import StorageError, StorageUnavailable, UnknownConversation
from lcm.integrity.content_digest import ProjectDigest, message_digest, message_key
from lcm.integrity.context import ContextCheck
from lcm.integrity.conversations import Chain, base_chains, check_conversation, reachable_owners
from lcm.integrity.faults import MAX_FAULTS_PER_KIND, Fault, FaultKind, FaultList, fault
from lcm.integrity.files import check_file, file_name, stored_file_ids
from lcm.integrity.graph import SummaryGraph
from lcm.integrity.ingest import anchors_of, check_anchors, check_lost_messages
from lcm.integrity.marks import HandMarks
from lcm.integrity.messages import check_content, check_place, check_sequence, message_name, recomputed_digest
from lcm.integrity.order import ContextOrder, SourceOrder
from lcm.integrity.states import check_breaker, check_compaction_state
from lcm.integrity.successors import check_successor, compared_leaves
from lcm.integrity.summaries import check_summary, summary_name
from lcm.large_files.reference import mentioned_files
from lcm.storage.contracts.integrity import ConversationRow, IntegrityRepository, MessageRow, OrphanRows, SummaryRow
from lcm.storage.contracts.project import ProjectStorage

_PAGE = 500

#: What was looked at; `unanswered_tool_calls` and `unreferenced_large_files` are counted and are no faults.
CHECKED = (
    "conversations",
    "messages",
    "parts",
    "summaries",
    "context_items",
    "edges",
    "large_files",
    "tool_calls",
    "tool_results",
    "unanswered_tool_calls",
    "unreferenced_large_files",
)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a proof.

    Attributes:
        content_digest: hex SHA-256 of what the messages hold, equal for equal messages on every machine and backend.
        checked: how many objects were looked at, by the names in `CHECKED`.
        faults: in order of finding; of each kind at most 1,000 and then one that counts the rest.
    """

    ok: bool
    content_digest: str
    checked: dict[str, int]
    faults: tuple[Fault, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "content_digest": self.content_digest,
            "checked": self.checked,
            "faults": [each.to_json() for each in self.faults],
        }


async def verify_project(project: ProjectStorage, *, conversation_id: int | None = None) -> Verification:
    """Check everything that is stored, as of one moment; writers go on meanwhile.

    With `conversation_id` only that conversation: its messages, context, summaries and files. Rows without an owner,
    counters and the search index belong to the whole project and are left out.

    Raises:
        UnknownConversation: no such conversation in this project.
        StorageError: the database itself cannot be read.
    """
    async with project.snapshot() as snapshot:
        conversations = await snapshot.integrity.list_conversations()
        graph = await _load_graph(snapshot.integrity)
        marks = HandMarks(await snapshot.integrity.list_audits())
        chains = base_chains(conversations)
        owners = reachable_owners(chains, await snapshot.integrity.list_borrowed())
        order = await _load_order(snapshot.integrity, graph, chains, marks)
        chosen = [each for each in conversations if conversation_id in (None, each.conversation_id)]
        if conversation_id is not None and not chosen:
            raise UnknownConversation
        known = _Known(chains, owners, graph, marks, order)
        proof = _Proof(snapshot.integrity, project.files_folder, known, conversation_id)
        await proof.run(chosen)
    if conversation_id is None:
        proof.note_search(await _search_findings(project))
    return proof.result()


async def _load_graph(rows: IntegrityRepository) -> SummaryGraph:
    nodes: dict[uuid.UUID, SummaryRow] = {}
    after: uuid.UUID | None = None
    while page := await rows.list_summaries(after=after, limit=_PAGE):
        nodes.update((row.summary_key, row) for row in page)
        after = page[-1].summary_key
    shown: dict[int, list[uuid.UUID]] = {}
    for conversation_id, key in await rows.list_shown_summaries():
        shown.setdefault(conversation_id, []).append(key)
    return SummaryGraph(nodes, shown)


async def _load_order(
    rows: IntegrityRepository, graph: SummaryGraph, chains: dict[int, Chain], marks: HandMarks
) -> SourceOrder:
    owners = {key: row.conversation_id for key, row in graph.nodes.items()}
    order = SourceOrder(chains, owners, marks.restored, compared_leaves(graph.nodes))
    after: tuple[uuid.UUID, int, int] | None = None
    while page := await rows.list_source_links(after=after, limit=_PAGE):
        for link in page:
            order.add_link(link)
        after = (page[-1].summary_key, page[-1].ordinal, page[-1].message_id)
    return order


async def _search_findings(project: ProjectStorage) -> list[str]:
    try:
        return await project.lexical_search.find_missing()
    except StorageUnavailable:
        raise
    except StorageError:
        return ["the search index cannot be read"]


@dataclass(frozen=True, slots=True)
class _Known:
    """What of the whole project is held while its rows pass by."""

    chains: dict[int, Chain]
    owners: dict[int, frozenset[int]]
    graph: SummaryGraph
    marks: HandMarks
    order: SourceOrder


class _Proof:
    """One run: what it reads from, and what it has found so far."""

    def __init__(
        self,
        rows: IntegrityRepository,
        files_folder: Path,
        known: _Known,
        conversation_id: int | None,
    ) -> None:
        self._rows = rows
        self._files_folder = files_folder
        self._chains = known.chains
        self._owners = known.owners
        self._graph = known.graph
        self._marks = known.marks
        self._order = known.order
        self._conversation_id = conversation_id
        self._checked = dict.fromkeys(CHECKED, 0)
        self._faults = FaultList()
        self._digest = ProjectDigest()
        #: Files with a row that no message has mentioned so far, and files on disk that have none.
        self._unmentioned: set[str] = set()
        self._without_row: set[str] = set()
        #: Files that a leaf names and none of its messages has mentioned so far.
        self._promised = _promised_files(known.graph) if conversation_id is None else {}

    async def run(self, conversations: Sequence[ConversationRow]) -> None:
        await self._check_files()
        self._check_order()
        for row in conversations:
            self._checked["conversations"] += 1
            self._faults.extend(check_conversation(row, self._chains))
            await self._check_context(row)
            await self._check_messages(row)
        self._check_summaries()
        self._checked["unanswered_tool_calls"] = await self._rows.count_unanswered_calls(self._conversation_id)
        self._checked["unreferenced_large_files"] = len(self._unmentioned)
        if self._conversation_id is None:
            await self._check_rest()

    def note_search(self, sentences: Iterable[str]) -> None:
        """Findings of the search index, as sentences without an end."""
        for each in sentences:
            finding = f"{each[0].upper()}{each[1:]}."
            self._faults.extend([fault(FaultKind.SEARCH_INDEX, "search index", finding)])

    def result(self) -> Verification:
        faults = self._faults.all()
        return Verification(
            ok=not faults, content_digest=self._digest.hexdigest(), checked=self._checked, faults=faults
        )

    # Large files

    async def _check_files(self) -> None:
        async for file in self._files():
            self._checked["large_files"] += 1
            self._unmentioned.add(file.file_id)
            found = await asyncio.to_thread(check_file, self._files_folder, file)
            self._faults.extend([found] if found else [])
        on_disk = await asyncio.to_thread(stored_file_ids, self._files_folder)
        with_row = await self._rows.find_file_digests(sorted(on_disk)) if on_disk else {}
        self._without_row = on_disk - with_row.keys()

    async def _files(self) -> AsyncIterator[LargeFile]:
        after: str | None = None
        while page := await self._rows.list_files(self._conversation_id, after=after, limit=_PAGE):
            for file in page:
                yield file
            after = page[-1].file_id

    # Contexts

    async def _check_context(self, conversation: ConversationRow) -> None:
        conversation_id = conversation.conversation_id
        check = ContextCheck(conversation_id, self._graph, self._chains[conversation_id], self._owners[conversation_id])
        order = ContextOrder(conversation_id, self._order)
        after: int | None = None
        while page := await self._rows.list_items(conversation_id, after=after, limit=_PAGE):
            self._checked["context_items"] += len(page)
            for item in page:
                self._faults.extend(check.check_item(item))
                self._faults.extend(order.check_item(item))
                self._faults.extend(self._marks.check_item(conversation_id, item))
            after = page[-1].position
        self._faults.extend(check.check_whole())

    # Messages

    async def _check_messages(self, conversation: ConversationRow) -> None:
        conversation_id = conversation.conversation_id
        anchored = self._graph.anchored(conversation_id)
        after: tuple[int, int] | None = None
        expected = 0
        while page := await self._rows.list_messages(conversation_id, after=after, limit=_PAGE):
            digests = await self._file_digests(page)
            for row in page:
                self._faults.extend(check_sequence(conversation_id, expected, row.seq))
                expected = max(expected, row.seq + 1)
                self._check_message(row, conversation.session_id, digests)
                self._faults.extend(check_place(row, anchored))
                self._faults.extend(self._marks.check_message(row))
            after = (page[-1].seq, page[-1].message_id)

    async def _file_digests(self, page: Sequence[MessageRow]) -> dict[str, bytes]:
        ids = dict.fromkeys(file_id for row in page for file_id in _part_files(row))
        return dict(await self._rows.find_file_digests(list(ids))) if ids else {}

    def _check_message(self, row: MessageRow, session_id: str, file_digests: dict[str, bytes]) -> None:
        self._count_message(row)
        found = recomputed_digest(row)
        self._faults.extend(check_content(row, found))
        self._faults.extend(self._check_mentions(row, file_digests))
        files = [file_digests.get(file_id, b"") for file_id in _part_files(row)]
        self._digest.add(message_digest(message_key(row, session_id), found or row.content_sha256, files))

    def _count_message(self, row: MessageRow) -> None:
        parts = row.parts or ()
        self._checked["messages"] += 1
        self._checked["parts"] += len(parts)
        self._checked["tool_calls"] += sum(part.part_type == PartType.TOOL_CALL for part in parts)
        self._checked["tool_results"] += sum(part.part_type == PartType.TOOL_RESULT for part in parts)

    def _check_mentions(self, row: MessageRow, file_digests: dict[str, bytes]) -> Iterator[Fault]:
        """A part's file has a row. A text may quote any id; it is this project's when bytes of that id are here."""
        mentioned = set(mentioned_files(row.content or ""))
        parts = set(_part_files(row))
        self._unmentioned -= mentioned | parts
        for leaf in row.live_leaves:
            if leaf.summary_key in self._promised:
                self._promised[leaf.summary_key] -= mentioned
        for file_id in sorted((parts - file_digests.keys()) | (mentioned & self._without_row)):
            finding = f"{message_name(row.conversation_id, row.seq).capitalize()} refers to it, but it has no row."
            yield fault(FaultKind.MISSING_FILE_ROW, file_name(file_id), finding)

    # Summaries

    def _check_order(self) -> None:
        """Of every summary, since contexts are compared with it; the faults of others are not this conversation's."""
        found = self._order.check_summaries(self._graph)
        names = {summary_name(row) for row in self._chosen_summaries()}
        self._faults.extend(each for each in found if each.object in names)

    def _chosen_summaries(self) -> Iterator[SummaryRow]:
        return (row for row in self._graph.nodes.values() if self._conversation_id in (None, row.conversation_id))

    def _check_summaries(self) -> None:
        for row in self._chosen_summaries():
            self._checked["summaries"] += 1
            self._checked["edges"] += len(row.children) + sum(each.link_count for each in row.sources)
            chain = self._chains.get(row.conversation_id, (row.conversation_id,))
            owners = self._owners.get(row.conversation_id, frozenset(chain))
            self._faults.extend(check_summary(row, self._graph, chain, owners))
            self._faults.extend(check_successor(row, self._graph.nodes, self._order))
        for key, file_ids in self._promised.items():
            if file_ids:
                about = summary_name(self._graph.nodes[key])
                finding = f"It names {', '.join(sorted(file_ids))}, which none of its messages mentions."
                self._faults.extend([fault(FaultKind.WRONG_FILE_REFERENCES, about, finding)])

    # The rest of the project

    async def _check_rest(self) -> None:
        orphans = await self._rows.list_orphans(limit=MAX_FAULTS_PER_KIND)
        self._faults.extend(_orphan_fault(each) for each in orphans)
        await self._check_ingest()
        for state in await self._rows.list_compaction_states():
            self._faults.extend(check_compaction_state(state, self._graph.nodes))
        for breaker in await self._rows.list_breakers():
            self._faults.extend(check_breaker(breaker))
        for name, value in await self._rows.list_counters():
            if value < 0:
                self._faults.extend([fault(FaultKind.NEGATIVE_COUNTER, f"counter {name}", "It is negative.")])

    async def _check_ingest(self) -> None:
        self._faults.extend(check_lost_messages(await self._rows.count_lost_messages()))
        after: int | None = None
        while page := await self._rows.list_checkpoints(after=after, limit=_PAGE):
            keys = {key for row in page for key in anchors_of(row)}
            lost = frozenset(await self._rows.find_lost_keys(sorted(keys)))
            for row in page:
                self._faults.extend(check_anchors(row, lost))
            after = page[-1].source_id


def _promised_files(graph: SummaryGraph) -> dict[uuid.UUID, set[str]]:
    """Leaves in use that name files; those that are superseded have no live links to look through."""
    return {
        row.summary_key: set(row.file_ids)
        for row in graph.nodes.values()
        if row.file_ids and row.kind == SummaryKind.LEAF and row.superseded_by_key is None
    }


def _part_files(row: MessageRow) -> list[str]:
    return [part.file_id for part in row.parts or () if part.file_id is not None]


_ORPHAN_KINDS = {
    "conversation": FaultKind.MISSING_CONVERSATION,
    "message": FaultKind.ORPHAN_PART,
    "summary": FaultKind.ORPHAN_LINK,
}


def _orphan_fault(orphan: OrphanRows) -> Fault:
    names = {"conversation": "conversation", "message": "message id", "summary": "summary key"}
    finding = f"It is gone, but {orphan.row_count} of its {orphan.rows} are still stored."
    return fault(_ORPHAN_KINDS[orphan.owner], f"{names[orphan.owner]} {orphan.owner_id}", finding)
