"""Bytes of large files in the project's folder: written once, durable before their row is."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from lcm.domain.large_files import LargeFile, NewLargeFile
from lcm.errors import StorageError, UnknownFile
from lcm.files.durable import create_private, ensure_private_dir, fsync_directory, read_private, write_private
from lcm.ids import file_id

FOLDER = "files"
MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Redacted bytes that left a message, with their id (equal bytes have an equal id)."""

    file_id: str
    sha256: bytes
    data: bytes
    name: str | None
    mime_type: str | None


def file_bytes(data: bytes, *, name: str | None, mime_type: str | None) -> FileBytes:
    sha256 = hashlib.sha256(data).digest()
    return FileBytes(file_id(sha256), sha256, data, name, mime_type)


def store_bytes(folder: Path, file: FileBytes, conversation_id: int) -> NewLargeFile:
    """Write the bytes durably, also over damaged ones; the row may be committed after this returns."""
    ensure_private_dir(folder)
    name = f"{file.file_id}{_extension(file)}"
    path = folder / name
    if not create_private(path, file.data):
        if not _holds(path, file.sha256):
            write_private(path, file.data)
        fsync_directory(folder)  # who created it may not have come so far
    return NewLargeFile(
        file_id=file.file_id,
        conversation_id=conversation_id,
        size_bytes=len(file.data),
        content_sha256=file.sha256,
        storage_uri=f"{FOLDER}/{name}",
        file_name=file.name,
        mime_type=file.mime_type,
    )


def _holds(path: Path, sha256: bytes) -> bool:
    data = read_private(path, max_bytes=MAX_FILE_BYTES)
    return data is not None and hashlib.sha256(data).digest() == sha256


def load_bytes(folder: Path, file: LargeFile) -> bytes:
    """The stored bytes, checked against their digest.

    Raises:
        UnknownFile: the bytes are gone.
        StorageError: the bytes are not those that were stored.
    """
    data = read_private(folder / Path(file.storage_uri).name, max_bytes=MAX_FILE_BYTES)
    if data is None:
        raise UnknownFile("The bytes of this file are gone from the project's folder.")
    if hashlib.sha256(data).digest() != file.content_sha256:
        raise StorageError("The bytes of this file are not those that were stored.")
    return data


def _extension(file: FileBytes) -> str:
    suffix = Path(file.name).suffix if file.name else ""
    if suffix and len(suffix) <= 12 and suffix[1:].isalnum() and suffix.isascii():
        return suffix.lower()
    return mimetypes.guess_extension(file.mime_type or "") or ".txt"
