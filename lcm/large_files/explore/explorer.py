"""Tell what a large file is in about 200 tokens: chosen by name, declared type and content, without a model.

Equal bytes under an equal name give an equal summary. Parsers see a bounded beginning of the file; one that fails
leaves the file to the next, and in the end to the explorer of plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from lcm.large_files.explore.code import LANGUAGES, explore_code
from lcm.large_files.explore.config_text import explore_ini, explore_toml, explore_yaml
from lcm.large_files.explore.json_text import explore_json, explore_json_lines
from lcm.large_files.explore.log_text import explore_log
from lcm.large_files.explore.markup import explore_html, explore_xml
from lcm.large_files.explore.media import explore_media
from lcm.large_files.explore.outline import outline
from lcm.large_files.explore.patch import explore_patch
from lcm.large_files.explore.prose import explore_markdown, explore_text
from lcm.large_files.explore.sample import Sample, take_sample
from lcm.large_files.explore.table import explore_csv, explore_tsv

#: Explores files of one kind; None for a file that is not of that kind.
Explorer = Callable[[Sample], str | None]

_BY_EXTENSION: dict[str, Explorer] = {
    ".json": explore_json,
    ".geojson": explore_json,
    ".ipynb": explore_json,
    ".jsonl": explore_json_lines,
    ".ndjson": explore_json_lines,
    ".csv": explore_csv,
    ".tsv": explore_tsv,
    ".tab": explore_tsv,
    ".yaml": explore_yaml,
    ".yml": explore_yaml,
    ".toml": explore_toml,
    ".ini": explore_ini,
    ".cfg": explore_ini,
    ".conf": explore_ini,
    ".xml": explore_xml,
    ".svg": explore_xml,
    ".xsd": explore_xml,
    ".plist": explore_xml,
    ".html": explore_html,
    ".htm": explore_html,
    ".xhtml": explore_html,
    ".diff": explore_patch,
    ".patch": explore_patch,
    ".log": explore_log,
    ".md": explore_markdown,
    ".markdown": explore_markdown,
    **dict.fromkeys(LANGUAGES, explore_code),
}
_BY_MIME: dict[str, Explorer] = {
    "application/json": explore_json,
    "application/jsonl": explore_json_lines,
    "application/x-ndjson": explore_json_lines,
    "text/csv": explore_csv,
    "text/tab-separated-values": explore_tsv,
    "application/yaml": explore_yaml,
    "application/x-yaml": explore_yaml,
    "text/yaml": explore_yaml,
    "application/toml": explore_toml,
    "application/xml": explore_xml,
    "text/xml": explore_xml,
    "image/svg+xml": explore_xml,
    "text/html": explore_html,
    "text/x-diff": explore_patch,
    "text/x-patch": explore_patch,
    "text/markdown": explore_markdown,
}


def explore(stream: BinaryIO, *, name: str | None = None, mime_type: str | None = None) -> str:
    """The exploration summary of a file: a headline and short lines, safe to store and to print.

    `stream` holds the redacted bytes and is seekable; it is read in blocks, never as a whole.
    """
    sample = take_sample(stream, name=name, mime_type=mime_type)
    if sample.size_bytes == 0:
        return outline("An empty file")
    if sample.encoding is None:
        return explore_media(sample)
    for explorer in _candidates(sample):
        if (summary := _tried(explorer, sample)) is not None:
            return summary
    return explore_text(sample)


def _candidates(sample: Sample) -> Iterator[Explorer]:
    """By the name, by the declared type, then by what the text begins with; each once."""
    named = [_BY_EXTENSION.get(sample.extension), _BY_MIME.get(sample.mime_type), explore_code]
    yield from dict.fromkeys(explorer for explorer in (*named, *_by_content(sample.text)) if explorer is not None)


def _by_content(text: str) -> list[Explorer]:
    head = text[:2_000].lstrip()
    lowered = head[:200].lower()
    if head.startswith(("{", "[")):
        return [explore_json, explore_json_lines, explore_log]
    if lowered.startswith(("<!doctype html", "<html")):
        return [explore_html]
    if lowered.startswith("<?xml"):
        return [explore_xml]
    if head.startswith(("diff ", "--- ", "Index: ")) or "\n--- " in head:
        return [explore_patch]
    return [explore_log, explore_markdown]


def _tried(explorer: Explorer, sample: Sample) -> str | None:
    """Whatever hostile bytes make of a parser, the file is stored and told as text."""
    try:
        return explorer(sample)
    except Exception:  # noqa: BLE001
        return None
