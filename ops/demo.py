"""Shows lcm at work on an invented session of two days, and checks every step: exit code 1 when one does not hold."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from click.testing import CliRunner
from sample.make import Sample, make_sample

from lcm.cli.main import main as lcm_command
from lcm.tokens import estimate_tokens

BUDGET = 6_000
QUESTION = "Why did we choose the queue instead of retries?"
ANSWER = "retries die with every deploy and one slow harbour fills the connection pool"
#: The sample is small; with the defaults, made for sessions a hundred times as long, it would become two summaries.
SMALL_SUMMARIES = {
    "LCM_LEAF_CHUNK_TOKENS": "1000",
    "LCM_LEAF_TARGET_TOKENS": "200",
    "LCM_LEAF_MIN_FANOUT": "4",
    "LCM_CONDENSED_TARGET_TOKENS": "400",
    "LCM_CONDENSED_MIN_FANOUT": "3",
}
WIDEST = 100
NARROWEST = 80
_TIME_RANGE = re.compile(r"^\d{4}-(\d\d-\d\d \d\d:\d\d) \S+ - \d{4}-(\d\d-\d\d \d\d:\d\d) \S+\s*")
_PLACE = re.compile(r"\b\d+:\d+\b")
_ASCII = str.maketrans({"…": "...", "→": "->", "├": "+", "└": "`", "─": "-", "│": "|", "·": "-", "×": "x", "✓": "ok"})
_BOLD, _DIM, _GREEN, _CYAN = "1", "2", "32", "36"

Json = dict[str, Any]


class Unexpected(Exception):
    """A step did not give what it should."""


def require(holds: bool, sentence: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise Unexpected(sentence)


# What the reader sees.


@dataclass(slots=True)
class Page:
    """Prints steps: plain text, colours only on a terminal, ASCII where the encoding knows no more."""

    width: int
    has_colour: bool
    has_unicode: bool
    steps: int = 0

    @classmethod
    def of_stdout(cls) -> Page:
        columns = shutil.get_terminal_size((92, 24)).columns
        is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
        encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
        return cls(max(NARROWEST, min(WIDEST, columns)), has_colour=not is_plain, has_unicode=encoding == "utf8")

    def step(self, sentence: str) -> None:
        self.steps += 1
        self.line("")
        self.line(f"{self.steps}. {sentence}", _BOLD)

    def command(self, words: Sequence[str], note: str = "") -> None:
        self.line("")
        self.line(f"$ {shlex.join(words)}{note}", _CYAN)

    def output(self, text: str) -> None:
        for line in text.rstrip("\n").split("\n"):
            self.line(f"  {line}")

    def closing(self, sentence: str) -> None:
        self.line("")
        for at, line in enumerate(textwrap.wrap(sentence, self.width - 2)):
            self.line(f"{'→ ' if at == 0 else '  '}{line}", _GREEN)

    def paragraph(self, text: str) -> None:
        for line in textwrap.wrap(text, self.width):
            self.line(line, _DIM)

    def line(self, text: str, style: str | None = None) -> None:
        """One line, cut to the width."""
        shown = clipped(text, self.width)
        if not self.has_unicode:
            shown = shown.translate(_ASCII).encode("ascii", "replace").decode("ascii")
        print(f"\x1b[{style}m{shown}\x1b[0m" if style and self.has_colour else shown, flush=True)


def clipped(text: str, width: int) -> str:
    """The text on one line of at most `width` columns."""
    flat = text.replace("\t", " ")
    if columns_of(flat) <= width:
        return flat
    while columns_of(flat) > width - 1:
        flat = flat[: -max(1, (columns_of(flat) - width) // 2)]
    return f"{flat.rstrip()}…"


def columns_of(text: str) -> int:
    """Columns on a terminal: CJK and emoji take two."""
    return len(text) + sum(1 for character in text if character >= "\u1100" and not "\u2000" <= character <= "\u27ff")


def abridged(text: str, keep: Callable[[str], bool]) -> str:
    """The lines to keep; what is left out between them becomes one line that counts it."""
    shown: list[str] = []
    skipped = 0
    for line in [*text.rstrip("\n").split("\n"), None]:
        if line is not None and not keep(line):
            skipped += 1
            continue
        if skipped:
            shown.append(f"… {skipped} more lines")
        shown += [] if line is None else [line]
        skipped = 0
    return "\n".join(shown)


# What the demo does.


@dataclass(slots=True)
class Stage:
    """A temporary home, the sample, and the command line; everything happens in this process and below `folder`."""

    folder: Path
    page: Page
    sample: Sample
    conversation: Json = field(default_factory=dict)
    tokens_before: int = 0
    roots: list[Json] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "lcm-home"

    def environment(self) -> dict[str, str | None]:
        """Nothing of the person's own settings, keys and sessions."""
        own = {name: None for name in os.environ if name.startswith("LCM_") or name == "TZ"}
        return {
            **own,
            "LCM_HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "CODEX_HOME": str(self.folder / "codex"),
            "LCM_SUMMARY_PROVIDER": "offline",
            "COLUMNS": str(self.page.width - 2),
            **SMALL_SUMMARIES,
        }

    def run(self, *words: str) -> str:
        """What `lcm` prints; its own one-line error ends the demo."""
        done = CliRunner(env=self.environment()).invoke(lcm_command, list(words), prog_name="lcm")
        if done.exit_code != 0:
            said = done.stderr.strip() or repr(done.exception)
            raise Unexpected(f"`lcm {shlex.join(words)}` ended with exit code {done.exit_code}: {said}")
        return done.stdout + done.stderr

    def ask(self, *words: str) -> Json:
        """The same as JSON, unseen by the reader."""
        answer = json.loads(self.run(*words, "--json"))
        require(isinstance(answer, dict), f"`lcm {words[0]} --json` prints one object")
        return dict(answer)

    def show(self, *words: str, keep: Callable[[str], bool] | None = None) -> None:
        self.page.command(["lcm", *words])
        text = self.run(*words)
        self.page.output(abridged(text, keep) if keep else text)

    @property
    def id(self) -> str:
        return str(self.conversation["conversation_id"])


