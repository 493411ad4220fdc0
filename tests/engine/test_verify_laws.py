"""The proof has no false alarm: whatever happens to transcripts and contexts, a store that lcm wrote is whole."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm.compaction.repair import repair_conversation
from lcm.compaction.run import Compactor
from lcm.compaction.sweep import sweep_conversation
from lcm.engine.context_control import exclude_message, include_message
from lcm.errors import InvalidInput
from lcm.integrity.verify import verify_project
from lcm.storage.contracts.project import ProjectStorage
from lcm.summarizer.contract import SummaryRequest
from tests.engine.sessions import CWD, EVERY_STEP, SESSION, at, name, session_files, to_bytes, user
from tests.engine.stores import SCRUBBER, Store
from tests.unit.compaction.sweeping import SMALL, FakeSummarizer, unscrubbed

#: Small enough for a few short messages.
POLICY = replace(
    SMALL,
    fresh_tail_count=2,
    leaf_chunk_tokens=24,
    leaf_min_fanout=2,
    leaf_target_tokens=4,
    condensed_target_tokens=5,
)
OTHER_SESSION = "99999999-2222-4333-8444-555555555555"

Step = tuple[str, int]


async def echo(request: SummaryRequest) -> str:
    """No summary: the compaction falls back to truncation."""
    return request.source.text + " and more of it" * 200


class Life:
    """What becomes of some transcripts and of the store that reads them."""

    def __init__(self, folder: Path, store: Store, data: bytes) -> None:
        self._folder = folder
        self._store = store
        self._rest = data.splitlines(keepends=True)
        self._files: dict[str, list[bytes]] = {"a/session.jsonl": []}
        self._number = 1000

    async def step(self, what: str, which: int) -> None:
        await getattr(self, what)(which)

    # Transcripts

    async def grow(self, which: int) -> None:
        count = 1 + which % 9
        self._files["a/session.jsonl"] += self._rest[:count]
        del self._rest[:count]
        await self._read("a/session.jsonl")

    async def insert(self, which: int) -> None:
        """New lines, after some that say nothing, anywhere in a file."""
        file = self._file(which)
        lines = self._files[file]
        place = which % (len(lines) + 1)
        noise = [b'{"type": "other"}\n'] * (which % 4) * (which % 3)
        lines[place:place] = [*noise, *(self._line(which + n) for n in range(1 + which % 3))]
        await self._read(file)

    async def swap(self, which: int) -> None:
        """Two lines of a file change places."""
        file = self._file(which)
        lines = self._files[file]
        if lines:
            one, other = which % len(lines), which * 7 % len(lines)
            lines[one], lines[other] = lines[other], lines[one]
        await self._read(file)

    async def drop(self, which: int) -> None:
        file = self._file(which)
        del self._files[file][which % 5 : which % 5 + which % 3]
        await self._read(file)

    async def resume(self, which: int) -> None:
        """Another session that begins with the first lines of a file."""
        shared = self._files[self._file(which)]
        session = OTHER_SESSION.replace("9999", f"{which:04d}")
        copied = [line.replace(SESSION.encode(), session.encode()) for line in shared[: which % (len(shared) + 1)]]
        file = f"b/{which}.jsonl"
        self._files[file] = [*copied, self._line(which, session=session), self._line(which + 1, session=session)]
        await self._read(file)

    async def copy(self, which: int) -> None:
        """The same session in another file, with a line of its own."""
        file = f"c/{which % 2}.jsonl"
        self._files[file] = [*self._files["a/session.jsonl"][which % 3 :], self._line(which)]
        await self._read(file)

    def _file(self, which: int) -> str:
        return list(self._files)[which % len(self._files)]

    def _line(self, which: int, *, session: str = SESSION) -> bytes:
        self._number += 1
        fields = {"uuid": name(self._number), "parentUuid": None, "sessionId": session, "timestamp": at(which)}
        return to_bytes(user(self._number, f"late words {which} " + "and more " * (which % 6), **fields))

    async def _read(self, file: str) -> None:
        path = self._folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(self._files[file]))
        await self._store.import_file(path, "claude")

    # Contexts

    async def compact(self, which: int) -> None:
        summarizer = FakeSummarizer(echo) if which % 3 == 0 else FakeSummarizer()
        for project, conversation_id in await self._contexts():
            await sweep_conversation(Compactor(summarizer, POLICY, unscrubbed), project, conversation_id)

    async def repair(self, which: int) -> None:
        for project, conversation_id in await self._contexts():
            await repair_conversation(Compactor(FakeSummarizer(), POLICY, unscrubbed), project, conversation_id)

    async def exclude(self, which: int) -> None:
        for project, conversation_id in await self._contexts():
            items = await project.context.list_items(conversation_id)
            ids = [item.ref.message_id for item in items if item.ref.message_id is not None]
            if ids:
                message_id = ids[which % len(ids)]
                await exclude_message(project, message_id, "why", scrubber=SCRUBBER, conversation_id=conversation_id)

    async def include(self, which: int) -> None:
        for project, conversation_id in await self._contexts():
            ids = await project.context_audits.list_taken_out(conversation_id)
            if ids:
                await _put_back(project, ids[which % len(ids)], conversation_id)

    async def _contexts(self) -> list[tuple[ProjectStorage, int]]:
        return [
            (project, each.conversation_id)
            for project in await self._store.open_all()
            for each in await project.conversations.list_conversations()
        ]

    # What must be

    async def require_whole(self) -> None:
        for project in await self._store.open_all():
            proof = await verify_project(project)
            assert proof.faults == ()
            for conversation in await project.conversations.list_conversations():
                assert (await verify_project(project, conversation_id=conversation.conversation_id)).faults == ()


async def _put_back(project: ProjectStorage, message_id: int, conversation_id: int) -> None:
    try:
        await include_message(project, message_id, "why", scrubber=SCRUBBER, conversation_id=conversation_id)
    except InvalidInput:
        return  # a client took it back meanwhile


async def live(data: bytes, steps: Sequence[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Store(Path(folder) / "home", root=CWD) as store:
            life = Life(Path(folder), store, data)
            await life.grow(8)
            for what, which in steps:
                await life.step(what, which)
            await life.require_whole()


_STEPS = (
    "grow",
    "grow",
    "insert",
    "swap",
    "drop",
    "resume",
    "copy",
    "compact",
    "compact",
    "repair",
    "exclude",
    "include",
)
STEPS = st.lists(st.tuples(st.sampled_from(_STEPS), st.integers(0, 40)), min_size=3, max_size=14)
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


class TestProof:
    @settings(max_examples=12, deadline=None, suppress_health_check=QUIET)
    @given(st.just(EVERY_STEP) | session_files, STEPS)
    async def test_has_no_false_alarm(self, data: bytes, steps: list[Step]) -> None:
        """Growing, rewritten, resumed and copied files, compaction, repair and changes by hand, in any order."""
        await live(data, steps)

    @pytest.mark.long
    @pytest.mark.timeout(7200)
    @settings(max_examples=600, deadline=None, suppress_health_check=QUIET)
    @given(st.just(EVERY_STEP) | session_files, STEPS)
    async def test_has_no_false_alarm_in_many_lives(self, data: bytes, steps: list[Step]) -> None:
        """The same for many more."""
        await live(data, steps)
