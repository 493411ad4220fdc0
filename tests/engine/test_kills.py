"""Imports killed at any moment and then finished leave what an import that nobody disturbed leaves."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from pathlib import Path

import pytest

from lcm.domain.ingest import IngestCounts
from tests.conftest import REPOSITORY
from tests.engine.sessions import SESSION, Record, assistant, call, result, user, write
from tests.engine.stores import Key, Store, Stored

OTHER = "99999999-2222-4333-8444-555555555555"
#: An import in small batches that ends by SIGKILL: at the n-th lock, link or removal of a file, or so much later.
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from lcm.engine import importing
from tests.engine.stores import Store

home, path, count, delay_s = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
importing.BATCH_MESSAGES = 10

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def watch(event, _):
    global count
    if event not in ("fcntl.flock", "os.link", "os.remove"):
        return
    count -= 1
    if count == 0 and delay_s == 0:
        kill()
    elif count == 0:
        signal.setitimer(signal.ITIMER_REAL, delay_s)

async def main():
    async with Store(home, large_file_tokens=50) as store:
        await store.import_file(path, "claude")

signal.signal(signal.SIGALRM, signal.SIG_DFL)
sys.addaudithook(watch)
asyncio.run(main())
"""


def turn(number: int) -> list[Record]:
    """Ten records: a prompt with a large file, a call with its result, texts without ids, another project's session."""
    first = 10 * number + 1
    bare: Record = {"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": "yes"}}
    elsewhere = {"sessionId": OTHER, "cwd": "/home/user/elsewhere"}
    return [
        user(first, f'see <file name="{number}.txt">{f"line {number} " * 60}</file>'),
        call(first + 1, f"t{number}"),
        result(first + 2, f"t{number}"),
        assistant(first + 3),
        bare,
        bare | elsewhere,
        user(first + 6, **elsewhere),
        bare | elsewhere,
        user(first + 8, isMeta=True),
        user(first + 9, parentUuid=user(first)["parentUuid"]) if number % 7 == 3 else assistant(first + 9),
    ]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return write(tmp_path / "s.jsonl", *(record for number in range(30) for record in turn(number)))


async def finished(home: Path, path: Path) -> tuple[dict[Key, Stored], dict[str, list[Key]], IngestCounts]:
    """What a home holds after one more import, and what that import did; without a fault."""
    async with Store(home, large_file_tokens=50) as store:
        report = await store.import_file(path, "claude")
        assert await store.faults() == []
        for project in await store.open_all():
            stored = {file.storage_uri for file in await project.large_files.list_files()}
            assert all((project.files_folder.parent / uri).is_file() for uri in stored)
        return await store.messages(), await store.contexts(), report.counts


async def killed(home: Path, path: Path, seed: int) -> int:
    chance = random.Random(seed)
    count, delay_s = chance.randrange(1, 150), chance.choice([0.0, chance.random() / 50])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(home), str(path), str(count), str(delay_s), cwd=REPOSITORY
    )
    return await process.wait()


async def check_kills(folder: Path, path: Path, seeds: range) -> None:
    messages, contexts, _ = await finished(folder / "undisturbed", path)
    ends = []
    for seed in seeds:
        home = folder / f"home-{seed}"
        ends.append(await killed(home, path, seed))
        found, shown, _ = await finished(home, path)
        assert found == messages, f"seed {seed}"
        assert shown == contexts, f"seed {seed}"
    assert set(ends) <= {0, -signal.SIGKILL, -signal.SIGALRM}
    assert ends.count(0) < len(ends) / 2


class TestKilledImport:
    async def test_a_finished_import_is_the_undisturbed_one(self, tmp_path: Path, transcript: Path) -> None:
        """Same messages, same contexts, every message once, a sound index."""
        await check_kills(tmp_path, transcript, range(5))

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    async def test_a_hundred_finished_imports(self, tmp_path: Path, transcript: Path) -> None:
        """The same for many moments."""
        await check_kills(tmp_path, transcript, range(100, 200))

    async def test_killed_again_and_again(self, tmp_path: Path, transcript: Path) -> None:
        """Each start goes on where the last one stopped; the end is the same, and then nothing is left to do."""
        messages, contexts, _ = await finished(tmp_path / "undisturbed", transcript)
        for seed in range(20, 23):
            await killed(tmp_path / "home", transcript, seed)
        found, shown, _ = await finished(tmp_path / "home", transcript)

        assert (found, shown) == (messages, contexts)
        assert (await finished(tmp_path / "home", transcript))[2] == IngestCounts()
