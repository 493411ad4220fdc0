"""Which project each session of a file belongs to: that of its first working directory; later ones move nothing."""

from __future__ import annotations

from pathlib import Path

from lcm.domain.records import MessageRecord, Rewind, SessionFact, SubagentLink, Thread
from lcm.identity.project import project_root
from lcm.transcripts.known_roots import KnownRoots
from lcm.transcripts.reading import Head, read_head, session_file_of

Routed = MessageRecord | SessionFact | SubagentLink | Rewind

_SESSION_LIMIT = 256


class SessionRoots:
    """The roots of one file's sessions, remembered from one read to the next; bounded.

    What depends only on the lines before it is the same wherever a file is cut into reads.

    Args:
        primary: the root of the file; sessions that name no directory belong to it.
        saved: what an earlier one's `state()` gave.
        known: where sessions went before; None sends every session to `primary`.
    """

    def __init__(
        self,
        path: Path,
        client: str,
        primary: str,
        *,
        known: KnownRoots | None,
        saved: dict[str, str] | None = None,
    ) -> None:
        self._path = path
        self._client = client
        self._primary = primary
        self._roots = dict(saved or {})
        self._known = known

    def state(self) -> dict[str, str]:
        """Session id to root, oldest first, at most 256."""
        return dict(self._roots)

    def root_of(self, item: Routed) -> str:
        session_id = _thread_of(item).session_id
        if self._known is None:
            return self._primary
        if session_id not in self._roots and isinstance(item, MessageRecord | SessionFact):
            cwd = item.cwd if isinstance(item, SessionFact) else None
            if cwd is None and isinstance(item, SessionFact):
                return self._primary  # a title alone decides nothing
            self._remember(session_id, self._primary if cwd is None else self._root_in(self._known, item.thread, cwd))
        return self._roots.get(session_id, self._primary)

    def _remember(self, session_id: str, root: str) -> None:
        self._roots[session_id] = root
        if len(self._roots) > _SESSION_LIMIT:
            del self._roots[next(iter(self._roots))]

    def _root_in(self, known: KnownRoots, thread: Thread, cwd: str) -> str:
        found = known.find(self._client, thread.session_id)
        if found is not None:
            return found
        root = project_root(_session_cwd(self._path, self._client, thread) or cwd)
        return known.remember(self._client, thread.session_id, root)


def root_of(path: Path, client: str, head: Head | None = None) -> str:
    """The project of a file: that of its first conversation's first working directory, else the file's own folder."""
    head = head or read_head(path, client)
    cwd = (_session_cwd(path, client, head.thread) if head.thread else None) or head.cwd
    return project_root(cwd or _text(path.absolute().parent))


def locator_of(path: Path) -> str:
    """The file's absolute name, by which its source is known."""
    return _text(path.absolute())


def _session_cwd(path: Path, client: str, thread: Thread) -> str | None:
    """A subagent belongs where its session began, wherever it was started."""
    if thread.agent_id is None:
        return None
    session_file = session_file_of(path, thread.session_id)
    if session_file is None:
        return None
    head = read_head(session_file, client)
    return head.cwds.get(Thread(thread.session_id)) or head.cwd


def _thread_of(item: Routed) -> Thread:
    return item.parent if isinstance(item, SubagentLink) else item.thread


def _text(path: Path) -> str:
    """Bytes that are no text are replaced, as the store holds text only."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
