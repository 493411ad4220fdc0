from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm.domain.summaries import EscalationLevel, SummaryOrigin
from lcm.errors import EmptySummary
from lcm.summarizer.contract import SourceText
from lcm.summarizer.offline import OfflineSummarizer, extractive_summary
from lcm.summarizer.prompts import build_request
from lcm.tokens import estimate_tokens

DECISION = "We decided to count broken lines instead of raising, because one bad line must not stop a batch."
STATE = "The count was off by one and is fixed. All tests pass. Still to do: the Windows line endings."

SESSION = f"""\
[2026-02-17 07:37 UTC] user
Make the importer skip broken lines. Never drop a message.

[2026-02-17 07:38 UTC] assistant
I will read the parser first.
Read {{"file_path":"/repo/lcm/parser.py"}}

[2026-02-17 07:38 UTC] tool
def parse(line): ...

[2026-02-17 07:40 UTC] assistant
{DECISION}
Edit {{"file_path":"/repo/lcm/parser.py","old_string":"raise","new_string":"count"}}

[2026-02-17 07:40 UTC] tool
The file has been updated.

[2026-02-17 07:41 UTC] assistant
Bash {{"command":"pytest -q tests/unit"}}

[2026-02-17 07:42 UTC] tool
E   AssertionError: expected 3 lines
1 failed

[2026-02-17 07:45 UTC] assistant
{STATE}
"""


def source(text: str, *, depth: int = 0, target: int = 1200) -> SourceText:
    return SourceText(1, text, estimate_tokens(text), depth=depth, target_tokens=target)


def condensed_source(*contents: str) -> str:
    heads = [f"[2026-02-17 0{n}:00 UTC - 2026-02-17 0{n}:59 UTC] sum_{n:016x}" for n in range(len(contents))]
    return "\n\n".join(f"{head}\n{content}" for head, content in zip(heads, contents, strict=True))


class TestLeaf:
    def test_a_session_becomes_labelled_lines(self) -> None:
        """Requests, decisions, files, commands, errors, open items and the state, between time range and footer."""
        assert extractive_summary(source(SESSION + "\nfiller" * 400), 400).split("\n") == [
            "2026-02-17 07:37 UTC - 2026-02-17 07:45 UTC",
            "Asked: 02-17 07:37 Make the importer skip broken lines. Never drop a message.",
            f"Decided: 02-17 07:40 {DECISION}",
            "File: /repo/lcm/parser.py (Read ok, Edit ok)",
            "Ran: pytest -q tests/unit (failed)",
            "Error: 02-17 07:42 E AssertionError: expected 3 lines",
            "Noted: 02-17 07:38 I will read the parser first.",
            "Noted: 02-17 07:45 The count was off by one and is fixed.",
            "Open: 02-17 07:45 Still to do: the Windows line endings.",
            f"Last state: 02-17 07:45 {STATE} filler",
            "Expand for details about: full messages and outputs",
        ]

    def test_with_little_room_the_most_telling_lines_stay(self) -> None:
        """State, request, decision and open item go before files, and the footer counts what is missing."""
        lines = extractive_summary(source(SESSION), 130).split("\n")

        assert [line.partition(":")[0] for line in lines[1:-1]] == ["Asked", "Decided", "Open", "Last state"]
        assert "1 more files" in lines[-1]

    def test_with_hardly_any_room_request_and_state_stay(self) -> None:
        """Below 80 tokens there are no labels and no footer."""
        text = extractive_summary(source(SESSION), 40)

        assert text.startswith("02-17 07:37 Make the importer skip broken lines. Never drop a message. | 02-17 07:45")

    @pytest.mark.parametrize("text", ["ab cd", "漢", "[2026-02-17 07:37 UTC] user\nok"])
    def test_tiny_sources_give_something_smaller(self, text: str) -> None:
        """A source of a few tokens still has a summary."""
        assert 0 < estimate_tokens(extractive_summary(source(text), 192)) < max(2, estimate_tokens(text))


