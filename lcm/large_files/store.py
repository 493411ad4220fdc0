"""Bytes of large files in the project's folder: written once, durable before their row is, read as a stream."""

from __future__ import annotations

import hashlib
import mimetypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lcm.domain.large_files import LargeFile, NewLargeFile
from lcm.errors import StorageError, UnknownFile
from lcm.files.durable import create_private, ensure_private_dir, fsync_directory, read_private, write_private
from lcm.files.permissions import open_private, safe_errors
from lcm.ids import file_id

FOLDER = "files"
MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Redacted bytes that left a message, with their id (equal bytes have an equal id) and what they hold in words."""

    file_id: str
    sha256: bytes
    data: bytes
    name: str | None
    mime_type: str | None
    exploration_summary: str | None = None


def file_bytes(
    data: bytes, *, name: str | None, mime_type: str | None, exploration_summary: str | None = None
) -> FileBytes:
    sha256 = hashlib.sha256(data).digest()
    return FileBytes(file_id(sha256), sha256, data, name, mime_type, exploration_summary)


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
        exploration_summary=file.exploration_summary,
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


@contextmanager
def open_bytes(folder: Path, file: LargeFile) -> Iterator[BinaryIO]:
    """The stored bytes as a stream, for reading parts of them; only their number is checked.

    Raises:
        UnknownFile: the bytes are gone.
        StorageError: there are more or fewer bytes than were stored, or the system refused.
    """
    with safe_errors("Reading the file"):
        try:
            descriptor = open_private(folder / Path(file.storage_uri).name, os.O_RDONLY)
        except FileNotFoundError:
            raise UnknownFile("The bytes of this file are gone from the project's folder.") from None
        with os.fdopen(descriptor, "rb") as stream:
            if os.fstat(descriptor).st_size != file.size_bytes:
                raise StorageError("The bytes of this file are not those that were stored.")
            yield stream


def _extension(file: FileBytes) -> str:
    suffix = Path(file.name).suffix if file.name else ""
    if suffix and len(suffix) <= 12 and suffix[1:].isalnum() and suffix.isascii():
        return suffix.lower()
    return mimetypes.guess_extension(file.mime_type or "") or ".txt"