def show_import(stage: Stage) -> None:
    stage.page.step("Bring in every session that Claude Code has kept on this machine.")
    stage.page.command(["lcm", "import"])
    text = stage.run("import")
    stage.page.output(text)
    figures = stage.ask("stats")
    messages, expected = figures["messages"], stage.sample.messages
    require(messages == expected, f"{expected} messages should be stored, not {messages}")
    kept = sum(figures["redactions"].values())
    require(kept > 0, "the pasted secrets should have been replaced")
    stage.page.closing(
        f"{stage.sample.records} records read, {messages} messages stored (prompts, answers, tool calls and their"
        f" results); {figures['large_files']} picture kept beside them, {kept} secrets replaced on the way in."
    )


def show_conversations(stage: Stage) -> None:
    stage.page.step("See what there is.")
    stage.show("conversations")
    listed = stage.ask("conversations")["conversations"]
    by_relation = {each["relation"]: each for each in listed}
    require(set(by_relation) == {"root", "subagent"}, "there should be a session and its subagent")
    stage.conversation = by_relation["root"]
    linked = by_relation["subagent"]["parent_tool_call_id"]
    require(bool(linked), "the subagent should be linked to the tool call that started it")
    stage.page.closing(
        f"One session of two days ({stage.conversation['context_tokens']:,} tokens in context), and the subagent that"
        f" it started, linked to the tool call {linked}."
    )