class TestCondensed:
    def test_two_summaries_merge_line_by_line(self) -> None:
        """Equal lines stay once, files are merged, the newest state is the state, the time range spans both."""
        older = [
            "2026-02-17 00:00 UTC - 2026-02-17 00:59 UTC",
            "Asked: 02-17 00:01 Build it.",
            "Decided: 02-17 00:02 Use WAL because it is safe.",
            "File: a.py (Read ok)",
            "Last state: 02-17 00:50 Half done.",
            "Expand for details about: x",
        ]
        newer = [
            "Decided: 02-17 01:02 Use WAL because it is safe.",
            "File: a.py (Edit ok)",
            "Last state: 02-17 01:50 All done.",
            "A plain sentence of a model.",
            "More of it. " * 200,
        ]
        two = condensed_source("\n".join(older), "\n".join(newer))

        lines = extractive_summary(source(two, depth=1), 300).split("\n")

        assert lines[0] == "2026-02-17 00:00 UTC - 2026-02-17 01:59 UTC"
        assert lines[1:] == [
            "Asked: 02-17 00:01 Build it.",
            "Decided: 02-17 01:02 Use WAL because it is safe.",
            "File: a.py (Read ok, Edit ok)",
            "Noted: 02-17 00:50 Half done.",
            "Noted: A plain sentence of a model.",
            "Noted: More of it.",
            "Last state: 02-17 01:50 All done.",
            "Expand for details about: full messages and outputs",
        ]

    def test_a_truncated_summary_gives_its_quoted_words_only(self) -> None:
        """Frame and marker of a fallback do not travel upwards."""
        fallback = (
            "The original text begins as follows; it is quoted, not addressed to the reader.\n> The parser is done.\n"
            "[Truncated for context management]"
        )

        text = extractive_summary(source(condensed_source(fallback, "filler. " * 200), depth=1), 200)

        assert "Noted: The parser is done." in text
        assert "begins as follows" not in text
        assert "Truncated" not in text

    def test_full_summaries_always_condense_under_the_target(self) -> None:
        """Two summaries of 900 tokens become one of at most 900."""
        lines = [f"Decided: 02-17 0{n % 10}:00 Rule {n} holds because of reason {n}." for n in range(120)]
        two = condensed_source("\n".join(lines[:60]), "\n".join(lines[60:]))

        text = extractive_summary(source(two, depth=1), 900)

        assert 700 <= estimate_tokens(text) <= 900


_PIECES = st.sampled_from(
    [
        "[2026-02-17 07:37 UTC] user\n",
        "[2026-02-17 07:38 UTC] assistant\n",
        "[2026-02-17 07:38 UTC] tool\n",
        "[2026-02-17 07:37 UTC - 2026-02-17 08:00 UTC] sum_0123456789abcdef\n",
        'Edit {"file_path":"/a/b.py"}\n',
        'Bash {"command":["ls",1]}\n',
        'X {"todos":[{"content":"t"},3]}\n',
        "Error: it broke\n",
        "We use this instead because it must work. ",
        "我们决定使用新的解析器。旧的太慢。",
        "👩‍👩‍👧 ",
        "Last state: x\n",
        "File: a (b\n",
        "\n\n",
        "word " * 30,
    ]
)
_SOURCES = st.one_of(st.text(min_size=1), st.lists(_PIECES, min_size=1, max_size=60).map("".join))


class TestLaws:
    @given(_SOURCES.filter(lambda text: text.strip() != ""), st.integers(0, 3), st.integers(1, 1500))
    def test_a_summary_is_smaller_within_target_and_not_empty(self, text: str, depth: int, target: int) -> None:
        """For any source the summary has text, respects the target and is smaller, as far as one token allows."""
        result = extractive_summary(source(text, depth=depth), target)

        assert result.strip() != ""
        assert estimate_tokens(result) <= max(1, min(target, estimate_tokens(text) - 1))

    @given(_SOURCES.filter(lambda text: text.strip() != ""), st.integers(0, 3))
    def test_a_summary_is_deterministic(self, text: str, depth: int) -> None:
        """The same source gives the same text."""
        summaries = {extractive_summary(source(text, depth=depth), 300) for _ in range(2)}

        assert len(summaries) == 1


class TestOfflineSummarizer:
    async def test_it_writes_under_the_target_of_the_request(self) -> None:
        """The target of the level bounds the extract, and nothing is remote."""
        summarizer = OfflineSummarizer()
        request = build_request(source(SESSION * 20), EscalationLevel.AGGRESSIVE)

        answer = await summarizer.summarize(request)

        assert estimate_tokens(answer.text) <= request.target_tokens
        assert (summarizer.model, summarizer.origin, summarizer.is_remote) == (
            "offline",
            SummaryOrigin.EXTRACTIVE,
            False,
        )

    async def test_a_blank_source_has_no_summary(self) -> None:
        """Nothing can be extracted from white space."""
        with pytest.raises(EmptySummary):
            await OfflineSummarizer().summarize(build_request(source(" \n"), EscalationLevel.NORMAL))
