"""Settings from trusted overrides, the environment, `config.json` and defaults: the first that has a value wins."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lcm.errors import InvalidSetting
from lcm.settings.config_file import (
    CONFIG_NAME,
    encode_document,
    flatten,
    read_document,
    refuse_environment_only,
    with_value,
)
from lcm.settings.model import (
    CompactionSettings,
    ImportSettings,
    LogSettings,
    Origin,
    PostgresStorage,
    Settings,
    SqliteStorage,
    SummarizerSettings,
)
from lcm.settings.table import JSON_TYPES, SETTINGS, Kind, Setting, Value, get_setting
from lcm.settings.text_checks import TEXT_CHECKS, checked_text, is_zone, split_url
from lcm.text import require_safe

#: Raw values by key, before validation.
Layer = Mapping[str, Value]
Layers = Mapping[Origin, Layer]

_PREFIX = "LCM_"
_URL_ALLOWED = "postgresql://user:password@host[:port]/database, without query and fragment"


def load_settings(*, environ: Mapping[str, str], overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings in effect; reads `config.json` in the home folder and creates nothing.

    Args:
        environ: the process's environment; nothing else of it is read.
        overrides: values by dotted key, of the setting's type or as text; None is not given.

    Raises:
        InvalidSetting: an unknown key or a value that is not allowed; it names the key and what is allowed, and never
            the value.
    """
    user_home = environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    layers: dict[Origin, Layer] = {
        Origin.OVERRIDE: _override_layer(overrides or {}),
        Origin.ENVIRONMENT: _environment_layer(environ),
    }
    home = _expanded(_validated(layers)["home"], user_home)
    document = read_document(home)
    layers[Origin.FILE] = flatten(document) if document else {}
    values = {key: _shown(key, value, user_home) for key, value in _validated(layers).items()}
    return _settings(values, {key: _origin(key, layers) for key in values})


def unknown_variables(environ: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Variables with lcm's prefix that no setting reads, by name, each with the known one it looks like, if any."""
    known = {setting.environment for setting in SETTINGS}
    unknown = sorted(name for name in environ if name.startswith(_PREFIX) and name not in known)
    return [(name, _nearest(name, known)) for name in unknown]


def _nearest(name: str, known: Collection[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=0.8)), None)


def set_in_file(home: Path, key: str, raw: str, *, write: Callable[[Path, bytes], None]) -> None:
    """Keep a setting in `home/config.json`; other keys stay as they are.

    Args:
        home: made with mode 0700 when missing.
        key: dotted, from the table.
        raw: text, parsed by the setting's kind; an empty text removes a setting that is unset by default.
        write: the durable private write, `lcm.files.durable.write_private`; called once, after everything is validated.

    Raises:
        InvalidSetting: the key, the value, or what the file would then hold is not allowed; nothing was written.
        UnsafeText: the text cannot be kept in JSON.
    """
    require_safe("value", raw)
    setting = get_setting(key)
    refuse_environment_only(setting)
    value = None if raw == "" and setting.default is None else _validated({Origin.OVERRIDE: {key: raw}})[key]
    document = with_value(read_document(home) or {}, key, value)
    _validated({Origin.FILE: flatten(document)})
    data = encode_document(document)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    write(home / CONFIG_NAME, data)


def _override_layer(overrides: Mapping[str, object]) -> Layer:
    return {key: _override(get_setting(key), value) for key, value in overrides.items() if value is not None}


def _override(setting: Setting, value: object) -> Value:
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, str) or type(value) in JSON_TYPES[setting.kind]:
        return value  # type: ignore[return-value]
    raise _refused(setting, Origin.OVERRIDE)


def _environment_layer(environ: Mapping[str, str]) -> Layer:
    found = {setting.key: _from_environment(setting, environ) for setting in SETTINGS}
    return {key: text for key, text in found.items() if text is not None}


