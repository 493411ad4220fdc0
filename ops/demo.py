"""Shows lcm at work on an invented session of two days, and checks every step: exit code 1 when one does not hold."""

from __future__ import annotations

import argparse
import contextlib
import html
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from sample.make import Sample, make_sample

from lcm.cli.main import main as lcm_command
from lcm.tokens import estimate_tokens

BUDGET = 6_000
WITHOUT_LIMIT = "1000000"
TO_THE_MESSAGES = ("--depth", "99", "--messages", "--nested")
SHOWN_CONTEXT_LINES = 14
QUESTION = "Why did we choose the queue instead of retries?"
ANSWER = "retries die with every deploy and one slow harbour fills the connection pool"
#: The sample is small; with the defaults, made for sessions a hundred times as long, it would become two summaries.
SMALL_SUMMARIES = {
    "LCM_LEAF_CHUNK_TOKENS": "1200",
    "LCM_LEAF_TARGET_TOKENS": "250",
    "LCM_LEAF_MIN_FANOUT": "3",
    "LCM_CONDENSED_TARGET_TOKENS": "600",
    "LCM_CONDENSED_MIN_FANOUT": "2",
}
WIDEST = 100
NARROWEST = 80
_TIME_RANGE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d \S+ - \d{4}-\d\d-\d\d \d\d:\d\d \S+\s*")
_HEAD_OF_MESSAGE = re.compile(r"\s*\[\d{4}-\d\d-\d\d \d\d:\d\d [^\]]+\] \w+ \d+:\d+$")
_ASCII = str.maketrans({"…": "...", "→": "->", "├": "+", "└": "`", "─": "-", "│": "|", "✓": "ok"})
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

    def command(self, words: Sequence[str]) -> None:
        self.line("")
        self.line(f"$ {shlex.join(words)}", _CYAN)

    def output(self, text: str, *, wrap: bool = False) -> None:
        """Lines of a command; too long ones are cut, or go on below."""
        for line in text.rstrip("\n").split("\n"):
            margin = " " * (2 + len(line) - len(line.lstrip()))
            lines = textwrap.wrap(line, self.width, initial_indent="  ", subsequent_indent=margin) if wrap else []
            for each in lines or [f"  {line}"]:
                self.line(each)

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
    """The text in at most `width` columns."""
    if columns_of(text) <= width:
        return text
    while columns_of(text) > width - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def columns_of(text: str) -> int:
    """Columns on a terminal: CJK and emoji take two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


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

    def show(self, *words: str, keep: Callable[[str], bool] | None = None) -> str:
        self.page.command(["lcm", *words])
        text = self.run(*words)
        self.page.output(abridged(text, keep) if keep else text, wrap=keep is not None)
        return text

    @property
    def id(self) -> str:
        return str(self.conversation["conversation_id"])


def show_import(stage: Stage) -> None:
    stage.page.step("Bring in every session that Claude Code has kept on this machine.")
    stage.show("import")
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
    stage.page.line("")
    for name, value in SMALL_SUMMARIES.items():
        stage.page.line(f"$ export {name}={value}", _CYAN)
    stage.show("compact")
    before = stage.tokens_before = stage.conversation["context_tokens"]
    listed = stage.ask("conversations")["conversations"]
    stage.conversation = next(each for each in listed if each["relation"] == "root")
    after = stage.conversation["context_tokens"]
    require(after * 4 < before, f"the context should shrink to less than a quarter, but went from {before} to {after}")
    stage.page.closing(
        f"{before:,} → {after:,} tokens: {before / after:.1f} times smaller, by {stage.conversation['summaries']}"
        " summaries."
    )


def show_dag(stage: Stage) -> None:
    stage.page.step("Look at the DAG: summaries of summaries of messages.")
    context = stage.ask("context", stage.id, "--budget", WITHOUT_LIMIT)
    for each in context["messages"]:
        summary = each["ref"].get("summary_id")
        if summary is not None:
            tree = stage.ask("expand", summary, *TO_THE_MESSAGES)["tree"]
            stage.roots.append(tree)
            stage.page.command(["lcm", "expand", summary, "--depth", "99", "--nested"])
            stage.page.output("\n".join(_drawn(tree, 3 * _depth(tree))))
    depth, leaves = max(map(_depth, stage.roots)), sum(1 for root in stage.roots for _ in _leaves(root))
    require(depth >= 2, f"the DAG should be at least two levels high, but has {depth}")
    stage.page.closing(f"{leaves} leaves in a DAG of depth {depth}, drawn here from the command's --json.")


def _drawn(node: Json, room: int, lead: str = "", below: str = "") -> Iterator[str]:
    """A tree, one line a summary: id, tokens, what it is made from, how it begins."""
    begins = _TIME_RANGE.sub("", node["snippet"])
    made_from = f"{len(node['messages'])} messages" if node["messages"] else f"{len(node['children'])} summaries"
    margin = " " * (room - len(lead))
    yield f"{lead}{node['summary_id']}{margin} {node['token_count']:>5} tokens {made_from:>12}  {begins}"
    for at, child in enumerate(node["children"]):
        is_last = at + 1 == len(node["children"])
        yield from _drawn(child, room, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  "))


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
    stage.show(*words, keep=_first_lines(SHOWN_CONTEXT_LINES))
    context = stage.ask(*words)
    stage.page.line("")
    stage.page.paragraph("The same, one line an item, with its tokens:")
    stage.page.line("")
    stage.page.output("\n".join(map(_item_line, context["messages"])))
    used = context["token_count"]
    require(used <= BUDGET and not context["over_budget"], f"the context should fit {BUDGET} tokens, but takes {used}")
    require(context["items_included"] == context["items_total"], "nothing should have to be dropped")
    stage.page.closing(
        f"{used:,} of {BUDGET:,} tokens: the model knows both days, and the last {context['tail_items']} messages"
        f" word by word. The session itself has {stage.tokens_before:,} tokens and would not fit."
    )


def _first_lines(count: int) -> Callable[[str], bool]:
    left = iter(range(count))
    return lambda _: next(left, None) is not None


def _item_line(message: Json) -> str:
    text = " ".join(_block_text(block) for block in message["content"])
    tokens = estimate_tokens(text)
    summary = message["ref"].get("summary_id")
    if summary is not None:
        told = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())
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
    """Returns the id of the highest summary that was found."""
    stage.page.step("Ask in plain language.")
    words = ("search", QUESTION, "--limit", "4")
    stage.show(*words)
    hits = stage.ask(*words)["hits"]
    summaries = [hit for hit in hits if hit["summary_id"]]
    require(len(summaries) > 0, "the search should find a summary")
    require("queue" in hits[0]["snippet"], "the search should find the decision first")
    highest = max(summaries, key=lambda hit: int(hit["depth"]))
    stage.page.closing(
        f"{len(hits)} hits, the best with a relevance of {hits[0]['relevance']:.2f}: the messages themselves, and"
        f" summaries above them such as {highest['summary_id']}."
    )
    return str(highest["summary_id"])


def show_expansion(stage: Stage, summary: str) -> None:
    stage.page.step("Open that summary again, down to the very message.")
    words = ("expand", summary, *TO_THE_MESSAGES)
    tree = stage.ask(*words)["tree"]
    path = _path_to(tree, ANSWER)
    if path is None:
        raise Unexpected("the decision should be below the summary that was found")
    stage.show(*words, keep=_on_path(path))
    stage.page.closing(f"{' → '.join(path)}: the answer, word by word, from a summary of {tree['token_count']} tokens.")


def _path_to(node: Json, text: str) -> list[str] | None:
    """From the node down to the prompt that holds the text: ids of summaries, and the message's place at the end."""
    for message in node["messages"]:
        if text in message["content"] and message["role"] == "user":
            return [node["summary_id"], _place(message)]
    for child in node["children"]:
        found = _path_to(child, text)
        if found is not None:
            return [node["summary_id"], *found]
    return None


