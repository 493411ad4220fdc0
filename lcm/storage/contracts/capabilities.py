"""What a backend offers, as data; nobody infers it by probing a repository."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CoordinationScope(StrEnum):
    LOCAL = "local"
    DISTRIBUTED = "distributed"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Ask here before an optional operation; an unsupported one raises `UnsupportedCapability`."""

    backend: str
    transactions: bool
    lexical_search: bool
    regex_search: bool
    full_text_search: bool
    promoted_memory: bool
    recall: bool
    coordination: CoordinationScope
