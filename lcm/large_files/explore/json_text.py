"""JSON and JSON lines: the shape to depth 2, read as a stream of events, so that no nesting and no size can hurt."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from itertools import islice

import ijson
import msgspec

from lcm.large_files.explore.outline import counted, outline, some_of
from lcm.large_files.explore.sample import Sample

_MAX_KEYS = 10
_MAX_EVENTS = 1_000_000
#: Lines of a JSON lines file that are tried, and how many of them must be JSON.
_TRIED_LINES = 20
_JSON_SHARE = 0.9


@dataclass(slots=True)
class _Shape:
    """Of a value: its type, how many children, the first keys with their shapes, the first item's shape."""

    kind: str
    count: int = 0
    keys: dict[str, _Shape] = field(default_factory=dict)
    item: _Shape | None = None
    pending: str = ""

    def add(self, kind: str) -> _Shape | None:
        """A child; its shape when it is one that is shown."""
        self.count += 1
        shape = _Shape(kind)
        if self.kind == "array":
            if self.item is not None:
                return None
            self.item = shape
            return shape
        if len(self.keys) >= _MAX_KEYS:
            return None
        return self.keys.setdefault(self.pending, shape)


@dataclass(frozen=True, slots=True)
class _Read:
    root: _Shape
    is_complete: bool


def explore_json(sample: Sample) -> str | None:
    if not sample.text.lstrip().startswith(("{", "[")):
        return None
    found = _read(sample.text, is_whole=sample.is_whole)
    if found is None:
        return None
    root = found.root
    return outline(f"JSON: {_headline(root, is_complete=found.is_complete)}", _details(root))


def explore_json_lines(sample: Sample) -> str | None:
    tried = _tried_lines(sample)
    if len(tried) < 2 or sum(map(_is_record, tried)) < _JSON_SHARE * len(tried):
        return None
    first = _read(tried[0], is_whole=True)
    if first is None:
        return None
    headline = (
        f"JSON lines: {counted(sample.lines, 'line')}; the first record is {_headline(first.root, is_complete=True)}"
    )
    return outline(headline, _details(first.root))


def _tried_lines(sample: Sample) -> list[str]:
    """The first lines that are not blank; the last of a text cut off is not whole."""
    lines = list(islice(filter(str.strip, sample.iter_lines()), _TRIED_LINES + 1))
    return lines[:_TRIED_LINES] if sample.is_whole or len(lines) > _TRIED_LINES else lines[:-1]


def _is_record(line: str) -> bool:
    if not line.lstrip().startswith(("{", "[")):
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class _ShapeReader:
    """Builds the root's shape from events. Two levels are opened; below them only the depth is counted."""

    def __init__(self) -> None:
        self.root: _Shape | None = None
        self.depth = 0
        self._opened: list[_Shape] = []

    def see(self, event: str, value: object) -> None:
        if event == "map_key":
            if self.depth == len(self._opened):
                self._opened[-1].pending = str(value)
        elif event.startswith("end_"):
            if self.depth == len(self._opened):
                self._opened.pop()
            self.depth -= 1
        else:
            self._see_value(event)

    def _see_value(self, event: str) -> None:
        shape = self._placed({"start_map": "object", "start_array": "array"}.get(event, event))
        if event.startswith("start_"):
            self.depth += 1
            if shape is not None and len(self._opened) < 2:
                self._opened.append(shape)

    def _placed(self, kind: str) -> _Shape | None:
        """The value's shape where one is kept."""
        if self.root is None:
            self.root = _Shape(kind)
            return self.root
        return self._opened[-1].add(kind) if self.depth == len(self._opened) else None


def _read(text: str, *, is_whole: bool) -> _Read | None:
    """None for what is no JSON; a text cut off may end anywhere."""
    reader = _ShapeReader()
    stream = io.BytesIO(text.encode("utf-8", "replace"))
    try:
        for event, value in islice(ijson.basic_parse(stream, use_float=True), _MAX_EVENTS):
            reader.see(event, value)
    except (ijson.JSONError, ValueError):
        if is_whole:
            return None
    return _Read(reader.root, is_complete=reader.depth == 0) if reader.root is not None else None


def _headline(shape: _Shape, *, is_complete: bool) -> str:
    if shape.kind == "object":
        return f"an object with {counted(shape.count, 'key', at_least=not is_complete)}"
    return f"an array of {counted(shape.count, 'item', at_least=not is_complete)}"


def _details(root: _Shape) -> list[str]:
    if root.kind == "array":
        return [f"first item: {_short(root.item)}"] if root.item else []
    lines = [f"{key or '(empty key)'}: {_short(shape)}" for key, shape in root.keys.items()]
    rest = root.count - len(root.keys)
    return [*lines, f"{rest:,} more keys"] if rest > 0 else lines


def _short(shape: _Shape | None) -> str:
    if shape is None:
        return "nothing"
    if shape.kind == "object" and shape.keys:
        names = [f"{key} {each.kind}" for key, each in shape.keys.items()]
        return f"object {{{some_of(names, _MAX_KEYS, total=shape.count)}}}"
    if shape.kind == "array" and shape.item:
        return f"array of {counted(shape.count, 'item')}, first {shape.item.kind}"
    return shape.kind
