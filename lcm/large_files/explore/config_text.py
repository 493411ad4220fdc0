"""YAML, TOML and INI: top keys or sections."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import yaml

from lcm.large_files.explore.outline import counted, outline, some_of
from lcm.large_files.explore.sample import Sample

_MAX_KEYS = 30
_YAML_CHARS = 1_000_000
_YAML_EVENTS = 50_000
#: Above these the parsers take too long; a larger file is told as text.
_TOML_CHARS = 250_000
#: A dotted key costs the square of its parts.
_TOML_DOTS_A_LINE = 100
_INI_CHARS = 1_000_000


def explore_yaml(sample: Sample) -> str | None:
    """Top keys of the first document, from parser events: aliases are never followed, nothing is built."""
    text = sample.text[:_YAML_CHARS]
    is_cut = not sample.is_whole or len(text) < len(sample.text)
    found = _YamlOutline()
    try:
        for event in islice(_yaml_events(text), _YAML_EVENTS):
            found.see(event)
    except (yaml.YAMLError, RecursionError):
        if not is_cut:
            return None
    at_least = is_cut or not found.is_ended
    documents = f" in {counted(found.documents, 'document')}" if found.documents > 1 else ""
    if found.root == "mapping" and found.keys:
        headline = f"YAML: a mapping with {counted(found.count, 'top key', at_least=at_least)}{documents}"
        return outline(headline, [some_of(found.keys, _MAX_KEYS, total=found.count)])
    if found.root == "sequence":
        return outline(f"YAML: a sequence of {counted(found.count, 'item', at_least=at_least)}{documents}")
    return None


def _yaml_events(text: str) -> Iterator[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events: Iterator[Any] = yaml.parse(text, Loader=loader)  # type: ignore[no-untyped-call, unused-ignore]
    return events


class _YamlOutline:
    """Sees events one by one; counts the children of the first document's root."""

    def __init__(self) -> None:
        self.root = ""
        self.keys: list[str] = []
        self.count = 0
        self.documents = 0
        self.is_ended = False
        self._depth = 0
        self._is_key = True

    def see(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
        elif isinstance(event, yaml.StreamEndEvent):
            self.is_ended = True
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if self._depth == 0 and self.documents == 1:
                self.root = "mapping" if isinstance(event, yaml.MappingStartEvent) else "sequence"
            elif self._depth == 1:
                self._child("")
            self._depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._depth -= 1
        elif isinstance(event, yaml.ScalarEvent | yaml.AliasEvent) and self._depth == 1:
            self._child(str(getattr(event, "value", "")))

    def _child(self, key: str) -> None:
        if self.documents > 1:
            return
        if self.root == "sequence":
            self.count += 1
            return
        if self._is_key:
            self.count += 1
            if len(self.keys) < _MAX_KEYS and key not in self.keys:
                self.keys.append(key)
        self._is_key = not self._is_key


def explore_toml(sample: Sample) -> str | None:
    if not sample.is_whole or len(sample.text) > _TOML_CHARS:
        return None
    if any(line.count(".") > _TOML_DOTS_A_LINE for line in sample.iter_lines()):
        return None
    try:
        document = tomllib.loads(sample.text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    names = [f"[{key}] {counted(len(value), 'key')}" for key, value in tables.items()]
    names += [key for key in document if key not in tables]
    return outline(f"TOML: {counted(len(document), 'top key')}", [some_of(names, _MAX_KEYS)]) if document else None


def explore_ini(sample: Sample) -> str | None:
    if not sample.is_whole or len(sample.text) > _INI_CHARS:
        return None
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(sample.text)
    except (configparser.Error, ValueError):
        return None
    names = [f"[{name}] {counted(len(parser.options(name)), 'key')}" for name in parser.sections()]
    return outline(f"INI: {counted(len(names), 'section')}", [some_of(names, _MAX_KEYS)]) if names else None
