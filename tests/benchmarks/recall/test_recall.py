"""The recall benchmarks at a tiny size: what they plant is where they say, and their figures mean what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.recall.bm25 import Bm25
from benchmarks.recall.coding import Found, Shares, measure
from benchmarks.recall.dialogues import read_dialogues
from benchmarks.recall.measures import Figures, Outcome, by_group
from benchmarks.recall.planted import Sizes, write_sessions
from tests.conftest import REPOSITORY

TINY = Sizes(sessions=1, messages=140, facts=2, seed=3)


def dialogue_file(path: Path) -> Path:
    """One dialogue of one session with four turns, and two questions, one of them with unusable evidence."""
    turns = [("Ann", "Hi Bo!"), ("Bo", "I bought a kayak."), ("Ann", "Nice."), ("Bo", "It is red.")]
    sample: dict[str, Any] = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"speaker": speaker, "text": text} for speaker, text in turns],
        },
        "qa": [
            {"question": "Which kayak was bought?", "evidence": ["D1:2; D:1:2"], "category": 4},
            {"question": "What else?", "evidence": ["D", "D9:1"], "category": 1},
        ],
    }
    path.write_text(json.dumps([sample]), "utf-8")
    return path


class TestMeasures:
    def test_of_a_ranking(self) -> None:
        """Recall is the share of the right ones at each depth; the rank is that of the first."""
        ranked = ["x", "a", *"cdefgh", "b", "y"]

        assert Outcome.of("g", ranked, {"a", "b"}) == Outcome("g", 0.5, 1.0, 0.5)

    def test_nothing_right(self) -> None:
        """A right hit behind the tenth counts nothing."""
        assert Outcome.of("g", [*range(10), "a"], {"a"}) == Outcome("g", 0.0, 0.0, 0.0)

    def test_means_by_group(self) -> None:
        """Groups come by name, then all questions alike."""
        outcomes = [Outcome("b", 1, 1, 1), Outcome("a", 0, 0, 0), Outcome("b", 0, 1, 0.5)]

        assert by_group(outcomes) == {
            "a": Figures(1, 0, 0, 0),
            "b": Figures(2, 0.5, 1, 0.75),
            "all": Figures(3, 1 / 3, 2 / 3, 0.5),
        }

    def test_baseline(self) -> None:
        """The baseline stems words, leaves stop words out and takes any text as a question."""
        index = Bm25({1: "a kayak", 2: "two red kayaks", 3: "the weather"})

        assert index.search('What are "red" kayaks?') == [2, 1]
        assert index.search("what is the?") == []


class TestDialogues:
    def test_questions_name_existing_turns(self, tmp_path: Path) -> None:
        """Evidence in odd spellings is read; a question without any that exists is left out."""
        (dialogue,) = read_dialogues(dialogue_file(tmp_path / "data.json"))

        (question,) = dialogue.questions
        assert question.category == "single-hop"
        assert question.evidence == frozenset({(1, 2)})
        assert [turn.text for turn in dialogue.sessions[1]][1] == "Bo: I bought a kayak."

    def test_command(self, tmp_path: Path) -> None:
        """The command prints figures of lcm and of the baseline as one object."""
        path = dialogue_file(tmp_path / "data.json")
        script = REPOSITORY / "benchmarks" / "recall" / "locomo.py"
        command = [sys.executable, str(script), str(path), "--json"]

        done = subprocess.run(command, check=False, capture_output=True, text=True)

        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert set(answer) == {"half", "lcm", "bm25"}
        assert answer["lcm"]["all"] == {"n": 1, "recall_at_5": 1.0, "recall_at_10": 1.0, "mrr": 1.0}


class TestPlanted:
    def test_equal_for_equal_seeds(self, tmp_path: Path) -> None:
        """A seed gives the same sessions and facts again."""
        assert write_sessions(tmp_path / "a", TINY) == write_sessions(tmp_path / "b", TINY)
        assert [path.read_bytes() for path in (tmp_path / "a").iterdir()] == [
            path.read_bytes() for path in (tmp_path / "b").iterdir()
        ]

    def test_every_fact_is_at_its_place_and_nowhere_else(self, tmp_path: Path) -> None:
        """The record with the number of the fact holds its text, and no other record does."""
        planted = write_sessions(tmp_path / "a", TINY)

        assert len(planted) == 20
        (path,) = (tmp_path / "a").iterdir()
        records = [json.dumps(json.loads(line), ensure_ascii=False) for line in path.read_text("utf-8").splitlines()]
        for each in planted:
            text = json.dumps(each.fact.text, ensure_ascii=False)[1:-1]
            assert [seq for seq, record in enumerate(records) if text in record] == [each.seq]


class TestCoding:
    def test_measure(self, tmp_path: Path) -> None:
        """Every fact is asked for before and after a compaction; identifiers and exact phrases are always found."""
        found = measure(tmp_path, TINY)

        assert len(found) == 20
        sure = [each for each in found if each.kind in {"phrase", "snake_case", "camelCase", "path", "cjk"}]
        assert [(each.before, each.after_opened) for each in sure] == [(True, True)] * 10

    def test_loss_is_what_compaction_took(self) -> None:
        """A fact found before, and afterwards neither itself nor under a summary, is lost."""
        found = [Found("k", True, True, True, False), Found("k", True, False, False, False)]

        assert Shares.of(found) == Shares(n=2, before=1.0, after=0.5, after_opened=0.5, by_summary=0.0, loss=0.5)
