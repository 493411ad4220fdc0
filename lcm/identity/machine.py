"""The identity of this machine, made locally at first need and never replaced."""

from __future__ import annotations

import json
import re
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lcm.clock import Clock, utc_now
from lcm.errors import IdentityConflict
from lcm.files.durable import create_private, ensure_private_dir, read_private
from lcm.ids import uuid7

MACHINE_NAME = "machine.json"
_MAX_BYTES = 64 * 1024
_VERSION = 1
_KEYS = {"version", "machine_id", "identity_key", "created_at"}
_IDENTITY_KEY = re.compile(r"machine:[0-9a-f]{64}")
_DAMAGED = f"{MACHINE_NAME} is damaged; restore it from a backup, or remove it to give this machine a new identity."


@dataclass(frozen=True, slots=True)
class Machine:
    """Who this machine is: `machine_id` is a UUIDv7 and may be shown, `identity_key` proves it and may not."""

    machine_id: uuid.UUID
    identity_key: str = field(repr=False)
    created_at: datetime


def load_or_create_machine(home: Path, *, clock: Clock = utc_now) -> Machine:
    """The identity in `home/machine.json`, created with mode 0600 when missing.

    Processes that create it at once agree: one wins, the others read the winner's file.

    Raises:
        IdentityConflict: the file is damaged; it is left as it is.
        StorageError: the home folder or the file is unsafe or not writable.
    """
    path = home / MACHINE_NAME
    found = read_private(path, max_bytes=_MAX_BYTES)
    if found is None:
        ensure_private_dir(home)
        create_private(path, _encoded(_new_machine(clock)))
        # Read back also after winning: what counts is what is on disk.
        found = read_private(path, max_bytes=_MAX_BYTES)
    machine = None if found is None else _decoded(found)
    if machine is None:
        raise IdentityConflict(_DAMAGED)
    return machine


def _new_machine(clock: Clock) -> Machine:
    return Machine(uuid7(), f"machine:{secrets.token_hex(32)}", clock())


def _encoded(machine: Machine) -> bytes:
    fields = {
        "version": _VERSION,
        "machine_id": str(machine.machine_id),
        "identity_key": machine.identity_key,
        "created_at": machine.created_at.isoformat(),
    }
    return json.dumps(fields, indent=2).encode() + b"\n"


def _decoded(data: bytes) -> Machine | None:
    """The machine in the file's bytes, or None when anything in them is not as lcm writes it."""
    try:
        fields = json.loads(data)
        if not isinstance(fields, dict) or fields.keys() != _KEYS or not _has_valid_texts(fields):
            return None
        created_at = datetime.fromisoformat(fields["created_at"]).astimezone(UTC)
        return Machine(uuid.UUID(fields["machine_id"]), fields["identity_key"], created_at)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _has_valid_texts(fields: dict[str, Any]) -> bool:
    machine_id = uuid.UUID(fields["machine_id"]) if isinstance(fields["machine_id"], str) else None
    return (
        fields["version"] == _VERSION
        and machine_id is not None
        and machine_id.version == 7
        and str(machine_id) == fields["machine_id"]
        and isinstance(fields["identity_key"], str)
        and _IDENTITY_KEY.fullmatch(fields["identity_key"]) is not None
        and datetime.fromisoformat(fields["created_at"]).tzinfo is not None
    )
