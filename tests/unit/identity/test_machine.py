import json
import re
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcm.errors import IdentityConflict, StorageError
from lcm.identity.machine import load_or_create_machine

NOW = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
VALID = {
    "version": 1,
    "machine_id": "01956a5e-1c00-7abc-8def-0123456789ab",
    "identity_key": "machine:" + "0f" * 32,
    "created_at": "2025-03-04T06:06:07+01:00",
}

RACER = """
import sys
from pathlib import Path
from lcm.identity.machine import load_or_create_machine

print("ready", flush=True)
sys.stdin.read()
machine = load_or_create_machine(Path(sys.argv[1]))
print(machine.machine_id, machine.identity_key, flush=True)
"""


def write_machine(home: Path, **changes: object) -> None:
    (home / "machine.json").write_text(json.dumps({**VALID, **changes}))


class TestLoadOrCreateMachine:
    def test_the_first_need_makes_a_private_file(self, tmp_path: Path) -> None:
        """The file holds exactly the four fields, mode 0600, in a home of mode 0700."""
        home = tmp_path / "home"

        machine = load_or_create_machine(home, clock=lambda: NOW)

        fields = json.loads((home / "machine.json").read_text())
        assert fields == {
            "version": 1,
            "machine_id": str(machine.machine_id),
            "identity_key": machine.identity_key,
            "created_at": "2025-03-04T05:06:07+00:00",
        }
        assert machine.machine_id.version == 7
        assert re.fullmatch("machine:[0-9a-f]{64}", machine.identity_key)
        assert (home / "machine.json").stat().st_mode & 0o777 == 0o600
        assert home.stat().st_mode & 0o777 == 0o700

    def test_later_calls_give_the_same_machine(self, tmp_path: Path) -> None:
        """The identity is made once."""
        assert load_or_create_machine(tmp_path) == load_or_create_machine(tmp_path)

    def test_a_valid_file_is_read(self, tmp_path: Path) -> None:
        """Fields come back typed; the time is in UTC."""
        write_machine(tmp_path)

        machine = load_or_create_machine(tmp_path)

        assert machine.machine_id == uuid.UUID("01956a5e-1c00-7abc-8def-0123456789ab")
        assert machine.created_at == NOW
        assert machine.created_at.tzinfo is UTC

    def test_the_repr_hides_the_key(self, tmp_path: Path) -> None:
        """Printing a machine shows its id, not what proves it."""
        machine = load_or_create_machine(tmp_path)

        assert str(machine.machine_id) in repr(machine)
        assert machine.identity_key not in repr(machine)

    def test_processes_that_start_at_once_agree(self, tmp_path: Path) -> None:
        """One of four processes creates the file, the others read it."""
        command = [sys.executable, "-c", RACER, str(tmp_path / "home")]
        racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdin is not None
            racer.stdout.readline()
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.close()
            racer.stdin = None
        answers = {racer.communicate()[0] for racer in racers}

        assert len(answers) == 1
        assert answers != {""}
        assert [path.name for path in (tmp_path / "home").iterdir()] == ["machine.json"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"version": 2},
            {"machine_id": "0b6e7c2e-5f0a-4c59-9d52-3f5f2f8f9f10"},
            {"machine_id": "01956A5E-1C00-7ABC-8DEF-0123456789AB"},
            {"machine_id": 7},
            {"identity_key": "machine:" + "0F" * 32},
            {"identity_key": "0f" * 32},
            {"identity_key": None},
            {"created_at": "2025-03-04T05:06:07"},
            {"created_at": "yesterday"},
            {"created_at": 5},
            {"extra": 1},
        ],
    )
    def test_a_changed_field_is_a_conflict(self, tmp_path: Path, changes: dict[str, object]) -> None:
        """Anything but what lcm wrote is refused with a remedy, and stays on disk."""
        write_machine(tmp_path, **changes)
        before = (tmp_path / "machine.json").read_bytes()

        with pytest.raises(IdentityConflict, match=r"machine\.json is damaged; restore it from a backup"):
            load_or_create_machine(tmp_path)

        assert (tmp_path / "machine.json").read_bytes() == before

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 50_000, b"null"])
    def test_a_damaged_file_is_a_conflict(self, tmp_path: Path, data: bytes) -> None:
        """A file that is no such object is never overwritten."""
        (tmp_path / "machine.json").write_bytes(data)

        with pytest.raises(IdentityConflict, match=r"machine\.json is damaged"):
            load_or_create_machine(tmp_path)

        assert (tmp_path / "machine.json").read_bytes() == data

    def test_a_linked_file_is_not_trusted(self, tmp_path: Path) -> None:
        """An identity behind a symbolic link is refused."""
        write_machine(tmp_path)
        (tmp_path / "machine.json").rename(tmp_path / "other.json")
        (tmp_path / "machine.json").symlink_to(tmp_path / "other.json")

        with pytest.raises(StorageError, match="symbolic link"):
            load_or_create_machine(tmp_path)
