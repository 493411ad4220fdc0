"""Open a summary again: what it was made from, level by level, and on request down to the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lcm.domain.messages import Message, Role
from lcm.domain.summaries import SubtreeEntry, Summary, SummaryKind
from lcm.retrieval.snippet import SNIPPET_CHARS
from lcm.storage.contracts.project import ProjectStorage
from lcm.text import clip, one_line, require_safe_integer
from lcm.tokens import estimate_tokens


@dataclass(frozen=True, slots=True)
class ChildSnippet:
    """A summary below the opened one: the first 200 code points of it on one line."""

    summary_id: str
    kind: SummaryKind
    snippet: str
    token_count: int


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that a leaf was made from, whole unless the token cap cut it."""

    conversation_id: int
    seq: int
    role: Role
    occurred_at: datetime
    content: str
    token_count: int


@dataclass(frozen=True, slots=True)
class ExpandedSummary:
    """The summary asked for, with all that was found below it in one list each."""

    summary_id: str
    children: tuple[ChildSnippet, ...]
    messages: tuple[SourceMessage, ...]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A summary with what it was made from."""

    summary_id: str
    kind: SummaryKind
    snippet: str
    token_count: int
    children: tuple[TreeNode, ...]
    messages: tuple[SourceMessage, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """What was found below a summary.

    Attributes:
        cited_ids: the summary and every child, each once, in order.
        total_tokens: stored tokens of the children, and of the messages as far as they are given.
        truncated: the token cap left something out.
        tree: the same, nested; None unless asked for.
    """

    expansions: tuple[ExpandedSummary, ...]
    cited_ids: tuple[str, ...]
    total_tokens: int
    truncated: bool
    tree: TreeNode | None = None


@dataclass(slots=True)
class _Collector:
    """Takes children and messages in order until the cap is reached, then nothing more."""

    token_cap: int | None
    total_tokens: int = 0
    is_truncated: bool = False
    entries: list[SubtreeEntry] = field(default_factory=list)
    messages: dict[str, list[SourceMessage]] = field(default_factory=dict)

    def add_entry(self, entry: SubtreeEntry) -> None:
        if self._fits(entry.summary.token_count):
            self.entries.append(entry)

    def add_message(self, leaf: Summary, message: Message) -> None:
        """A message that does not fit is cut to what is left."""
        left = None if self.token_cap is None else self.token_cap - self.total_tokens
        if self._fits(message.token_count):
            self._keep(leaf, message, message.content, message.token_count)
        elif left and (content := _cut(message.content, left)):
            tokens = estimate_tokens(content)
            self.total_tokens += tokens
            self._keep(leaf, message, content, tokens)

    def _fits(self, tokens: int) -> bool:
        if self.is_truncated:
            return False
        if self.token_cap is not None and self.total_tokens + tokens > self.token_cap:
            self.is_truncated = True
            return False
        self.total_tokens += tokens
        return True

    def _keep(self, leaf: Summary, message: Message, content: str, tokens: int) -> None:
        source = SourceMessage(
            conversation_id=message.conversation_id,
            seq=message.seq,
            role=message.role,
            occurred_at=message.occurred_at,
            content=content,
            token_count=tokens,
        )
        self.messages.setdefault(leaf.summary_id, []).append(source)


async def expand(
    project: ProjectStorage,
    summary_id: str,
    *,
    depth: int = 1,
    include_messages: bool = False,
    nested: bool = False,
    token_cap: int | None = None,
) -> Expansion:
    """Descend `depth` levels below a summary; levels are accumulated in one list, by level and place.

    Messages count as the level below their leaf and are given with `include_messages` only. `token_cap` stops the
    answer with `truncated` set. `nested` adds the same as a tree.

    Raises:
        UnknownSummary.
        OutOfRange: depth or cap is no positive safe integer.
    """
    require_safe_integer("depth", depth, 1)
    if token_cap is not None:
        require_safe_integer("token_cap", token_cap, 1)
    root = await project.summaries.get_summary(summary_id)
    collector = _Collector(token_cap)
    for entry in await project.summaries.list_subtree(root.summary_key, max_depth=depth):
        collector.add_entry(entry)
    if include_messages:
        await _add_messages(project, root, depth, collector)
    return _expansion(root, collector, nested=nested)


async def _add_messages(project: ProjectStorage, root: Summary, depth: int, collector: _Collector) -> None:
    """Of the leaves that stand above the last level asked for."""
    above = [root, *(entry.summary for entry in collector.entries if entry.depth_from_root < depth)]
    for leaf in above:
        if leaf.kind is not SummaryKind.LEAF or collector.is_truncated:
            continue
        for message in await project.summaries.list_messages(leaf.summary_key):
            collector.add_message(leaf, message)


def _expansion(root: Summary, collector: _Collector, *, nested: bool) -> Expansion:
    entries = collector.entries
    expanded = ExpandedSummary(
        summary_id=root.summary_id,
        children=tuple(_child(entry.summary) for entry in entries),
        messages=tuple(message for messages in collector.messages.values() for message in messages),
    )
    return Expansion(
        expansions=(expanded,),
        cited_ids=tuple(dict.fromkeys([root.summary_id, *(entry.summary.summary_id for entry in entries)])),
        total_tokens=collector.total_tokens,
        truncated=collector.is_truncated,
        tree=_tree(root, entries, collector.messages) if nested else None,
    )


def _child(summary: Summary) -> ChildSnippet:
    return ChildSnippet(summary.summary_id, summary.kind, _snippet(summary), summary.token_count)


def _snippet(summary: Summary) -> str:
    return one_line(summary.content, SNIPPET_CHARS)


def _tree(root: Summary, entries: Sequence[SubtreeEntry], messages: dict[str, list[SourceMessage]]) -> TreeNode:
    """Built from the deepest level up: a DAG may be deeper than Python's recursion."""
    nodes: dict[str, TreeNode] = {}
    below: dict[object, list[str]] = {}
    for entry in entries:
        below.setdefault(entry.parent_key, []).append(entry.summary.summary_id)
    for summary in [*(entry.summary for entry in reversed(entries)), root]:
        nodes[summary.summary_id] = TreeNode(
            summary_id=summary.summary_id,
            kind=summary.kind,
            snippet=_snippet(summary),
            token_count=summary.token_count,
            children=tuple(nodes[child] for child in below.get(summary.summary_key, ())),
            messages=tuple(messages.get(summary.summary_id, ())),
        )
    return nodes[root.summary_id]


def _cut(content: str, max_tokens: int) -> str:
    """The longest beginning, in whole characters, whose estimate is at most `max_tokens`."""
    low, high = 0, min(len(content), 4 * max_tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(content[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return clip(content, low)
