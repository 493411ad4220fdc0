"""Every setting of lcm, once: key, environment variable, kind, default, what is allowed, help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lcm.errors import InvalidSetting
from lcm.text import one_line

Value = str | int | float | bool | None


class Kind(StrEnum):
    """What a value is; it decides the JSON type, how text is parsed, and the sentence on what is allowed."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"
    PATH = "path"
    ZONE = "zone"
    HTTP_URL = "http_url"


#: Exact types of a JSON or override value; a boolean is no integer.
JSON_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.TEXT: (str,),
    Kind.INTEGER: (int,),
    Kind.NUMBER: (int, float),
    Kind.FLAG: (bool,),
    Kind.CHOICE: (str,),
    Kind.PATH: (str,),
    Kind.ZONE: (str,),
    Kind.HTTP_URL: (str,),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: dotted, as in `config.json` (each dot is a nested section) and in overrides.
        environment: its variable; second_environment: read when the first is not set.
        default: None means unset by default.
        minimum, maximum: inclusive, of an INTEGER or NUMBER.
        secret: shown as asterisks only. environment_only: refused in `config.json`.
    """

    key: str
    environment: str
    kind: Kind
    default: Value
    help: str
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    environment_only: bool = False
    second_environment: str | None = None

    @property
    def may_be_empty(self) -> bool:
        """Whether the empty text is a value; otherwise an empty variable counts as not set."""
        return self.default == ""

    @property
    def allowed(self) -> str:
        """What is allowed, as the end of a sentence."""
        match self.kind:
            case Kind.INTEGER:
                return f"an integer from {self.minimum} to {self.maximum}"
            case Kind.NUMBER:
                return f"a number from {self.minimum} to {self.maximum}"
            case Kind.CHOICE:
                return f"one of {', '.join(self.choices)}"
        return _ALLOWED[self.kind]


_ALLOWED = {
    Kind.TEXT: "text of one line",
    Kind.FLAG: "true or false",
    Kind.PATH: "an absolute path, or one that starts with ~/",
    Kind.ZONE: "an IANA time zone such as Europe/Berlin, or UTC",
    Kind.HTTP_URL: "an http:// or https:// address without user and password, or nothing",
}

_MOST_TOKENS = 10_000_000


def _count(name: str, default: int | None, minimum: int, maximum: int, text: str) -> Setting:
    return Setting(
        f"compaction.{name}", f"LCM_{name.upper()}", Kind.INTEGER, default, text, minimum=minimum, maximum=maximum
    )


_COMPACTION = (
    Setting(
        "compaction.context_threshold",
        "LCM_CONTEXT_THRESHOLD",
        Kind.NUMBER,
        0.75,
        "Share of the token budget above which a conversation is compacted.",
        minimum=0.01,
        maximum=1,
    ),
    _count("fresh_tail_count", 32, 0, 100_000, "Newest messages that are never compacted."),
    _count("fresh_tail_max_tokens", None, 1, _MOST_TOKENS, "Most tokens of the fresh tail, in whole tool groups."),
    _count("leaf_min_fanout", 8, 1, 10_000, "Fewest leaf summaries that are condensed together."),
    _count("condensed_min_fanout", 4, 1, 10_000, "Fewest deeper summaries that are condensed together."),
    _count("condensed_min_fanout_hard", 2, 1, 10_000, "The same when the context must shrink."),
    _count("incremental_max_depth", 0, -1, 1000, "Deepest summaries condensed after a turn; -1 is unlimited."),
    _count("leaf_chunk_tokens", 20_000, 1, _MOST_TOKENS, "Most source tokens of one leaf summary."),
    _count("leaf_target_tokens", 1200, 1, _MOST_TOKENS, "Tokens a leaf summary should have."),
    _count("condensed_target_tokens", 2000, 1, _MOST_TOKENS, "Tokens a condensed summary should have."),
    _count("max_expand_tokens", 4000, 1, _MOST_TOKENS, "Token cap of expand, where a cap is asked for."),
    _count("large_file_token_threshold", 25_000, 1, _MOST_TOKENS, "Tokens from which a file leaves its message."),
    Setting(
        "compaction.autocompact_disabled",
        "LCM_AUTOCOMPACT_DISABLED",
        Kind.FLAG,
        default=False,
        help="Compact only when asked.",
    ),
    _count("max_rounds", 10, 1, 1000, "Most rounds of compacting until a context is under its target."),
    _count("max_passes", 1000, 1, 1_000_000, "Most passes of one compaction."),
    _count("max_seconds", 3600, 1, 604_800, "Longest time of one compaction, in seconds."),
)

_SUMMARIZER = (
    Setting(
        "summarizer.provider",
        "LCM_SUMMARY_PROVIDER",
        Kind.CHOICE,
        "auto",
        "Who writes summaries; auto uses the model when one is configured, else the offline summarizer.",
        choices=("auto", "litellm", "offline"),
    ),
    Setting(
        "summarizer.model", "LCM_SUMMARY_MODEL", Kind.TEXT, "", "Model that writes summaries, as LiteLLM names it."
    ),
    Setting("summarizer.base_url", "LCM_SUMMARY_BASE_URL", Kind.HTTP_URL, "", "Address of the model's provider."),
    Setting(
        "summarizer.api_key",
        "LCM_SUMMARY_API_KEY",
        Kind.TEXT,
        None,
        "Key of the model's provider.",
        secret=True,
        environment_only=True,
    ),
    Setting(
        "summarizer.timeout_s",
        "LCM_SUMMARY_TIMEOUT_S",
        Kind.NUMBER,
        600,
        "Longest wait for one model call, in seconds.",
        minimum=0.1,
        maximum=3600,
    ),
    Setting(
        "summarizer.max_attempts",
        "LCM_SUMMARY_MAX_ATTEMPTS",
        Kind.INTEGER,
        3,
        "Most attempts of one model call.",
        minimum=1,
        maximum=10,
    ),
    Setting(
        "summarizer.max_input_tokens",
        "LCM_SUMMARY_MAX_INPUT_TOKENS",
        Kind.INTEGER,
        None,
        "The model's context, in tokens; longer sources are summarized in pieces.",
        minimum=2048,
        maximum=_MOST_TOKENS,
    ),
)

#: In the order in which they are shown.
SETTINGS: tuple[Setting, ...] = (
    Setting("home", "LCM_HOME", Kind.PATH, "~/.lcm", "Folder of lcm's own files.", environment_only=True),
    Setting(
        "timezone",
        "LCM_TIMEZONE",
        Kind.ZONE,
        "UTC",
        "Time zone in which times are shown.",
        second_environment="TZ",
    ),
    Setting(
        "log.level",
        "LCM_LOG_LEVEL",
        Kind.CHOICE,
        "warning",
        "Least level of what is logged.",
        choices=("debug", "info", "warning", "error"),
    ),
    Setting(
        "storage.backend",
        "LCM_STORAGE_BACKEND",
        Kind.CHOICE,
        "sqlite",
        "Where projects are stored.",
        choices=("sqlite", "postgresql"),
    ),
    Setting(
        "storage.postgresql.url",
        "LCM_POSTGRES_URL",
        Kind.TEXT,
        None,
        "Address of the PostgreSQL database: postgresql://user:password@host/database.",
        secret=True,
        environment_only=True,
    ),
    Setting(
        "storage.postgresql.ca_file",
        "LCM_POSTGRES_CA_FILE",
        Kind.PATH,
        None,
        "File of the authority that signed the PostgreSQL server's certificate.",
        environment_only=True,
    ),
    *_COMPACTION,
    *_SUMMARIZER,
    Setting("import.claude_dir", "CLAUDE_CONFIG_DIR", Kind.PATH, "~/.claude", "Folder of Claude Code."),
    Setting("import.codex_dir", "CODEX_HOME", Kind.PATH, "~/.codex", "Folder of Codex."),
)

_BY_KEY = {setting.key: setting for setting in SETTINGS}


def find_setting(key: str) -> Setting | None:
    return _BY_KEY.get(key)


def get_setting(key: str) -> Setting:
    """The setting of this key.

    Raises:
        InvalidSetting: there is none; the error lists the keys near it.
    """
    if key not in _BY_KEY:
        raise unknown_setting(key)
    return _BY_KEY[key]


def is_section(key: str) -> bool:
    """Whether settings stand below this key: `storage`, `storage.postgresql`, `compaction`, ..."""
    return any(known.startswith(f"{key}.") for known in _BY_KEY)


def unknown_setting(key: str) -> InvalidSetting:
    """The error for a key that is not in the table; it lists the section's keys, else all sections."""
    section = key.partition(".")[0]
    near: Iterable[str] = [known for known in _BY_KEY if known.startswith(f"{section}.")]
    near = near or dict.fromkeys(known.partition(".")[0] for known in _BY_KEY)
    return InvalidSetting(f"There is no setting {one_line(key, 80)}; known are {', '.join(near)}.")
