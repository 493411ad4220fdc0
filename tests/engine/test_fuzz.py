"""Anything at all as a transcript: no crash, no hang, and what is stored is whole.

The whole proof (1,000,000 lines through the parsers, 100,000 through the writer) is marked `long`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from lcm.domain.records import HistoryNeeded, MessageRecord, SkippedLine
from lcm.integrity.verify import verify_project
from lcm.text import require_safe
from lcm.transcripts.lines import iter_lines
from lcm.transcripts.parse.parser import TranscriptParser
from lcm.transcripts.reading import make_parser
from tests.conftest import CORPUS
from tests.engine.fuzzing import Fuzzer, seeds
from tests.engine.stores import Store

_REAL = CORPUS / "transcripts"
_CLIENTS = ("claude", "codex")
_FILE_LINES = 500


def require_parsers_survive(folder: Path, count: int, *, seed: int) -> Counter[str]:
    """Feed so many lines to the parsers of both clients, in files; how many items of each kind came out."""
    fuzzer = Fuzzer(seeds(_REAL if _REAL.is_dir() else None), Random(seed))
    found: Counter[str] = Counter()
    path = folder / "fuzz.jsonl"
    for _ in range(0, count, _FILE_LINES):
        path.write_bytes(fuzzer.lines(_FILE_LINES))
        parsers = {client: make_parser(client, None, fallback_session_id="fuzz") for client in _CLIENTS}
        for line in iter_lines(path):
            if line.record is None:
                found[f"skipped: {line.skipped}"] += 1
                continue
            for parser in parsers.values():
                found += feed(parser, line.line, line.record)
        for client, parser in parsers.items():
            state = json.loads(json.dumps(parser.state()))
            make_parser(client, state, fallback_session_id="fuzz")
    return found


def feed(parser: TranscriptParser, line: int, record: dict[str, object]) -> Counter[str]:
    """One line; every text that comes out can be stored."""
    found: Counter[str] = Counter()
    for item in parser.feed(line, record):
        assert not isinstance(item, HistoryNeeded), "a file read from its start needs no history"
        found[type(item).__name__] += 1
        if isinstance(item, MessageRecord):
            for block in item.blocks:
                require_safe("text", block.text)
            require_safe("session_id", item.thread.session_id)
        if isinstance(item, SkippedLine):
            assert "\n" not in item.reason
    return found


async def require_writer_survives(home: Path, folder: Path, count: int, *, seed: int) -> int:
    """Import so many lines as files of both clients, some again after they grew; how many messages are stored."""
    fuzzer = Fuzzer(seeds(_REAL if _REAL.is_dir() else None), Random(seed))
    async with Store(home, root="/home/user/project") as store:
        for number in range(count // _FILE_LINES):
            path = folder / f"{number}.jsonl"
            client = _CLIENTS[number % 2]
            for share in (0.6, 0.4):
                with path.open("ab") as file:
                    file.write(fuzzer.lines(int(_FILE_LINES * share)))
                await store.import_file(path, client)
            assert (await store.import_file(path, client)).counts.messages_new == 0
        (project,) = await store.open_all()
        verification = await verify_project(project)
        assert verification.faults == ()
        return sum(
            [
                await project.conversations.count_messages(each.conversation_id)
                for each in await project.conversations.list_conversations()
            ]
        )


class TestParsers:
    def test_survive_anything(self, tmp_path: Path) -> None:
        """8,000 lines: messages, facts and skipped lines come out, and nothing else happens."""
        found = require_parsers_survive(tmp_path, 8_000, seed=20260217)

        assert found["MessageRecord"] > 1000
        assert found["skipped: not JSON"] > 100

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    @pytest.mark.parametrize("part", range(10))
    def test_survive_a_million_lines(self, tmp_path: Path, part: int) -> None:
        """Ten parts of 100,000 lines, each from its own seed."""
        found = require_parsers_survive(tmp_path, 100_000, seed=part)

        assert found["MessageRecord"] > 10_000


class TestWriter:
    async def test_survives_anything(self, home: Path, tmp_path: Path) -> None:
        """2,000 lines in files of both clients that grow; the store is whole and a second import adds nothing."""
        assert await require_writer_survives(home, tmp_path, 2_000, seed=20260217) > 300

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    @pytest.mark.parametrize("part", range(4))
    async def test_survives_very_much(self, home: Path, tmp_path: Path, part: int) -> None:
        """Four parts of 25,000 lines, each from its own seed."""
        assert await require_writer_survives(home, tmp_path, 25_000, seed=part) > 3_000
