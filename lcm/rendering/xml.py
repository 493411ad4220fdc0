"""XML that a model reads: summaries in their wrapper, and text and attributes that stay well-formed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo

from lcm.domain.summaries import Summary, SummaryKind

#: What XML 1.0 cannot hold at all, not even escaped.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"
#: A parser reads a bare carriage return as a line feed.
_TEXT_ENTITIES = {"\r": "&#13;"}


def xml_text(text: str) -> str:
    """Text as element content; characters XML cannot hold become U+FFFD."""
    from xml.sax.saxutils import escape  # it loads the whole of urllib, and few commands write XML

    return escape(_ILLEGAL.sub(_REPLACEMENT, text), _TEXT_ENTITIES)


def xml_attributes(attributes: Mapping[str, object]) -> str:
    """` name="value"` for each attribute that is not None, in order."""
    from xml.sax.saxutils import quoteattr

    return "".join(
        f" {name}={quoteattr(_ILLEGAL.sub(_REPLACEMENT, str(value)))}"
        for name, value in attributes.items()
        if value is not None
    )


def timestamp(at: datetime, timezone: tzinfo = UTC) -> str:
    """ISO 8601 in seconds with its zone: `2026-02-17T07:37:00Z`, or an offset such as `+02:00`."""
    return at.astimezone(timezone).isoformat(timespec="seconds").replace("+00:00", "Z")


def summary_xml(summary: Summary, parents: Sequence[str], *, timezone: tzinfo = UTC) -> str:
    """A summary as a model sees it; unknown times have no attribute, the content keeps its lines.

    `parents` are the ids of the summaries that a condensed one was made from, in order; a leaf shows none.
    """
    attributes = xml_attributes(
        {
            "id": summary.summary_id,
            "kind": summary.kind.value,
            "depth": summary.depth,
            "descendant_count": summary.descendant_count,
            "earliest_at": summary.earliest_at and timestamp(summary.earliest_at, timezone),
            "latest_at": summary.latest_at and timestamp(summary.latest_at, timezone),
        }
    )
    lines = [f"<summary{attributes}>"]
    if summary.kind is SummaryKind.CONDENSED and parents:
        references = (f"    <summary_ref{xml_attributes({'id': parent})} />" for parent in parents)
        lines += ["  <parents>", *references, "  </parents>"]
    return "\n".join([*lines, "  <content>", xml_text(summary.content), "  </content>", "</summary>"])
