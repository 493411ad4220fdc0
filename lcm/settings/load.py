"""Settings from trusted overrides, the environment, `config.json` and defaults: the first that has a value wins."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, create_model
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

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
from lcm.text import require_safe

#: Raw values by key, before validation.
Layer = Mapping[str, Value]
Layers = Mapping[Origin, Layer]

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
    return second if _is_zone(second) else None


def _is_zone(name: str) -> bool:
    if name == "UTC":
        return True
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return bool(name)


def _validated(layers: Layers) -> dict[str, Value]:
    """Values of all settings by key, the first layer that has one, else the default."""
    sources = [{_field(key): value for key, value in layer.items()} for layer in layers.values()]

    class Layered(_MODEL):  # type: ignore[misc]
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], **_others: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(InitSettingsSource(settings_cls, source) for source in sources)

    try:
        model = Layered()
    except ValidationError as error:
        refused = _translated(error, layers)
    else:
        return {setting.key: getattr(model, _field(setting.key)) for setting in SETTINGS}
    # Raised here, outside the handler: pydantic's error holds the value.
    raise refused


def _translated(error: ValidationError, layers: Layers) -> InvalidSetting:
    name = error.errors(include_input=False, include_context=False, include_url=False)[0]["loc"][0]
    setting = next(setting for setting in SETTINGS if _field(setting.key) == name)
    return _refused(setting, _origin(setting.key, layers))


def _refused(setting: Setting, origin: Origin) -> InvalidSetting:
    place = {Origin.ENVIRONMENT: f" ({setting.environment})", Origin.FILE: f" in {CONFIG_NAME}"}.get(origin, "")
    return InvalidSetting(f"The setting {setting.key}{place} is not valid; allowed is {setting.allowed}.")


def _origin(key: str, layers: Layers) -> Origin:
    return next((origin for origin, layer in layers.items() if key in layer), Origin.DEFAULT)


def _field(key: str) -> str:
    return key.replace(".", "__")


def _type(setting: Setting) -> Any:
    """The pydantic type that parses and checks values of this setting."""
    bounds = Field(ge=setting.minimum, le=setting.maximum)
    types: dict[Kind, Any] = {
        Kind.TEXT: Annotated[str, AfterValidator(_require(str.isprintable))],
        Kind.INTEGER: Annotated[int, bounds],
        Kind.NUMBER: Annotated[float, bounds],
        Kind.FLAG: bool,
        Kind.CHOICE: Annotated[str, BeforeValidator(_lower), AfterValidator(_require(setting.choices.__contains__))],
        Kind.PATH: Annotated[str, AfterValidator(_require(_is_path))],
        Kind.ZONE: Annotated[str, AfterValidator(_require(_is_zone))],
        Kind.HTTP_URL: Annotated[str, AfterValidator(_require(_is_http_url))],
    }
    return types[setting.kind] if setting.default is not None else types[setting.kind] | None


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _require(is_allowed: Callable[[str], bool]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not is_allowed(value):
            raise ValueError
        return value

    return check


def _is_path(text: str) -> bool:
    return "\0" not in text and (text == "~" or text.startswith(("~/", "/")))


def _is_http_url(text: str) -> bool:
    if text == "":
        return True
    parts = _split(text)
    return parts is not None and parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc


def _split(url: str) -> SplitResult | None:
    """The parts of a printable URL with a valid port, or None."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if url.isprintable() and " " not in url else None


class _Base(BaseSettings):
    model_config = SettingsConfigDict(str_strip_whitespace=True)


_FIELDS: dict[str, Any] = {_field(setting.key): (_type(setting), setting.default) for setting in SETTINGS}
_MODEL: Any = create_model("_Model", __base__=_Base, **_FIELDS)


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
    parts = _split(url)
    if parts is None or parts.scheme != "postgresql" or "?" in url or "#" in url:
        return False
    database = parts.path.removeprefix("/")
    return bool(parts.username and parts.password and parts.hostname and database) and "/" not in database
