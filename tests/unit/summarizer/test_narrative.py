from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lcm.summarizer.narrative import line_cost, moment_cost, narrate
from lcm.summarizer.sections import Entry, Section
from lcm.tokens import estimate_tokens


def note(text: str, order: int = 0, stamp: str = "02-17 07:38", speaker: str = "") -> Entry:
    return Entry(Section.NOTED, text, order, stamp, speaker)


class TestNarrate:
    def test_labelled_lines_come_first_and_the_state_last(self) -> None:
        """Sections in their order, then the narrative, then the state."""
        entries = [
            note("It works."),
            Entry(Section.LAST, "Done.", 3, "02-17 07:40"),
            Entry(Section.OPEN, "ship it", 2),
            Entry(Section.ASKED, "Fix it.", 0, "02-17 07:37"),
        ]

        assert narrate(entries) == [
            "Asked: 02-17 07:37 Fix it.",
            "Open: ship it",
            "At 02-17 07:38:",
            "- It works.",
            "Last state: 02-17 07:40 Done.",
        ]

    def test_whole_sentences_of_a_message_share_a_line(self) -> None:
        """A sentence follows a finished one of the same message; other lines stand alone."""
        lines = narrate([note("It is fast."), note("It is small."), note("a bullet"), note("Later.", order=1)])

        assert lines == ["At 02-17 07:38:", "- It is fast. It is small.", "- a bullet", "- Later."]

    def test_quoted_lines_of_a_message_share_a_line(self) -> None:
        """What a tool gave back is one line, even when a call stands between."""
        call = Entry(Section.COMMAND, "Bash: ls -> 2 lines", 0, "02-17 07:38")
        lines = narrate([note("a.py", speaker="Bash output"), call, note("b.py", speaker="Bash output")])

        assert lines == ["At 02-17 07:38:", "- Bash output: a.py / b.py", "- Bash: ls -> 2 lines"]

    def test_a_moment_stands_once(self) -> None:
        """Times that go back and forth do not open a moment again."""
        lines = narrate([note("One."), note("Two.", 1, "02-17 07:39"), note("Three.", 2)])

        assert lines == ["At 02-17 07:38:", "- One.", "- Three.", "At 02-17 07:39:", "- Two."]


_ENTRIES = st.builds(
    Entry,
    st.sampled_from(list(Section)),
    st.text(min_size=1, max_size=30).map(lambda text: " ".join(text.split()) or "x"),
    st.integers(0, 3),
    st.sampled_from(["", "02-17 07:38", "02-17 07:39"]),
    st.sampled_from(["", "User", "Bash output"]),
)


class TestLineCost:
    @given(st.lists(_ENTRIES, max_size=12))
    def test_costs_are_never_too_low(self, entries: list[Entry]) -> None:
        """The text is at most as long as its lines and moments were said to be."""
        moments = {entry.stamp for entry in entries if entry.is_told}

        assert estimate_tokens("\n".join(narrate(entries))) <= sum(map(line_cost, entries)) + sum(
            map(moment_cost, moments)
        )
