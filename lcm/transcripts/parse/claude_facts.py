"""What Claude Code lines say about their conversation: its first directory and its title, each told once."""

from __future__ import annotations

from lcm.domain.records import JsonObject, SessionFact, Thread
from lcm.transcripts.parse.claude_values import TextDigests, text_of, trim_oldest

_THREAD_LIMIT = 256
_TITLE_LIMIT = 32
_TITLE_FIELDS = {"custom-title": "customTitle", "ai-title": "aiTitle"}


class FactFinder:
    """Remembers, bounded, what was told: the client writes directory and title again and again."""

    def __init__(self, state: JsonObject, digests: TextDigests) -> None:
        self._digests = digests
        self._placed: dict[tuple[str, str | None], None] = dict.fromkeys(map(tuple, state.get("cwd", [])))
        self._titles: dict[str, tuple[str, str]] = {
            session: (kind, digest) for session, kind, digest in state.get("titles", [])
        }

    def state(self) -> JsonObject:
        return {
            "cwd": [list(thread) for thread in self._placed],
            "titles": [[session, *title] for session, title in self._titles.items()],
        }

    def find_cwd(self, line: int, record: JsonObject, thread: Thread) -> SessionFact | None:
        """The first directory of a thread."""
        cwd, key = text_of(record.get("cwd")), (thread.session_id, thread.agent_id)
        if cwd is None or key in self._placed:
            return None
        self._placed[key] = None
        trim_oldest(self._placed, _THREAD_LIMIT)
        return SessionFact(line, thread, cwd=cwd)

    def find_title(self, line: int, record: JsonObject, session_id: str) -> SessionFact | None:
        """A new title of a session; the person's own title stands against generated ones."""
        kind = record["type"]
        title = (text_of(record.get(_TITLE_FIELDS[kind])) or "").strip()
        told = (kind, self._digests.of(session_id, title))
        known = self._titles.get(session_id, ("", ""))
        if not title or told == known or (kind == "ai-title" and known[0] == "custom-title"):
            return None
        self._titles[session_id] = told
        trim_oldest(self._titles, _TITLE_LIMIT)
        return SessionFact(line, Thread(session_id), title=title)
