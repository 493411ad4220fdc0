"""Settings that are more than texts, parsed and checked by pydantic-settings; imported only when there are some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, create_model
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from lcm.settings.table import SETTINGS, Kind, Setting, Value
from lcm.settings.text_checks import checked_text


def validated(layers: Sequence[Mapping[str, Value]]) -> tuple[dict[str, Value], Setting | None]:
    """Values of all settings by key, the first layer that has one, else the default; or the setting that is refused.

    It is told, not raised: the error of pydantic holds the value and must be no context of another one.
    """
    sources = [{_field(key): value for key, value in layer.items()} for layer in layers]

    class Layered(_MODEL):  # type: ignore[misc]
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], **_others: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(InitSettingsSource(settings_cls, source) for source in sources)

    try:
        model = Layered()
    except ValidationError as error:
        name = error.errors(include_input=False, include_context=False, include_url=False)[0]["loc"][0]
        return {}, next(setting for setting in SETTINGS if _field(setting.key) == name)
    return {setting.key: getattr(model, _field(setting.key)) for setting in SETTINGS}, None


def _field(key: str) -> str:
    return key.replace(".", "__")


def _type(setting: Setting) -> Any:
    """The pydantic type that parses and checks values of this setting."""
    bounds = Field(ge=setting.minimum, le=setting.maximum)
    numbers: dict[Kind, Any] = {
        Kind.INTEGER: Annotated[int, bounds],
        Kind.NUMBER: Annotated[float, bounds],
        Kind.FLAG: bool,
    }
    found = numbers.get(setting.kind) or Annotated[str, BeforeValidator(_text_of(setting))]
    return found if setting.default is not None else found | None


def _text_of(setting: Setting) -> Any:
    def check(value: object) -> object:
        text = checked_text(setting, value) if isinstance(value, str) else value
        if text is None and value is not None:
            raise ValueError
        return text

    return check


class _Base(BaseSettings):
    model_config = SettingsConfigDict(str_strip_whitespace=True)


_FIELDS: dict[str, Any] = {_field(setting.key): (_type(setting), setting.default) for setting in SETTINGS}
_MODEL: Any = create_model("_Model", __base__=_Base, **_FIELDS)
