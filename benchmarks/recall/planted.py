"""Made-up coding sessions with facts planted among look-alikes; the same for the same seed.

Every fact of a kind is drawn from the same patterns as many distractors, which differ in their values only, so that a
question has to find the one message and not just its subject. Apart from the exact phrases, questions say it in other
words than the text, or know only a part of it.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = "/home/user/planted"
_START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
#: The newest messages of a session hold no fact: compaction leaves them as they are.
_TAIL = 60

_NOUN_TEXT = """
    invoice ledger tenant gateway worker session token cache queue report webhook cursor shard replica billing quota
    schedule import export snapshot audit catalog payment refund coupon address carrier parcel label manifest region
    profile avatar comment thread inbox digest alert metric trace budget limit window batch stream
"""
_VERB_TEXT = "resolve rotate flush merge collect publish expire verify compress restore assign throttle split route"
_PACKAGE_TEXT = "orbit quill maple lumen fjord cobalt tundra pixel ember sable cedar onyx harbor delta lyric"
_NOUNS, _VERBS, _PACKAGES = _NOUN_TEXT.split(), _VERB_TEXT.split(), _PACKAGE_TEXT.split()
_REASONS = (
    "the auditors insisted on it",
    "the old machine ran out of disk",
    "customers in Norway complained",
    "the vendor raised its prices",
    "nobody understood the other way",
    "two people were paged at night",
    "the licence does not allow it",
    "it halves the time of a build",
)
_PLACES = ("Frankfurt", "Dublin", "Oslo", "Toronto", "Osaka", "Lisbon", "Tallinn", "Santiago", "Nairobi", "Leeds")
_CHORES = (
    "ran the tests again, all of them pass",
    "the linter is quiet now",
    "I will look at the next file",
    "nothing else refers to it",
    "the diff is small, shall I commit it?",
    "that was a leftover from the last refactoring",
    "let me read the module first",
    "the build is green on both branches",
)
_SUBJECT_TEXT_CJK = "請求書 在庫 配送先 利用者 会員証 監査記録 予約枠 通知文 割引券 顧客名簿 翻訳文 画像変換"
_SUBJECTS_CJK = _SUBJECT_TEXT_CJK.split()
_ACTIONS_CJK = (
    "毎晩二時に消去する",
    "暗号化して保管する",
    "東京の倉庫へ複製する",
    "三回まで再送する",
    "手作業で承認する",
    "月末に集計する",
)
_ERRORS = (
    "ConnectionResetError: [Errno 104] Connection reset by peer while reading {noun}-{number}",
    "KeyError: '{noun}_{other}_{number}'",
    "panic: runtime error: index out of range [{number}] with length {small} in {noun}.{verb}",
    'psycopg.errors.UniqueViolation: duplicate key value violates unique constraint "{noun}_{other}_{number}_key"',
    "TypeError: Cannot read properties of undefined (reading '{verb}{Noun}{number}')",
    "error[E0{number}]: cannot borrow `{noun}_{other}` as mutable more than once at a time",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A text to plant, and a question that it answers."""

    kind: str
    text: str
    question: str


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact at its place in the store: session id and seq."""

    fact: Fact
    session_id: str
    seq: int


class Maker:
    """Facts of every kind, each with values that no other one of the run has."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._used: set[str] = set()
        self.kinds: dict[str, Callable[[], Fact]] = {
            "phrase": self._phrase,
            "paraphrase": self._paraphrase,
            "snake_case": self._snake_case,
            "camelCase": self._camel_case,
            "dotted": self._dotted,
            "path": self._path,
            "error": self._error,
            "version": self._version,
            "number": self._number,
            "cjk": self._cjk,
        }

    def fact(self, kind: str) -> Fact:
        """One whose text was not given before."""
        while True:
            made = self.kinds[kind]()
            if made.text not in self._used:
                self._used.add(made.text)
                return made

    def chore(self) -> str:
        """A sentence that tells nothing."""
        return self._chance.choice(_CHORES)

    def _phrase(self) -> Fact:
        noun, other, third = self._nouns(3)
        claim = f"the {noun} {other} lives beside the {third}"
        return Fact("phrase", f"To be clear: {claim}, not inside it.", f'"{claim}"')

    def _paraphrase(self) -> Fact:
        noun, other, _ = self._nouns(3)
        place, reason = self._chance.choice(_PLACES), self._chance.choice(_REASONS)
        text = f"Decision: {noun} {other} data is going to be kept in {place}, because {reason}."
        question = f"In which city do we store {noun} information of every {other}, and what made us choose it?"
        return Fact("paraphrase", text, question)

    def _snake_case(self) -> Fact:
        verb, (noun, other, third) = self._verb(), self._nouns(3)
        name = f"{verb}_{noun}_{other}"
        text = f"`{name}` now returns early when the {third} is empty."
        return Fact("snake_case", text, f"when does it {verb} the {noun} {other} and give up early?")

    def _camel_case(self) -> Fact:
        verb, (noun, other, third) = self._verb(), self._nouns(3)
        name = f"{verb}{noun.title()}{other.title()}"
        return Fact("camelCase", f"I moved {name}() out of the {third} component.", f"{verb}_{noun}_{other}")

    def _dotted(self) -> Fact:
        noun, other, third = self._nouns(3)
        name = f"{noun}.{other}.max_{third}"
        number = self._chance.randint(2, 900)
        return Fact(
            "dotted", f"The setting {name} is {number} in production.", f"what is max_{third} of {other} set to?"
        )

    def _path(self) -> Fact:
        noun, other, third = self._nouns(3)
        path = f"services/{noun}/src/{other}_{third}.py"
        return Fact("path", f"The fix belongs into {path}, near the top.", f"{other}_{third}.py")

    def _error(self) -> Fact:
        noun, other, _ = self._nouns(3)
        number, small, verb = self._chance.randint(100, 999), self._chance.randint(1, 9), self._verb()
        pattern = self._chance.choice(_ERRORS)
        text = pattern.format(noun=noun, other=other, Noun=noun.title(), verb=verb, number=number, small=small)
        return Fact(
            "error", f"FAILED tests/test_{other}.py\n{text}\n1 failed, {number} passed", text[len(text) * 2 // 5 :]
        )

    def _version(self) -> Fact:
        package, noun = self._chance.choice(_PACKAGES), self._nouns(1)[0]
        version = ".".join(str(self._chance.randint(0, 30)) for _ in range(3))
        text = f"Pinned {package}-{noun} to {version}; the release after it breaks the wheel."
        return Fact("version", text, f"which version of {package}-{noun} did we pin?")

    def _number(self) -> Fact:
        noun, other, _ = self._nouns(3)
        count = self._chance.randint(10_000, 99_999)
        text = f"After the cleanup {count} rows were left in the {noun} {other} table."
        return Fact("number", text, f"how many rows were left in {noun} {other} after the cleanup")

    def _cjk(self) -> Fact:
        subject, action = self._chance.choice(_SUBJECTS_CJK), self._chance.choice(_ACTIONS_CJK)
        other = f"{self._chance.choice(_SUBJECTS_CJK)}第{self._chance.randint(1, 99)}号"
        text = f"方針として、{other}の処理では{subject}を{action}ことにした。"
        return Fact("cjk", text, f"{other}では{subject}はどうする")

    def _nouns(self, count: int) -> list[str]:
        return self._chance.sample(_NOUNS, count)

    def _verb(self) -> str:
        return self._chance.choice(_VERBS)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much to make: `facts` of each kind, over all sessions."""

    sessions: int = 12
    messages: int = 500
    facts: int = 30
    seed: int = 7


def write_sessions(folder: Path, sizes: Sizes) -> list[Planted]:
    """Transcripts of Claude Code, one a session, and what was planted in them."""
    folder.mkdir(parents=True)
    maker, chance = Maker(sizes.seed), random.Random(sizes.seed + 1)
    facts = [maker.fact(kind) for kind in maker.kinds for _ in range(sizes.facts)]
    places = [(session, seq) for session in range(sizes.sessions) for seq in range(1, sizes.messages - _TAIL)]
    planted: dict[tuple[int, int], Fact] = dict(zip(chance.sample(places, len(facts)), facts, strict=True))
    found = []
    for session in range(sizes.sessions):
        session_id = str(uuid.UUID(int=(sizes.seed << 64) + session, version=4))
        found += [Planted(fact, session_id, seq) for (number, seq), fact in planted.items() if number == session]
        texts = [_message_text(maker, chance, planted.get((session, seq))) for seq in range(sizes.messages)]
        with (folder / f"{session_id}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in _records(session_id, texts))
    return found


def _message_text(maker: Maker, chance: random.Random, fact: Fact | None) -> str:
    """A few sentences, some of which look like facts; the planted one among them."""
    looks = [maker.fact(chance.choice(list(maker.kinds))).text for _ in range(chance.randint(0, 2))]
    sentences = looks + [maker.chore().capitalize() + "." for _ in range(chance.randint(1, 6))]
    chance.shuffle(sentences)
    if fact is not None:
        sentences.insert(chance.randint(0, len(sentences)), fact.text)
    return "\n".join(sentences)


def _records(session_id: str, texts: list[str]) -> Iterator[dict[str, Any]]:
    """A prompt, an answer with a tool call, its result, and so on; one message for each text."""
    last = None
    for seq, text in enumerate(texts):
        own = str(uuid.uuid5(uuid.UUID(session_id), str(seq)))
        call_id = f"toolu_{session_id[:8]}{seq - seq % 3:08d}"
        kind, content = _content(seq, text, call_id)
        at = _START + timedelta(seconds=20 * seq)
        yield {
            "type": kind,
            "uuid": own,
            "parentUuid": last,
            "sessionId": session_id,
            "cwd": ROOT,
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "isSidechain": False,
            "message": {"role": kind, "content": content},
        }
        last = own


def _content(seq: int, text: str, call_id: str) -> tuple[str, list[dict[str, Any]]]:
    said = {"type": "text", "text": text}
    match seq % 3:
        case 0:
            return "user", [said]
        case 1:
            call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "make check"}}
            return "assistant", [said, call]
        case _:
            return "user", [{"type": "tool_result", "tool_use_id": call_id, "content": text}]
