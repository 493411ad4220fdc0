"""The effective settings as a person may see them: secrets masked, each value with its origin."""

from __future__ import annotations

from dataclasses import dataclass

from lcm.settings.model import Origin, Settings
from lcm.settings.table import SETTINGS, Setting, Value, get_setting

MASK = "********"


@dataclass(frozen=True, slots=True)
class SettingView:
    """One setting in effect; `value` is the mask when a secret is set, and None when nothing is set."""

    key: str
    value: Value
    origin: Origin
    secret: bool
    help: str
    default: Value
    environment: str


def describe(settings: Settings) -> list[SettingView]:
    """All settings, in the order of the table."""
    return [_view(settings, setting) for setting in SETTINGS]


def get_value(settings: Settings, key: str) -> Value:
    """The value in effect, masked when it is a secret; code that needs a secret takes it from `settings` itself.

    Raises:
        InvalidSetting: there is no such setting.
    """
    return _view(settings, get_setting(key)).value


def _view(settings: Settings, setting: Setting) -> SettingView:
    value = settings.values[setting.key]
    return SettingView(
        key=setting.key,
        value=MASK if setting.secret and value is not None else value,
        origin=settings.origins[setting.key],
        secret=setting.secret,
        help=setting.help,
        default=setting.default,
        environment=setting.environment,
    )
