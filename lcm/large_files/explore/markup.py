"""XML and HTML: root and children; title and headings."""

from __future__ import annotations

from collections import Counter
from xml.parsers import expat

import re2

from lcm.large_files.explore.outline import counted, outline, some_of
from lcm.large_files.explore.sample import Sample
from lcm.text import one_line

_MAX_CHILDREN = 30
_MAX_DEPTH = 1_000
_MAX_HEADINGS = 18
_HEADING_CHARS = 70
_HTML_CHARS = 1_000_000

_TITLE = re2.compile(r"(?is)<title\b[^>]*>(.{0,300}?)</title")
_HEADING = re2.compile(r"(?is)<h([1-3])\b[^>]*>(.{0,300}?)</h[1-3]")
_TAG = re2.compile(r"<([A-Za-z][A-Za-z0-9-]{0,20})")
_MARKUP = re2.compile(r"<[^>]*>")


class _EntityDeclared(Exception):
    """A document that declares entities is not read further: they can grow without bound."""


class _TooDeep(Exception):
    """Every open element costs memory."""


class _XmlOutline:
    """The root, and how often each element stands directly below it."""

    def __init__(self) -> None:
        self.root = ""
        self.attributes: list[str] = []
        self.children: Counter[str] = Counter()
        self.elements = 0
        self._depth = 0

    def read(self, data: bytes) -> str:
        """Why reading ended early: `entities`, `depth`, `fault`, or nothing."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._entity
        try:
            parser.Parse(data, True)  # noqa: FBT003 - expat's own parameter
        except _EntityDeclared:
            return "entities"
        except _TooDeep:
            return "depth"
        except (expat.ExpatError, ValueError, LookupError):
            return "fault"
        return ""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self._depth == 0:
            self.root = name
            self.attributes = list(attributes)
        elif self._depth == 1:
            self.children[name] += 1
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _TooDeep

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _entity(self, *_declaration: object) -> None:
        raise _EntityDeclared


def explore_xml(sample: Sample) -> str | None:
    if not sample.text.lstrip().startswith("<"):
        return None
    found = _XmlOutline()
    ended_by = found.read(sample.data)
    if ended_by == "entities":
        return outline("XML: declares entities; not read further")
    if not found.root or (ended_by == "fault" and sample.is_whole):
        return None
    at_least = bool(ended_by) or not sample.is_whole
    children = counted(found.children.total(), "child element", at_least=at_least)
    elements = counted(found.elements, "element", at_least=at_least)
    headline = f"XML: root {found.root} with {children}, {elements} in all"
    names = [f"{name} ({count:,})" for name, count in found.children.items()]
    details = [f"children: {some_of(names, _MAX_CHILDREN)}"] if names else []
    if found.attributes:
        details.insert(0, f"root attributes: {some_of(found.attributes, 10)}")
    return outline(headline, details)


def explore_html(sample: Sample) -> str | None:
    text = sample.text[:_HTML_CHARS]
    tags = Counter(tag.group(1).lower() for tag in _TAG.finditer(text))
    if not tags:
        return None
    title = _TITLE.search(text)
    headings = [f"h{each.group(1)}: {_plain(each.group(2))}" for each in _HEADING.finditer(text)]
    details = [f"title: {_plain(title.group(1))}"] if title else []
    details.append("elements: " + ", ".join(f"{tag} ({count:,})" for tag, count in _most_common(tags)))
    return outline(f"HTML: {counted(sample.lines, 'line')}", [*details, *headings[:_MAX_HEADINGS]])


def _plain(markup: str) -> str:
    return one_line(_MARKUP.sub("", markup), _HEADING_CHARS)


def _most_common(tags: Counter[str]) -> list[tuple[str, int]]:
    return sorted(tags.items(), key=lambda each: (-each[1], each[0]))[:10]
