"""What a setting that is a text may be, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo

from lcm.settings.table import Kind, Setting


def checked_text(setting: Setting, raw: str) -> str | None:
    """The value of a textual setting without white space around it, a choice in lower case; None: it is not allowed."""
    text = raw.strip()
    if setting.kind is Kind.CHOICE:
        text = text.lower()
        is_allowed = text in setting.choices
    else:
        is_allowed = TEXT_CHECKS[setting.kind](text)
    return text if is_allowed else None


def is_zone(name: str) -> bool:
    if name == "UTC":
        return True
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return bool(name)


def split_url(url: str) -> SplitResult | None:
    """The parts of a printable URL with a valid port, or None."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if url.isprintable() and " " not in url else None


def _is_path(text: str) -> bool:
    return "\0" not in text and (text == "~" or text.startswith(("~/", "/")))


def _is_http_url(text: str) -> bool:
    if text == "":
        return True
    parts = split_url(text)
    return parts is not None and parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc


#: Of a choice only that it is a text: which ones are allowed, the setting says.
TEXT_CHECKS: dict[Kind, Callable[[str], bool]] = {
    Kind.TEXT: str.isprintable,
    Kind.CHOICE: bool,
    Kind.PATH: _is_path,
    Kind.ZONE: is_zone,
    Kind.HTTP_URL: _is_http_url,
}