def show_compaction(stage: Stage) -> None:
    stage.page.step("Compact the old messages into summaries. Nothing is deleted.")
    stage.page.paragraph(
        "Without a model the offline summarizer picks the telling lines; with LCM_SUMMARY_MODEL a model writes them."
        " The sample is short, so the summaries are made small:"
    )
    stage.page.command(["export", *(f"{name}={value}" for name, value in list(SMALL_SUMMARIES.items())[:2])], " ...")
    stage.page.command(["lcm", "compact"])
    result, text = _compacted(stage)
    stage.page.output(text)
    before, after = result["tokens_before"], result["tokens_after"]
    stage.tokens_before = before
    require(after * 4 < before, f"the context should shrink to less than a quarter, but went from {before} to {after}")
    stage.page.closing(
        f"{before:,} → {after:,} tokens: {before / after:.1f} times smaller, by {result['summaries_created']} summaries."
    )


def _compacted(stage: Stage) -> tuple[Json, str]:
    """The result of the session's compaction, and what the command prints."""
    text = stage.run("compact")
    overview = _overview(stage)
    result = {
        "tokens_before": stage.conversation["context_tokens"],
        "tokens_after": overview["context_tokens"],
        "summaries_created": overview["summaries"],
    }
    stage.conversation = overview
    return result, text


def _overview(stage: Stage) -> Json:
    listed = stage.ask("conversations")["conversations"]
    return dict(next(each for each in listed if each["conversation_id"] == stage.conversation["conversation_id"]))


def show_dag(stage: Stage) -> None:
    stage.page.step("Look at the DAG: summaries of summaries of messages.")
    context = stage.ask("context", stage.id, "--budget", "1000000")
    ids = [each["ref"]["summary_id"] for each in context["messages"] if "summary_id" in each["ref"]]
    for each in ids:
        tree = stage.ask("expand", each, "--depth", "99", "--messages", "--nested")["tree"]
        stage.roots.append(tree)
        stage.page.command(["lcm", "expand", each, "--depth", "99", "--nested"])
        stage.page.output("\n".join(_drawn(tree)))
    depth, leaves = max(map(_depth, stage.roots)), sum(1 for root in stage.roots for _ in _leaves(root))
    require(depth >= 2, f"the DAG should be at least two levels high, but has {depth}")
    stage.page.closing(f"{leaves} leaves in a DAG of depth {depth}; each message is below exactly one leaf.")