def _from_environment(setting: Setting, environ: Mapping[str, str]) -> str | None:
    text = environ.get(setting.environment)
    if text is not None and (text.strip() or setting.may_be_empty):
        return text
    if setting.second_environment is None:
        return None
    # TZ belongs to the system, which also allows forms that are no zone name: those say nothing here.
    second = environ.get(setting.second_environment, "").removeprefix(":")
    return second if is_zone(second) else None


def _validated(layers: Layers) -> dict[str, Value]:
    """Values of all settings by key, the first layer that has one, else the default."""
    given = {key: value for layer in reversed([*layers.values()]) for key, value in layer.items()}
    if all(_is_plain(get_setting(key), value) for key, value in given.items()):
        return {setting.key: _plain(setting, given, layers) for setting in SETTINGS}
    from lcm.settings.validation import validated

    values, failed = validated([dict(layer) for layer in layers.values()])
    if failed is not None:
        raise _refused(failed, _origin(failed.key, layers))
    return values


def _is_plain(setting: Setting, value: Value) -> bool:
    """Whether a value is a text that stays one: checking those needs no pydantic, whose import costs 200 ms of CPU."""
    return setting.kind in TEXT_CHECKS and isinstance(value, str)


def _plain(setting: Setting, given: Layer, layers: Layers) -> Value:
    if setting.key not in given:
        return setting.default
    text = checked_text(setting, str(given[setting.key]))
    if text is None:
        raise _refused(setting, _origin(setting.key, layers))
    return text


def _refused(setting: Setting, origin: Origin) -> InvalidSetting:
    place = {Origin.ENVIRONMENT: f" ({setting.environment})", Origin.FILE: f" in {CONFIG_NAME}"}.get(origin, "")
    return InvalidSetting(f"The setting {setting.key}{place} is not valid; allowed is {setting.allowed}.")


def _origin(key: str, layers: Layers) -> Origin:
    return next((origin for origin, layer in layers.items() if key in layer), Origin.DEFAULT)


def _shown(key: str, value: Value, user_home: str) -> Value:
    is_path = get_setting(key).kind is Kind.PATH and value is not None
    return str(_expanded(value, user_home)) if is_path else value


def _expanded(value: Value, user_home: str) -> Path:
    text = str(value)
    return Path(user_home, text[2:]) if text.startswith("~") else Path(text)


def _settings(values: Mapping[str, Value], origins: Mapping[str, Origin]) -> Settings:
    imports = _section(values, "import")
    return Settings(
        home=Path(str(values["home"])),
        timezone=str(values["timezone"]),
        log=LogSettings(**_section(values, "log")),
        storage=_storage(values),
        compaction=CompactionSettings(**_section(values, "compaction")),
        summarizer=SummarizerSettings(**_section(values, "summarizer")),
        imports=ImportSettings(**{name: Path(folder) for name, folder in imports.items()}),
        values=MappingProxyType(dict(values)),
        origins=MappingProxyType(dict(origins)),
    )


def _section(values: Mapping[str, Value], section: str) -> dict[str, Any]:
    prefix = f"{section}."
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def _storage(values: Mapping[str, Value]) -> SqliteStorage | PostgresStorage:
    if values["storage.backend"] == "sqlite":
        return SqliteStorage(projects_dir=Path(str(values["home"]), "projects"))
    url, ca_file = values["storage.postgresql.url"], values["storage.postgresql.ca_file"]
    if url is None or ca_file is None:
        raise InvalidSetting("The backend postgresql needs the variables LCM_POSTGRES_URL and LCM_POSTGRES_CA_FILE.")
    if not _is_database_url(str(url)):
        raise InvalidSetting(f"The setting storage.postgresql.url (LCM_POSTGRES_URL) must be {_URL_ALLOWED}.")
    return PostgresStorage(url=str(url), ca_file=Path(str(ca_file)))


def _is_database_url(url: str) -> bool:
    parts = split_url(url)
    if parts is None or parts.scheme != "postgresql" or "?" in url or "#" in url:
        return False
    database = parts.path.removeprefix("/")
    return bool(parts.username and parts.password and parts.hostname and database) and "/" not in database
