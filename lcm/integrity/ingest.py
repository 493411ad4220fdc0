"""Whether what ingest remembers to have stored is there: messages that nothing else would miss. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lcm.integrity.faults import Fault, FaultKind, fault
from lcm.storage.contracts.integrity import CheckpointRow
from lcm.transcripts.source_state import SourceState

_DIGEST_BYTES = 32


def anchors_of(row: CheckpointRow) -> list[bytes]:
    """Keys of the messages that the next ones of a source stand behind.

    A state that cannot be read is none: the source is then read from its start.
    """
    state = SourceState.read(row.state)
    return [] if state is None else [key for key in map(_key, state.placed.values()) if key is not None]


def check_anchors(row: CheckpointRow, lost: frozenset[bytes]) -> Iterator[Fault]:
    """`lost` are keys of messages that are not stored."""
    count = sum(key in lost for key in anchors_of(row))
    if count:
        finding = f"It was read past {count} message{'s' if count > 1 else ''} that it gave and that are gone."
        yield fault(FaultKind.MISSING_MESSAGE, f"source {row.source_id}", finding)


def check_lost_messages(count: int | None) -> Iterator[Fault]:
    """`count` of the messages that were ever stored are gone; None: nobody knows."""
    if count:
        finding = f"{count} that {'were' if count > 1 else 'was'} stored once {'are' if count > 1 else 'is'} gone."
        yield fault(FaultKind.MISSING_MESSAGE, "messages", finding)


def _key(text: str) -> bytes | None:
    try:
        key = bytes.fromhex(text)
    except (ValueError, TypeError):
        return None
    return key if len(key) == _DIGEST_BYTES else None
