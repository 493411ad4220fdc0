"""A home with an importer, and views of what it holds that are equal in every home with the same content."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from lcm.domain.ingest import IngestCounts
from lcm.domain.messages import IdentityKind, Message, MessagePart
from lcm.engine.importing import FileReport, Importer, ProjectAccess
from lcm.engine.prepare import Preparer
from lcm.integrity.verify import verify_project
from lcm.redaction.scrub import Scrubber
from lcm.storage.contracts.project import ProjectStorage
from lcm.storage.sqlite.factory import SqliteFactory
from lcm.transcripts.discover import client_of
from lcm.transcripts.known_roots import KnownRoots

SCRUBBER = Scrubber()

#: A message as compared between homes: role, content, exclusion, parts.
Stored = tuple[str, str, str | None, tuple[MessagePart, ...]]
Key = tuple[Any, ...]


class Store:
    """One home; projects are opened when first needed and closed at the end."""

    def __init__(self, home: Path, *, root: str | None = None, large_file_tokens: int = 25_000) -> None:
        self.home = home
        self.factory = SqliteFactory(home)
        self.projects: dict[str, ProjectStorage] = {}
        self.preparer = Preparer(SCRUBBER, large_file_tokens)
        self.access = ProjectAccess(self.open, lambda _root: self.preparer, KnownRoots(home / "sources.db"))
        self.importer = Importer(self.access, root=root)

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.factory.close()

    async def open(self, root: str) -> ProjectStorage:
        if root not in self.projects:
            self.projects[root] = await self.factory.open_project(root)
        return self.projects[root]

    async def import_file(self, path: Path, client: str | None = None) -> FileReport:
        return await self.importer.import_file(path, client or client_of(path))

    async def import_all(self, paths: Iterable[Path]) -> IngestCounts:
        total = IngestCounts()
        for path in paths:
            total.add((await self.import_file(path)).counts)
        return total

    async def open_all(self) -> list[ProjectStorage]:
        return [await self.open(root) for root in await self.factory.list_roots()]

    async def messages(self) -> dict[Key, Stored]:
        """Every message of the home by its identity."""
        return {key: stored for view in await self._views() for key, stored in view.messages.items()}

    async def contexts(self) -> dict[str, list[Key]]:
        """By conversation key: the identities of the messages in context, in order."""
        return {str(key): keys for view in await self._views() for key, keys in view.contexts.items()}

    async def texts(self, session_id: str, root: str | None = None) -> list[str]:
        """Contents in context of a session itself, in order."""
        for project in [await self.open(root)] if root else await self.open_all():
            for conversation in await project.conversations.list_of_session(session_id):
                if conversation.parent_tool_call_id is None and conversation.relation.value != "subagent":
                    return await _shown_texts(project, conversation.conversation_id)
        return []

    async def faults(self) -> list[str]:
        """What must never be: what `lcm verify` finds, an unexcluded message not exactly once in its context."""
        found = [
            f"{fault.kind}: {fault.object}: {fault.finding}"
            for project in await self.open_all()
            for fault in (await verify_project(project)).faults
        ]
        return found + [fault for view in await self._views() for fault in view.faults()]

    async def _views(self) -> list[_View]:
        return [await _view(project) for project in await self.open_all()]


class _View:
    def __init__(self) -> None:
        self.messages: dict[Key, Stored] = {}
        self.contexts: dict[str, list[Key]] = {}
        self.owned: dict[str, list[Key]] = {}

    def faults(self) -> list[str]:
        found = []
        for conversation, keys in self.owned.items():
            context = self.contexts[conversation]
            for key in keys:
                expected = 0 if self.messages[key][2] else 1
                if context.count(key) != expected:
                    found.append(f"{key} stands {context.count(key)} times in its context, not {expected}")
        return found


async def _view(project: ProjectStorage) -> _View:
    view = _View()
    key_of: dict[int, Key] = {}
    conversations = await project.conversations.list_conversations()
    for conversation in conversations:
        messages = await project.conversations.list_messages(conversation.conversation_id)
        parts = await project.conversations.list_parts([message.message_id for message in messages])
        for message in messages:
            key = key_of[message.message_id] = _key(conversation.session_id, message)
            assert key not in view.messages, "one identity is stored twice"
            exclusion = message.exclusion.value if message.exclusion else None
            own_parts = parts.get(message.message_id, ())
            view.messages[key] = (message.role.value, message.content, exclusion, own_parts)
        view.owned[str(conversation.conversation_key)] = [key_of[message.message_id] for message in messages]
    for conversation in conversations:
        items = await project.context.list_items(conversation.conversation_id)
        view.contexts[str(conversation.conversation_key)] = [key_of[item.ref.message_id or 0] for item in items]
    return view


def _key(session_id: str, message: Message) -> Key:
    """The ingest key; of kind text, whose key is salted in every project, what it is made from."""
    if message.identity_kind is IdentityKind.TEXT:
        return (session_id, message.role.value, message.content, message.identity_occurrence)
    return (message.ingest_key.hex(),)


async def _shown_texts(project: ProjectStorage, conversation_id: int) -> list[str]:
    items = await project.context.list_items(conversation_id)
    messages = await project.conversations.list_messages_by_id([item.ref.message_id or 0 for item in items])
    return [message.content for message in messages]
