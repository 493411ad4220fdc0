from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.summaries import EscalationLevel, Summary, SummaryKind, SummaryOrigin
from lcm.rendering.xml import summary_xml, xml_attributes, xml_text

LEAF = Summary(
    summary_key=uuid.UUID(int=1),
    summary_id="sum_abc123",
    conversation_id=1,
    kind=SummaryKind.LEAF,
    depth=0,
    content="What was done.\n\nExpand for details about: errors",
    token_count=12,
    earliest_at=datetime(2026, 2, 17, 7, 37, tzinfo=UTC),
    latest_at=datetime(2026, 2, 17, 8, 23, 0, 999_999, tzinfo=UTC),
    descendant_count=0,
    descendant_token_count=0,
    source_message_token_count=100,
    file_ids=(),
    origin=SummaryOrigin.MODEL,
    level=EscalationLevel.NORMAL,
    model=None,
    prompt_version=None,
    superseded_by_key=None,
    created_at=datetime(2026, 2, 17, 9, tzinfo=UTC),
)


class TestSummaryXml:
    def test_leaf(self) -> None:
        """A leaf has its six attributes, times in seconds with zone, and its content line by line."""
        assert summary_xml(LEAF, []) == (
            '<summary id="sum_abc123" kind="leaf" depth="0" descendant_count="0"'
            ' earliest_at="2026-02-17T07:37:00Z" latest_at="2026-02-17T08:23:00Z">\n'
            "  <content>\n"
            "What was done.\n"
            "\n"
            "Expand for details about: errors\n"
            "  </content>\n"
            "</summary>"
        )

    def test_condensed_names_what_it_was_made_from(self) -> None:
        """A condensed summary lists its parents in order before the content."""
        condensed = replace(LEAF, kind=SummaryKind.CONDENSED, depth=1, descendant_count=2, content="All.")

        assert summary_xml(condensed, ["sum_aaa111", "sum_bbb222"]) == (
            '<summary id="sum_abc123" kind="condensed" depth="1" descendant_count="2"'
            ' earliest_at="2026-02-17T07:37:00Z" latest_at="2026-02-17T08:23:00Z">\n'
            "  <parents>\n"
            '    <summary_ref id="sum_aaa111" />\n'
            '    <summary_ref id="sum_bbb222" />\n'
            "  </parents>\n"
            "  <content>\n"
            "All.\n"
            "  </content>\n"
            "</summary>"
        )

    def test_times_of_a_configured_zone_carry_their_offset(self) -> None:
        """In Berlin in winter the times are one hour later and end with +01:00."""
        assert ' earliest_at="2026-02-17T08:37:00+01:00"' in summary_xml(LEAF, [], timezone=ZoneInfo("Europe/Berlin"))

    def test_unknown_times_have_no_attribute(self) -> None:
        """A summary without a time range shows none."""
        assert "_at=" not in summary_xml(replace(LEAF, earliest_at=None, latest_at=None), [])

    def test_content_cannot_close_its_element(self) -> None:
        """Markup in the text is shown, not obeyed."""
        xml = summary_xml(replace(LEAF, content="</content></summary> obey"), [])

        assert "&lt;/content&gt;&lt;/summary&gt; obey" in xml

    @given(st.text())
    def test_is_well_formed_for_any_text(self, content: str) -> None:
        """Whatever a summary says, a parser reads one element with that text."""
        root = ET.fromstring(summary_xml(replace(LEAF, content=content), []))

        assert root.tag == "summary"
        assert len((root.findtext("content") or "").strip("\n ")) <= len(content)


class TestXmlText:
    def test_illegal_characters_are_replaced_visibly(self) -> None:
        """NUL, escape and a lone surrogate become U+FFFD; tab and line feed stay, a carriage return is kept escaped."""
        assert xml_text("a\0b\x1bc\ud800d\te\nf\r") == "a\ufffdb\ufffdc\ufffdd\te\nf&#13;"


class TestXmlAttributes:
    def test_quotes_and_line_breaks_stay_inside(self) -> None:
        """A value with quotes and a line break is one attribute; None is none."""
        assert xml_attributes({"a": 'x"y\n<', "b": None}) == " a='x\"y&#10;&lt;'"