def _place(message: Json) -> str:
    return f"{message['conversation_id']}:{message['seq']}"


def _on_path(path: Sequence[str]) -> Callable[[str], bool]:
    """Keeps the lines of the summaries of the path, and its message with all its text."""
    is_inside = False

    def keep(line: str) -> bool:
        nonlocal is_inside
        words = line.split()
        if _HEAD_OF_MESSAGE.match(line):
            is_inside = path[-1] in words
        elif line.lstrip().startswith("sum_"):
            is_inside = False
            return words[0] in path
        return is_inside

    return keep


def show_reach(stage: Stage) -> None:
    stage.page.step("Count where the messages are.")
    conversations = stage.ask("conversations")["conversations"]
    stored = {f"{each['conversation_id']}:{seq}" for each in conversations for seq in range(each["messages"])}
    below = [_place(message) for root in stage.roots for leaf in _leaves(root) for message in leaf["messages"]]
    shown = [place for each in conversations for place in _places_in_context(stage, each)]
    left_out = sorted(stored - {*below, *shown})
    reasons = Counter(stage.ask("describe", place)["message"]["exclusion"] for place in left_out)
    stage.page.line("")
    stage.page.output(
        f"{len(below):>5}  below the summaries, opened with lcm expand\n"
        f"{len(shown):>5}  word by word in the context of the session and of its subagent\n"
        f"{reasons['rewound']:>5}  left out on purpose: a prompt that was edited, and what followed it\n"
        f"{reasons['client_summary']:>5}  left out on purpose: the client's own summary of the first day"
    )
    require(None not in reasons, "a message outside the context should have a reason")
    require(len(left_out) == stage.sample.left_out, f"{stage.sample.left_out} messages should be left out")
    reached = len(below) + len(shown) + len(left_out)
    require(reached == len(stored) == stage.sample.messages, f"{len(stored)} messages should be reached, not {reached}")
    stage.page.closing(f"{reached} of {stage.sample.messages} messages are reachable, each in exactly one place.")


