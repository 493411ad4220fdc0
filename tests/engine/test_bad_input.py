"""Damaged, odd and huge transcripts, and a machine that refuses: a reason or an error for each, and nothing lost."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lcm.errors import LcmError
from lcm.transcripts.discover import UnreadablePath, find_transcripts
from tests.engine.sessions import SESSION, assistant, call, dialogue, to_bytes, user, write
from tests.engine.stores import Store

NOBODY = 65534


async def read(tmp_path: Path, *versions: bytes) -> tuple[list[str], list[str], int]:
    """What a file gave after it was each of these: texts in context, reasons of the last read, repairs in all."""
    path = tmp_path / "s.jsonl"
    path.parent.mkdir(exist_ok=True)
    repairs = 0
    async with Store(tmp_path / "home") as store:
        for data in versions:
            path.write_bytes(data)
            report = await store.import_file(path, "claude")
            repairs += report.counts.text_repairs
        assert await store.faults() == []
        return await store.texts(SESSION), [skipped.reason for skipped in report.skipped], repairs


class TestLineEnds:
    async def test_a_half_last_line_is_read_when_it_is_whole(self, tmp_path: Path) -> None:
        """First it is told as incomplete."""
        data = to_bytes(*dialogue(3))

        assert await read(tmp_path / "half", data[:-30]) == (["prompt 1", "answer 2"], ["incomplete last line"], 0)
        assert await read(tmp_path / "whole", data[:-30], data) == (["prompt 1", "answer 2", "prompt 3"], [], 0)

    async def test_a_last_line_without_its_end_is_a_record(self, tmp_path: Path) -> None:
        """And the end that comes later is no line."""
        data = to_bytes(*dialogue(2))

        texts, reasons, _ = await read(tmp_path, data[:-1], data, data + to_bytes(user(3)))
        assert (texts, reasons) == (["prompt 1", "answer 2", "prompt 3"], [])

    @pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf"])
    async def test_windows_line_ends_and_a_byte_order_mark(self, tmp_path: Path, head: bytes) -> None:
        """They are no text."""
        data = head + to_bytes(*dialogue(2)).replace(b"\n", b"\r\n")

        assert await read(tmp_path, data) == (["prompt 1", "answer 2"], [], 0)

    async def test_an_empty_file(self, tmp_path: Path) -> None:
        """Nothing, without a fault; later it has content."""
        assert await read(tmp_path, b"", to_bytes(user(1))) == (["prompt 1"], [], 0)


class TestCharacters:
    async def test_bytes_that_are_no_text_are_replaced_and_counted(self, tmp_path: Path) -> None:
        """The record is kept."""
        data = to_bytes(user(1, "caf? ok")).replace(b"caf?", b"caf\xe9")

        assert await read(tmp_path, data) == (["caf\N{REPLACEMENT CHARACTER} ok"], [], 1)

    async def test_nul_and_lone_surrogates_are_replaced_and_counted(self, tmp_path: Path) -> None:
        """In text, tool input and names; a whole surrogate pair is a character."""
        bad = "a\0b \ud83d c"
        lines = [user(1, bad), call(2, "t\0", "Read\0", path="x\ud83d"), user(3, "\U0001f600")]

        texts, _, repairs = await read(tmp_path, to_bytes(*lines))
        assert texts[0] == "a\N{SYMBOL FOR NULL}b \N{REPLACEMENT CHARACTER} c"
        assert texts[1] == 'Read\N{SYMBOL FOR NULL} {"path":"x\N{REPLACEMENT CHARACTER}"}'
        assert (texts[2], repairs) == ("\U0001f600", 5)

    async def test_a_file_name_that_is_no_text(self, tmp_path: Path) -> None:
        """It names the session where no record does."""
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/s\xff.jsonl"))
        async with Store(tmp_path / "home") as store:
            report = await store.import_file(write(path, {"type": "user", "message": {"role": "user", "content": "x"}}))

        assert report.counts.messages_new == 1


class TestOddRecords:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"[1, 2]", "JSON but not an object"),
            (b"42", "JSON but not an object"),
            (b'{"type": "user"', "not JSON"),
            (b"NaN", "not JSON"),
            (b"[" * 100_000, "nested too deeply"),
            (b'{"a":' * 100_000, "nested too deeply"),
            (b'{"type": "user", "n": ' + b"9" * 5000 + b"}", "a number with too many digits"),
        ],
    )
    async def test_a_line_that_is_no_record_is_skipped_with_its_reason(
        self, tmp_path: Path, line: bytes, reason: str
    ) -> None:
        """The lines around it are read."""
        data = to_bytes(user(1), line, assistant(2))

        assert await read(tmp_path, data) == (["prompt 1", "answer 2"], [reason], 0)

    async def test_big_numbers_stay_exact(self, tmp_path: Path) -> None:
        """Beyond 64 bits, and beyond what a double holds."""
        data = to_bytes(call(1, "t1", value=10**40, huge="HUGE")).replace(b'"HUGE"', b"1e999")

        texts, _, _ = await read(tmp_path, data)
        assert texts == ['Read {"value":' + "1" + "0" * 40 + ',"huge":"1e999"}']

    @pytest.mark.parametrize("timestamp", [None, "", "yesterday", "0001-01-01T00:00:00+14:00", 17, {}, "9999-99-99"])
    async def test_a_record_without_a_possible_time_is_kept(self, tmp_path: Path, timestamp: Any) -> None:
        """It stands where it is in the file."""
        data = to_bytes(user(1), assistant(2, timestamp=timestamp), user(3))

        assert (await read(tmp_path, data))[0] == ["prompt 1", "answer 2", "prompt 3"]

    @pytest.mark.parametrize("depth", [100, 700, 900, 960, 980, 990, 1100])
    async def test_a_record_nested_beyond_reason_does_not_stop_the_file(self, tmp_path: Path, depth: int) -> None:
        """In tool input and in what else a block carries, beside a secret too: kept or skipped, the rest is read."""
        secret = b'"password": "' + b"hunter2-" * 3 + b'", "a":'
        deep = b'{"a":' * (depth - 1) + b"{" + secret + b"1" + b"}" * depth
        lines = [call(2, "t1", deep="DEEP"), user(3, [{"type": "text", "text": "more", "extra": "DEEP"}])]
        data = to_bytes(user(1), *lines, user(4)).replace(b'"DEEP"', deep)
        texts, reasons, _ = await read(tmp_path, data)

        assert len(texts) + len(reasons) == 4
        assert (texts[0], texts[-1]) == ("prompt 1", "prompt 4")

    async def test_a_pretty_printed_record_among_others(self, tmp_path: Path) -> None:
        """Its lines have reasons, the records beside it are read."""
        pretty = json.dumps(user(2), indent=2).encode()
        texts, reasons, _ = await read(tmp_path, to_bytes(user(1), pretty, user(3)))

        assert texts == ["prompt 1", "prompt 3"]
        assert len(reasons) == pretty.count(b"\n") + 1

    async def test_a_line_of_30_mb_is_kept_whole(self, tmp_path: Path) -> None:
        """To its last character, and found again."""
        text = "a word and " * 2_700_000 + "the end"
        texts, _, _ = await read(tmp_path, to_bytes(user(1, text), assistant(2)))

        assert texts == [text, "answer 2"]

    async def test_a_million_openings_of_a_file_block(self, tmp_path: Path) -> None:
        """Looking for their end is linear."""
        text = "</file>" + "<file>" * 1_000_000

        assert (await read(tmp_path, to_bytes(user(1, text))))[0] == [text]


class TestFiles:
    def test_a_missing_folder_has_a_reason(self, tmp_path: Path) -> None:
        """One safe sentence."""
        missing = tmp_path / "none"

        assert list(find_transcripts([missing])) == [UnreadablePath(missing, "no such file or folder")]

    def test_a_folder_with_the_name_of_a_transcript_is_a_folder(self, tmp_path: Path) -> None:
        """What lies in it is found, it is not read itself."""
        inner = write(tmp_path / "x.jsonl/s.jsonl", user(1))

        assert list(find_transcripts([tmp_path])) == [inner]
        assert list(find_transcripts([tmp_path / "x.jsonl"])) == [inner]

    def test_what_is_no_file_is_not_waited_for(self, tmp_path: Path) -> None:
        """A pipe would never end."""
        os.mkfifo(tmp_path / "pipe.jsonl")

        assert list(find_transcripts([tmp_path])) == [UnreadablePath(tmp_path / "pipe.jsonl", "not a regular file")]

    def test_unreadable_files_and_folders_have_reasons(self, open_folder: Path) -> None:
        """The readable ones beside them are found."""
        good = write(open_folder / "good.jsonl", user(1))
        write(open_folder / "bad.jsonl", user(1)).chmod(0)
        write(open_folder / "closed/s.jsonl", user(1)).parent.chmod(0)
        found = as_nobody(lambda: list(find_transcripts([open_folder, open_folder / "closed/s.jsonl"])))

        assert found == [
            UnreadablePath(open_folder / "bad.jsonl", "the file cannot be read"),
            good,
            UnreadablePath(open_folder / "closed", "the folder cannot be read"),
            UnreadablePath(open_folder / "closed/s.jsonl", "the file cannot be read"),
        ]


class TestRefusingMachine:
    def test_a_full_disk_is_an_error_and_nothing_is_lost(self, tmp_path: Path) -> None:
        """With room again the import goes on and ends as if nothing had been."""
        path = write(tmp_path / "s.jsonl", *(user(number, "word " * 2000) for number in range(1, 1501)))
        error = in_child(lambda: import_with(tmp_path, path, max_file_bytes=4_000_000))
        assert error.startswith(("The disk", "Writing", "Creating"))

        texts = asyncio.run(imported_texts(tmp_path / "home", path))
        assert texts == ["word " * 2000] * 1500

    def test_a_full_disk_while_a_large_file_is_written(self, tmp_path: Path) -> None:
        """Its message is not stored without it."""
        path = write(tmp_path / "s.jsonl", user(1, '<file name="a.txt">' + "word " * 1_200_000 + "</file>"))
        error = in_child(lambda: import_with(tmp_path, path, max_file_bytes=4_000_000))
        assert error.startswith("Creating the file failed")

        [text] = asyncio.run(imported_texts(tmp_path / "home", path))
        assert text.startswith("[lcm file file_")

    def test_a_read_only_home_is_an_error(self, open_folder: Path) -> None:
        """It names no path."""
        path = write(open_folder / "s.jsonl", user(1))
        (open_folder / "locked").mkdir(mode=0o555)
        error = as_nobody(lambda: import_with(open_folder / "locked", path))

        assert "permission is denied" in error
        assert str(open_folder) not in error


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="lcm-open-"))
    folder.chmod(0o755)
    yield folder
    for closed in folder.glob("*"):
        closed.chmod(0o755)
    shutil.rmtree(folder)


def import_with(folder: Path, path: Path, *, max_file_bytes: int | None = None) -> str:
    """Import into `folder/home`, with files no larger than this; the error it ends with."""
    if max_file_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    try:
        asyncio.run(imported_texts(folder / "home", path))
    except LcmError as error:
        return str(error)
    return "no error"


async def imported_texts(home: Path, path: Path) -> list[str]:
    async with Store(home) as store:
        await store.import_file(path)
        assert await store.faults() == []
        return await store.texts(SESSION)


def as_nobody(work: Callable[[], Any]) -> Any:
    """What `work` gives in a process that is not root."""

    def changed() -> Any:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return work()

    return in_child(changed)


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` gives in a forked process, whose limits and user are its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer: Any = work()
        except BaseException as error:  # noqa: BLE001 - told by the parent
            answer = error
        os.write(writer, pickle.dumps(answer))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    answer = pickle.loads(data)
    if isinstance(answer, BaseException):
        raise answer
    return answer
