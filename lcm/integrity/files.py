"""Whether the bytes of large files are those that their rows describe."""

from __future__ import annotations

from pathlib import Path

from lcm.domain.large_files import LargeFile
from lcm.errors import StorageError, UnknownFile
from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.large_files.reference import FILE_ID
from lcm.large_files.store import load_bytes


def file_name(file_id: str) -> str:
    return f"file {file_id}"


def check_file(folder: Path, file: LargeFile) -> Fault | None:
    """Reads the bytes of one file and compares them with its row."""
    about = file_name(file.file_id)
    try:
        data = load_bytes(folder, file)
    except UnknownFile:
        return fault(FaultKind.MISSING_FILE_BYTES, about, "Its bytes are gone from the project's folder.")
    except StorageError:
        return fault(FaultKind.CHANGED_FILE_BYTES, about, "Its bytes are not those that were stored.")
    if len(data) != file.size_bytes:
        finding = f"Its row says {file.size_bytes} bytes, it has {len(data)}."
        return fault(FaultKind.WRONG_FILE_SIZE, about, finding)
    return None


def stored_file_ids(folder: Path) -> set[str]:
    """Ids of the files whose bytes are in the folder, with a row or not."""
    if not folder.is_dir():
        return set()
    return {found.group() for each in folder.iterdir() if (found := FILE_ID.match(each.name))}
