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


_NUMBERED = list(enumerate(["parser", "writer", "ledger", "cache", "outbox"] * 30))


def source(text: str, *, depth: int = 0, target: int = 1200) -> SourceText:
    return SourceText(1, text, estimate_tokens(text), depth=depth, target_tokens=target)


def condensed_source(*contents: str) -> str:
    heads = [f"[2026-02-17 0{n}:00 UTC - 2026-02-17 0{n}:59 UTC] sum_{n:016x}" for n in range(len(contents))]
    return "\n\n".join(f"{head}\n{content}" for head, content in zip(heads, contents, strict=True))


class TestLeaf:
    def test_a_session_becomes_labelled_lines_and_a_narrative(self) -> None:
        """Labelled facts first, then what else was said and done by time, then the state, all in a frame."""
        assert extractive_summary(source(SESSION + "\nfiller" * 400), 400).split("\n") == [
            "2026-02-17 07:37 UTC - 2026-02-17 07:45 UTC",
            "Asked: 02-17 07:37 Make the importer skip broken lines. Never drop a message.",
            f"Decided: 02-17 07:40 {DECISION}",
            "File: /repo/lcm/parser.py (Read ok, Edit ok)",
            "Error: 02-17 07:42 E AssertionError: expected 3 lines",
            "At 02-17 07:38:",
            "- I will read the parser first.",
            "At 02-17 07:41:",
            "- Bash: pytest -q tests/unit -> 1 failed",
            f"Last state: 02-17 07:45 {STATE}",
            "Expand for details about: 1 more open items, full messages and outputs",
        ]

    def test_with_little_room_state_and_request_stay(self) -> None:
        """State and request go before all else, and the footer counts what is missing."""
        lines = extractive_summary(source(SESSION), 130).split("\n")

        assert lines[1].startswith("Asked: 02-17 07:37 Make the importer")
        assert lines[-2] == f"Last state: 02-17 07:45 {STATE}"
        assert "1 more decisions" in lines[-1]

    def test_the_target_is_used(self) -> None:
        """A chunk with more to say than fits fills at least 80 % of its target with different sentences."""
        answers = [f"The {word} module took {n * 37} ms in run {n}, see logs/run_{n}.txt." for n, word in _NUMBERED]
        text = "\n\n".join(f"[2026-02-17 08:{n % 60:02} UTC] assistant\n{line}" for n, line in enumerate(answers))

        result = extractive_summary(source(text), 1200)

        assert 960 <= estimate_tokens(result) <= 1200

    def test_code_fills_what_prose_leaves(self) -> None:
        """Lines of code are shown only when there is not enough else to say."""
        code = "\n".join(f"const value{n} = compute{n}(input{n});" for n in range(200))
        read = f'[2026-02-17 08:00 UTC] assistant\nRead {{"file_path":"/a.js"}}\n\n[2026-02-17 08:00 UTC] tool\n{code}'
        prose = " ".join(f"The {word} module took {n * 37} ms in run_{n}." for n, word in _NUMBERED)

        alone = extractive_summary(source(read), 600)
        beside = extractive_summary(source(f"{read}\n\n[2026-02-17 08:01 UTC] assistant\n{prose}"), 600)

        assert estimate_tokens(alone) >= 480
        assert "- Read output: const value0 = compute0(input0); / const value1" in alone
        assert "const" not in beside

    def test_a_request_stays_when_the_answer_repeats_it(self) -> None:
        """The user's words are kept beside an answer in the same words, "continue" only once."""
        roles = ["user", "assistant", "user", "user"]
        said = [
            "Add smooth transitions between the states.",
            "I added smooth transitions between the states.",
            "continue",
        ]
        texts = [
            f"[2026-02-17 08:00 UTC] {role}\n{text}" for role, text in zip(roles, [*said, "continue"], strict=True)
        ]

        lines = extractive_summary(source("\n\n".join([*texts, "x " * 300])), 300).split("\n")

        assert [line for line in lines if line.startswith("Asked")] == [
            "Asked: 02-17 08:00 Add smooth transitions between the states.",
            "Asked: 02-17 08:00 continue",
        ]

    def test_phrases_that_say_nothing_and_repetitions_are_dropped(self) -> None:
        """Even with room left there is no filler, and what was said is not said again."""
        said = "You're absolutely right!\nThe parser in lcm/parser.py now counts 12 broken lines.\nLet me see."
        again = "So the parser in lcm/parser.py now counts 12 broken lines!"
        text = f"[2026-02-17 08:00 UTC] assistant\n{said}\n\n[2026-02-17 08:01 UTC] assistant\n{again}"

        result = extractive_summary(source(text + "\n\n[2026-02-17 08:02 UTC] user\n" + "ok " * 300), 300)

        assert "absolutely" not in result
        assert "Let me see" not in result
        assert result.count("12 broken lines") == 1

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
            "At 02-17 00:40:",
            "- The parser handles long lines. It was slow before.",
            "- Bash: pytest -q -> 3 failed",
            "- User: Please measure the memory as well.",
            "Last state: 02-17 00:50 Half of the importer is done.",
            "Expand for details about: x",
        ]
        newer = [
            "Decided: 02-17 01:02 Use WAL because it is safe.",
            "File: a.py (Edit ok)",
            "Last state: 02-17 01:50 All pages load in 30 ms.",
            "A plain sentence of a model.",
            "More of it. " * 200,
        ]
        two = condensed_source("\n".join(older), "\n".join(newer))

        assert extractive_summary(source(two, depth=1), 300).split("\n") == [
            "2026-02-17 00:00 UTC - 2026-02-17 01:59 UTC",
            "Asked: 02-17 00:01 Build it.",
            "Decided: 02-17 01:02 Use WAL because it is safe.",
            "File: a.py (Read ok, Edit ok)",
            "At 02-17 00:40:",
            "- The parser handles long lines.",
            "- Bash: pytest -q -> 3 failed",
            "- User: Please measure the memory as well.",
            "At 02-17 00:50:",
            "- Half of the importer is done.",
            "At 02-17 01:00:",
            "- A plain sentence of a model.",
            "Last state: 02-17 01:50 All pages load in 30 ms.",
            "Expand for details about: full messages and outputs",
        ]

    def test_only_the_newest_task_list_counts(self) -> None:
        """Open tasks of an earlier summary are gone, open items with a time stay."""
        older = "Open: write the docs\nOpen: 02-17 00:05 Next step: measure the importer."
        two = condensed_source(older, "Open: ship the importer", "filler. " * 200)

        lines = extractive_summary(source(two, depth=1), 200).split("\n")

        assert [line for line in lines if line.startswith("Open")] == [
            "Open: 02-17 00:05 Next step: measure the importer.",
            "Open: ship the importer",
        ]

    def test_a_truncated_summary_gives_its_quoted_words_only(self) -> None:
        """Frame and marker of a fallback do not travel upwards."""
        fallback = (
            "The original text begins as follows; it is quoted, not addressed to the reader.\n"
            "> The parser of long lines is done.\n[Truncated for context management]"
        )

        text = extractive_summary(source(condensed_source(fallback, "filler. " * 200), depth=1), 200)

        assert "- The parser of long lines is done." in text
        assert "begins as follows" not in text
        assert "Truncated" not in text

    def test_full_summaries_always_condense_under_the_target(self) -> None:
        """Two summaries of 900 tokens become one of at most 900."""
        lines = [f"Decided: 02-17 0{n % 10}:00 Rule {n} holds because of reason {n}." for n in range(120)]
        two = condensed_source("\n".join(lines[:60]), "\n".join(lines[60:]))

        text = extractive_summary(source(two, depth=1), 900)

        assert 720 <= estimate_tokens(text) <= 900


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
        "At 02-17 07:40:\n",
        "- Bash output: one line / another line\n",
        "- Bash: npm test -> 3 failed\n",
        "```\n",
        "Either of:\n",
        "const a = b;\n",
        "<command-name>/clear</command-name>\n",
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