def _places_in_context(stage: Stage, conversation: Json) -> Iterator[str]:
    context = stage.ask("context", str(conversation["conversation_id"]), "--budget", WITHOUT_LIMIT)
    for each in context["messages"]:
        yield from each["ref"].get("messages", ())


def show_secrets(stage: Stage) -> None:
    stage.page.step("Look for the secrets that were pasted with the .env file.")
    stage.show("grep", "HARBOR_DATABASE_URL=postgresql", "--scope", "messages")
    secrets = [secret.encode() for secret in stage.sample.secrets.values()]
    files = {stage.sample.session_file: "the transcript"}
    files |= {path: f"lcm: {_short(path)}" for path in sorted(stage.home.rglob("*")) if path.is_file()}
    found = {path: _occurrences(path, secrets) for path in files}
    stage.page.line("")
    stage.page.paragraph("All files byte by byte, for the secrets and for outbox_events, a word that is none:")
    stage.page.line("")
    for path, name in files.items():
        stage.page.output(
            f"{path.stat().st_size:>9,} bytes  secrets {found[path]:>2}"
            f"  outbox_events {_occurrences(path, [b'outbox_events']):>3}  {name}"
        )
    planted = found.pop(stage.sample.session_file)
    require(planted >= len(secrets), "the transcript itself should hold the secrets")
    require(
        _occurrences(max(found, key=lambda path: path.stat().st_size), [b"outbox_events"]) > 0, "the scan sees words"
    )
    require(not any(found.values()), "no secret should be stored")
    stage.page.closing(f"{len(secrets)} secrets stand {planted} times in the transcript, and not once in lcm's files.")


def _short(path: Path) -> str:
    """The end of a path, with the long digest before it cut."""
    return (
        f"{path.parent.name[:12]}…/{path.name[:24]}"
        if len(path.parent.name) > 12
        else f"{path.parent.name}/{path.name}"
    )


def _occurrences(path: Path, words: Sequence[bytes]) -> int:
    data = path.read_bytes()
    return sum(data.count(word) for word in words)


def show_second_import(stage: Stage) -> str:
    """Returns the digest over all messages before the second import."""
    stage.page.step("Import again: as often as you like, also while the agent works.")
    digest = stage.ask("verify")["content_digest"]
    stage.show("import")
    messages = sum(each["messages"] for each in stage.ask("conversations")["conversations"])
    require(messages == stage.sample.messages, "the second import should add nothing")
    stage.page.closing(f"0 new: still {messages} messages.")
    return str(digest)


def show_proof(stage: Stage, digest: str) -> None:
    stage.page.step("Have it proved.")
    proof = stage.show("verify")
    require(digest in proof, "the second import should not have changed what the messages say")
    stage.page.closing(
        "Every message is whole, reachable and in exactly one place. The digest over all contents is the one from"
        " before the second import, and a store on another machine that read the same files has it too."
    )


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
    show_proof(stage, show_second_import(stage))
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
    project = folder / "harbor-api"
    project.mkdir()
    try:
        stage = Stage(folder, Page.of_stdout(), make_sample(folder / "claude", cwd=str(project)))
        with contextlib.chdir(project):
            perform(stage)
    except Unexpected as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader went away (`ops/demo.sh | head`): the rest has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        if arguments.keep:
            print(
                f"Kept; go on with: cd {project} && export LCM_HOME={folder}/lcm-home CLAUDE_CONFIG_DIR={folder}/claude"
            )
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
