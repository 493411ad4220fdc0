"""Real transcripts of many versions, whole, while they grew, and in any order."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from lcm.domain.conversations import Relation
from lcm.domain.ingest import IngestCounts
from lcm.transcripts.discover import UnreadablePath, find_transcripts
from tests.engine.stores import Store

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "transcripts"
CLAUDE = "claude/growing-v2.1.7"
CODEX = "codex/growing-v0.129.0"
RESUME = FOLDER / "claude/resume-v1.0.56"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the transcript corpus is not beside the checkout"),
]


def transcripts() -> list[Path]:
    """All but the lists of record types, whose ids repeat."""
    found = find_transcripts([FOLDER / "claude", FOLDER / "codex", FOLDER / "generated"])
    return [path for path in found if not isinstance(path, UnreadablePath) and "record-types" not in path.name]


async def growing(folder: Path, *versions: dict[str, Path]) -> Store:
    """A home that saw every version of the files, each put over the one before, in place."""
    store = Store(folder / "home")
    for version in versions:
        for name, source in version.items():
            path = folder / "transcripts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
            await store.import_file(path)
    return store


def claude_at(moment: str) -> dict[str, Path]:
    names = ("session.jsonl", "subagents/agent-a485154.jsonl")
    return {name: FOLDER / CLAUDE / moment / name for name in names}


def codex_at(turn: int) -> dict[str, Path]:
    return {"rollout.jsonl": FOLDER / CODEX / f"turn-{turn}.jsonl"}


class TestGrowingTranscripts:
    @pytest.mark.parametrize(
        ("earlier", "later"),
        [(claude_at("at-t1"), claude_at("at-t2")), (codex_at(1), codex_at(2))],
        ids=["claude", "codex"],
    )
    async def test_earlier_then_later_is_later_alone(
        self, tmp_path: Path, earlier: dict[str, Path], later: dict[str, Path]
    ) -> None:
        """Same identities, contents and context order; the line inserted in the subagent's file is no trouble."""
        first = await growing(tmp_path / "both", earlier, later)
        second = await growing(tmp_path / "later", later)
        async with first, second:
            assert await first.messages() == await second.messages()
            assert await first.contexts() == await second.contexts()
            assert await first.faults() == []

    async def test_the_claude_session_and_its_subagent(self, tmp_path: Path) -> None:
        """45 records of the session, 44 of the agent, linked to the call that started it."""
        async with await growing(tmp_path, claude_at("at-t1"), claude_at("at-t2")) as store:
            [project] = await store.open_all()
            found = {each.conversation.relation: each for each in await project.conversations.list_overviews()}

        assert found[Relation.ROOT].message_count == 45
        assert found[Relation.SUBAGENT].message_count == 44
        assert found[Relation.SUBAGENT].conversation.parent_tool_call_id == "toolu_bdrk_019PUUtqzQg8U5ogfuyQ7yLV"


class TestWholeCorpus:
    async def test_everything_once_and_a_second_time_nothing(self, tmp_path: Path) -> None:
        """Every unexcluded message stands once in its context, the index is whole, a second import reads nothing."""
        async with Store(tmp_path / "home") as store:
            first = await store.import_all(transcripts())
            assert await store.import_all(transcripts()) == IngestCounts()
            assert await store.faults() == []

        # Known: the copies in the resumed session, and what the later versions of the growing ones repeat.
        assert (first.messages_new, first.messages_known) == (1186, 74)

    async def test_any_order_of_the_files_gives_the_same(self, tmp_path: Path) -> None:
        """Same identities and contents."""
        shuffled = transcripts()
        random.Random(7).shuffle(shuffled)
        async with Store(tmp_path / "one") as first, Store(tmp_path / "two") as second:
            await first.import_all(transcripts())
            await second.import_all(shuffled)
            assert await second.messages() == await first.messages()
            assert await second.faults() == []

    async def test_losing_every_checkpoint_costs_time_not_rows(self, tmp_path: Path) -> None:
        """Read again from their starts, all files give only what is known, in the same places."""
        async with Store(tmp_path / "home") as store:
            await store.import_all(transcripts())
            messages, contexts = await store.messages(), await store.contexts()
            moved = [shutil.copytree(FOLDER / name, tmp_path / name) for name in ("claude", "codex", "generated")]
            copies = [path for path in find_transcripts(moved) if isinstance(path, Path)]
            again = await store.import_all(path for path in copies if "record-types" not in path.name)
            assert (again.messages_new, again.messages_changed) == (0, 0)
            assert await store.messages() == messages
            assert await store.contexts() == contexts


class TestResumePair:
    @pytest.mark.parametrize("is_reversed", [False, True])
    async def test_no_copy_is_stored_twice(self, tmp_path: Path, is_reversed: bool) -> None:
        """Two records of the old session, four of the new one, whichever file comes first."""
        files = [RESUME / "original-session.jsonl", RESUME / "resumed-session.jsonl"]
        async with Store(tmp_path / "home") as store:
            counts = await store.import_all(files[::-1] if is_reversed else files)
            assert (counts.messages_new, counts.messages_known) == (6, 2)
            assert await store.faults() == []

    async def test_the_new_session_shows_the_old_one_first(self, tmp_path: Path) -> None:
        """Six messages in its context, two of them by reference."""
        async with Store(tmp_path / "home") as store:
            await store.import_all([RESUME / "original-session.jsonl", RESUME / "resumed-session.jsonl"])
            texts = await store.texts("789e105f-ae33-486d-9271-0696266f072d")

        assert (len(texts), texts[:2]) == (6, ["say lol", "lol"])


class TestFilesThatAreNone:
    async def test_a_pretty_printed_file_creates_nothing(self, tmp_path: Path) -> None:
        """1,146 lines with a reason each."""
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(FOLDER / "claude/pretty-printed-not-jsonl.jsonl")

        assert len(report.skipped) == 1146
        assert not (tmp_path / "home").exists()

    @pytest.mark.parametrize("name", ["claude/record-types-v2.1.x.jsonl", "codex/record-types-v0.146.jsonl"])
    async def test_a_list_of_record_types_is_read_without_fault(self, tmp_path: Path, name: str) -> None:
        """Placeholder ids repeat; a second reading adds nothing."""
        async with Store(tmp_path / "home") as store:
            await store.import_file(FOLDER / name)
            assert (await store.import_file(FOLDER / name)).counts == IngestCounts()
            assert await store.faults() == []
