"""The resolved settings: frozen, complete, and the same for every entry point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from lcm.settings.table import Value


class Origin(StrEnum):
    """Where a value came from; the first that has one wins."""

    OVERRIDE = "override"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SqliteStorage:
    """One SQLite file per project below `projects_dir`."""

    projects_dir: Path
    backend: Literal["sqlite"] = "sqlite"


@dataclass(frozen=True, slots=True)
class PostgresStorage:
    """One PostgreSQL database for all; the URL holds a password, so it is not in the repr."""

    url: str = field(repr=False)
    ca_file: Path
    backend: Literal["postgresql"] = "postgresql"


@dataclass(frozen=True, slots=True)
class LogSettings:
    level: str


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """When and how far conversations are compacted; counts are messages or summaries, sizes are estimated tokens.

    Attributes:
        context_threshold: share of the token budget, above 0 up to 1.
        fresh_tail_max_tokens: None is no bound.
        incremental_max_depth: -1 is unlimited.
        max_seconds: of one compaction, wall time.
    """

    context_threshold: float
    fresh_tail_count: int
    fresh_tail_max_tokens: int | None
    leaf_min_fanout: int
    condensed_min_fanout: int
    condensed_min_fanout_hard: int
    incremental_max_depth: int
    leaf_chunk_tokens: int
    leaf_target_tokens: int
    condensed_target_tokens: int
    max_expand_tokens: int
    large_file_token_threshold: int
    autocompact_disabled: bool
    max_rounds: int
    max_passes: int
    max_seconds: int


@dataclass(frozen=True, slots=True)
class SummarizerSettings:
    """Who writes summaries; `provider` is auto, litellm or offline, and empty texts are not configured.

    `max_input_tokens` is the model's context; None is what LiteLLM knows of it.
    """

    provider: str
    model: str
    base_url: str
    api_key: str | None = field(repr=False)
    timeout_s: float
    max_attempts: int
    max_input_tokens: int | None


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """Folders of the coding agents whose transcripts are imported."""

    claude_dir: Path
    codex_dir: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, resolved once at the edge.

    Attributes:
        home: absolute folder of lcm's own files; it need not exist.
        timezone: IANA name.
        values, origins: the same by key, for showing; secrets are in `values`, hence no repr.
    """

    home: Path
    timezone: str
    log: LogSettings
    storage: SqliteStorage | PostgresStorage
    compaction: CompactionSettings
    summarizer: SummarizerSettings
    imports: ImportSettings
    values: Mapping[str, Value] = field(repr=False, compare=False)
    origins: Mapping[str, Origin] = field(repr=False, compare=False)
