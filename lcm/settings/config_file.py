"""The file `config.json` as a mapping of dotted keys, and back; knows JSON and keys, not what values mean."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from lcm.errors import InvalidSetting
from lcm.settings.table import JSON_TYPES, Setting, Value, find_setting, is_section, unknown_setting

CONFIG_NAME = "config.json"
MAX_CONFIG_BYTES = 4 * 1024 * 1024
_VERSION = 1

Document = dict[str, Any]


def read_document(home: Path) -> Document | None:
    """The object in `home/config.json`, or None without such a file; nothing is created.

    Raises:
        InvalidSetting: not readable, over 4 MiB, no JSON object, a repeated key, or another version than 1.
    """
    data = _read_bounded(home / CONFIG_NAME)
    return None if data is None else parse_document(data)


def _read_bounded(path: Path) -> bytes | None:
    try:
        # O_NONBLOCK: a FIFO in this place must not block every command.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        raise InvalidSetting(f"{CONFIG_NAME} cannot be read; check its permissions.") from None
    if data is None:
        raise InvalidSetting(f"{CONFIG_NAME} is not a regular file.")
    return data


def parse_document(data: bytes) -> Document:
    """The JSON object in `data`.

    Raises:
        InvalidSetting: as `read_document`.
    """
    if len(data) > MAX_CONFIG_BYTES:
        raise InvalidSetting(f"{CONFIG_NAME} is larger than {MAX_CONFIG_BYTES} bytes.")
    try:
        document = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidSetting(f"{CONFIG_NAME} is not valid JSON; correct it or move it away.") from None
    if not isinstance(document, dict):
        raise InvalidSetting(f"{CONFIG_NAME} must hold one JSON object.")
    if type(document.setdefault("version", _VERSION)) is not int or document["version"] != _VERSION:
        raise InvalidSetting(f"{CONFIG_NAME} has an unknown version; this lcm reads version {_VERSION}.")
    return document


def _object(pairs: list[tuple[str, Any]]) -> Document:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidSetting(f"{CONFIG_NAME} has the same key twice in one section; keep one.")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def flatten(document: Document) -> dict[str, Value]:
    """The settings in a document by dotted key.

    Raises:
        InvalidSetting: an unknown key, a value of the wrong JSON type, or a key that only the environment may set.
    """
    return {
        setting.key: _checked(setting, value)
        for setting, value in _iter_settings({k: v for k, v in document.items() if k != "version"}, "")
    }


def _iter_settings(section: Document, prefix: str) -> Iterator[tuple[Setting, object]]:
    for name, value in section.items():
        key = prefix + name
        setting = None if "." in name else find_setting(key)
        if setting is not None:
            yield setting, value
        elif isinstance(value, dict) and "." not in name and is_section(key):
            yield from _iter_settings(value, f"{key}.")
        else:
            raise unknown_setting(key)


def _checked(setting: Setting, value: object) -> Value:
    refuse_environment_only(setting)
    if type(value) in JSON_TYPES[setting.kind] or (value is None and setting.default is None):
        return value  # type: ignore[return-value]
    raise InvalidSetting(f"The setting {setting.key} in {CONFIG_NAME} is not valid; allowed is {setting.allowed}.")


def refuse_environment_only(setting: Setting) -> None:
    """Refuse to keep in a file what belongs to the environment.

    Raises:
        InvalidSetting: with the variable to use.
    """
    if setting.environment_only:
        raise InvalidSetting(
            f"The setting {setting.key} is not allowed in {CONFIG_NAME}; set the variable {setting.environment}."
        )


def with_value(document: Document, key: str, value: Value) -> Document:
    """A copy of the document in which `key` has this value, or is gone when it is None; all else is kept."""
    name, dot, rest = key.partition(".")
    result = dict(document)
    if dot:
        section = result.get(name)
        result[name] = with_value(section if isinstance(section, dict) else {}, rest, value)
    elif value is None:
        result.pop(name, None)
    else:
        result[name] = value
    return result


def encode_document(document: Document) -> bytes:
    """The file's bytes: version first, indented, readable.

    Raises:
        InvalidSetting: over 4 MiB.
    """
    text = json.dumps({"version": _VERSION, **document}, indent=2, ensure_ascii=False)
    data = text.encode() + b"\n"
    if len(data) > MAX_CONFIG_BYTES:
        raise InvalidSetting(f"{CONFIG_NAME} would be larger than {MAX_CONFIG_BYTES} bytes.")
    return data