def _drawn(node: Json, lead: str = "", below: str = "") -> Iterator[str]:
    """A tree, one line a summary: id, tokens, what it covers, how it begins."""
    snippet = _TIME_RANGE.sub("", node["snippet"])
    covered = f"{len(node['messages'])} messages" if node["messages"] else f"{len(node['children'])} summaries"
    yield f"{lead}{node['summary_id']}  {node['token_count']} tokens, {covered}  {snippet}"
    for at, child in enumerate(node["children"]):
        is_last = at + 1 == len(node["children"])
        yield from _drawn(child, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  "))


def _leaves(node: Json) -> Iterator[Json]:
    if not node["children"]:
        yield node
    for child in node["children"]:
        yield from _leaves(child)


def _depth(node: Json) -> int:
    return max((1 + _depth(child) for child in node["children"]), default=0)


def show_context(stage: Stage) -> None:
    stage.page.step("Give a model what it needs: summaries first, then the newest messages, within a budget.")
    words = ("context", stage.id, "--budget", str(BUDGET))
    stage.page.command(["lcm", *words], "   # here one line an item")
    context = stage.ask(*words)
    stage.page.output("\n".join(map(_item_line, context["messages"])))
    used = context["token_count"]
    require(used <= BUDGET and not context["over_budget"], f"the context should fit {BUDGET} tokens, but takes {used}")
    require(context["items_included"] == context["items_total"], "nothing should have to be dropped")
    stage.page.closing(
        f"{used:,} of {BUDGET:,} tokens: the model knows both days and has the last {context['tail_items']} messages"
        f" word by word. The session itself has {stage.tokens_before:,} tokens and would not fit."
    )


def _item_line(message: Json) -> str:
    text = " ".join(_block_text(block) for block in message["content"])
    tokens = estimate_tokens(text)
    summary = message["ref"].get("summary_id")
    if summary is not None:
        told = " ".join(re.sub(r"<[^>]*>", " ", text).split())
        return f"{tokens:>5}  summary {summary}  {_TIME_RANGE.sub('', told)}"
    return f"{tokens:>5}  {message['role']:<9} {' '.join(message['ref']['messages'])}  {' '.join(text.split())}"


def _block_text(block: Json) -> str:
    match block["type"]:
        case "tool_use":
            return f"[{block['name']}] {json.dumps(block['input'], ensure_ascii=False)}"
        case "tool_result":
            return f"[result] {block['content']}"
        case kind:
            return str(block.get(kind, block.get("text", "")))


def show_search(stage: Stage) -> str:
    """Returns the id of the best summary."""
    stage.page.step("Ask in plain language.")
    stage.show("search", QUESTION, "--limit", "4")
    hits = stage.ask("search", QUESTION, "--limit", "4")["hits"]
    summary = next((hit["summary_id"] for hit in hits if hit["summary_id"]), None)
    require(summary is not None, "the search should find a summary")
    words = {hit["id"]: hit["snippet"] for hit in hits}
    require(any("queue" in snippet for snippet in words.values()), "the search should find the decision")
    stage.page.closing(f"{len(hits)} hits, the best with relevance {hits[0]['relevance']:.2f}; summary {summary} is one.")
    return str(summary)


def show_expansion(stage: Stage, summary: str) -> None:
    stage.page.step("Open the summary again, down to the very message.")
    words = ("expand", summary, "--depth", "99", "--messages", "--nested")
    tree = stage.ask(*words)["tree"]
    path = _path_to(tree, ANSWER)
    require(path is not None, "the decision should be below the summary that was found")
    ids, message = path or ([], {})
    place = f"{message['conversation_id']}:{message['seq']}"
    stage.show(*words, keep=_on_path(ids, place))
    require(ANSWER in message["content"], "the message should be there word by word")
    stage.page.closing(
        f"{' → '.join([*ids, place])}: the answer, word by word, {len(ids)} levels below a summary"
        f" of {tree['token_count']} tokens."
    )


def _path_to(node: Json, text: str) -> tuple[list[str], Json] | None:
    """Ids from the node down to the leaf whose messages hold the text as a prompt, and that message."""
    for message in node["messages"]:
        if text in message["content"] and message["role"] == "user":
            return [node["summary_id"]], message
    for child in node["children"]:
        found = _path_to(child, text)
        if found is not None:
            return [node["summary_id"], *found[0]], found[1]
    return None


def _on_path(ids: Sequence[str], place: str) -> Callable[[str], bool]:
    """Keeps the lines of these summaries, and the message at this place with its text."""
    is_inside = False

    def keep(line: str) -> bool:
        nonlocal is_inside
        if line.lstrip().startswith("[20") and _PLACE.search(line):
            is_inside = place in line.split()
        elif line.lstrip().startswith("sum_"):
            is_inside = False
            return line.split()[0] in ids
        return is_inside

    return keep


def show_reach(stage: Stage) -> None:
    """Every message is in one place: below a summary, in the fresh tail, or stored but left out on purpose."""
    stage.page.step("Count where the messages are.")
    below = {(m["conversation_id"], m["seq"]) for root in stage.roots for leaf in _leaves(root) for m in leaf["messages"]}
    tails: set[str] = set()
    for conversation in stage.ask("conversations")["conversations"]:
        shown = stage.ask("context", str(conversation["conversation_id"]), "--budget", "1000000")["messages"]
        tails |= {place for each in shown for place in each["ref"].get("messages", ())}
    left_out, stored = stage.sample.left_out, stage.sample.messages
    found = len(below) + len(tails) + left_out
    stage.page.output(
        f"{len(below):>5}  below the summaries, opened one by one with lcm expand\n"
        f"{len(tails):>5}  word by word in the context of the session and of its subagent\n"
        f"{left_out:>5}  out of the context on purpose, searchable: a prompt that was edited, with what followed\n"
        f"       it, and the client's own summary\n"
        f"{found:>5}  of {stored}"
    )
    require(found == stored, f"all {stored} messages should be reachable, not {found}")
    stage.page.closing(f"{found} of {stored} messages are reachable, each in exactly one place.")


def show_secrets(stage: Stage) -> None:
    stage.page.step("Look for the secrets that were pasted with the .env file.")
    stage.show("grep", "HARBOR_DATABASE_URL=postgresql", "--limit", "1")
    planted = _occurrences(stage.sample.session_file, stage.sample)
    files = [path for path in stage.home.rglob("*") if path.is_file()]
    found = sum(_occurrences(path, stage.sample) for path in files)
    size = sum(path.stat().st_size for path in files)
    known = sum(path.read_bytes().count(b"outbox_events") for path in files)
    stage.page.command(["grep", "-raFc", "-f", "the-four-secrets", "$LCM_HOME"])
    stage.page.output(f"0 times in {len(files)} files, {size / 1e6:.1f} MB (outbox_events, a plain word: {known} times)")
    require(planted >= len(stage.sample.secrets), "the transcript itself should hold the secrets")
    require(known > 0, "the scan should find words that are no secret")
    require(found == 0, f"no secret should be stored, but {found} were found")
    stage.page.closing(f"{len(stage.sample.secrets)} secrets stand {planted} times in the transcript, 0 times in lcm.")


def _occurrences(path: Path, sample: Sample) -> int:
    data = path.read_bytes()
    return sum(data.count(secret.encode()) for secret in sample.secrets.values())


def show_second_import(stage: Stage) -> None:
    stage.page.step("Import again: as often as you like, also while the agent works.")
    digest = stage.ask("verify")["content_digest"]
    stage.show("import")
    figures = stage.ask("stats")
    require(figures["messages"] == stage.sample.messages, "the second import should add nothing")
    require(stage.ask("verify")["content_digest"] == digest, "the second import should change nothing")
    stage.page.closing(f"0 new, still {figures['messages']} messages, and the same digest over all of them.")


def show_proof(stage: Stage) -> None:
    stage.page.step("Have it proved.")
    stage.show("verify")
    proof = stage.ask("verify")
    require(proof["ok"] is True, "the proof should find no fault")
    stage.page.closing("Every message is whole, reachable and in exactly one place; the digest tells two stores apart.")


def perform(stage: Stage) -> None:
    started = time.monotonic()
    page = stage.page
    page.line("lcm, the Long Context Manager: a tour", _BOLD)
    page.paragraph(
        "An invented session of two days: Dana and a coding agent hunt a flaky test in harbor-api, and build a queue."
        " Everything happens in a temporary folder, without network and without a key."
    )
    show_import(stage)
    show_conversations(stage)
    show_compaction(stage)
    show_dag(stage)
    show_context(stage)
    show_expansion(stage, show_search(stage))
    show_reach(stage)
    show_secrets(stage)
    show_second_import(stage)
    show_proof(stage)
    page.line("")
    page.line(f"All {page.steps} steps gave what they should, in {time.monotonic() - started:.1f} s.", _BOLD)
    page.line("Your own sessions: lcm import && lcm conversations")


def refuse_network(event: str, _: object) -> None:
    """An audit hook: with it, the promise of no network is kept or the demo fails."""
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise Unexpected("something wanted to use the network")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder and name it at the end")
    arguments = parser.parse_args()
    sys.addaudithook(refuse_network)
    folder = Path(tempfile.mkdtemp(prefix="lcm-demo-")).resolve()
    try:
        project = folder / "harbor-api"
        project.mkdir()
        stage = Stage(folder, Page.of_stdout(), make_sample(folder / "claude", cwd=str(project)))
        with contextlib.chdir(project):
            perform(stage)
    except Unexpected as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    finally:
        if arguments.keep:
            print(f"Kept: LCM_HOME={folder / 'lcm-home'}, the transcripts in {folder / 'claude'}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
