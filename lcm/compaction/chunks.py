"""Which context items are compacted next: pure decisions over the list of items."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lcm.compaction.policy import CompactionPolicy
from lcm.domain.context import ContextItem, ItemRef
from lcm.domain.tool_pairs import fresh_tail, tool_groups


@dataclass(frozen=True, slots=True)
class Chunk:
    """Contiguous items that one summary is to replace; `start` is the index of the first among the items read."""

    start: int
    items: tuple[ContextItem, ...]

    @property
    def end(self) -> int:
        """Index behind the last item."""
        return self.start + len(self.items)

    @property
    def refs(self) -> tuple[ItemRef, ...]:
        return tuple(item.ref for item in self.items)

    @property
    def token_count(self) -> int:
        return _tokens(self.items)


@dataclass(frozen=True, slots=True)
class LeafChunk(Chunk):
    """Raw messages to be summarized."""

    @property
    def message_ids(self) -> list[int]:
        return [item.ref.message_id for item in self.items if item.ref.message_id is not None]


@dataclass(frozen=True, slots=True)
class CondenseChunk(Chunk):
    """Summaries to be merged, all of `depth`."""

    depth: int

    @property
    def summary_keys(self) -> list[uuid.UUID]:
        return [item.ref.summary_key for item in self.items if item.ref.summary_key is not None]


def fresh_tail_start(items: Sequence[ContextItem], policy: CompactionPolicy) -> int:
    """Index of the first protected item; `len(items)` protects nothing.

    The tail holds the newest `fresh_tail_count` raw messages, completed to whole tool groups, or all when there are
    fewer; summaries in front of them are not protected. With `fresh_tail_max_tokens` it is as many of the newest whole
    groups as fit, and at least the newest one.
    """
    return fresh_tail(items, count=policy.fresh_tail_count, max_tokens=policy.fresh_tail_max_tokens).start


def iter_leaf_chunks(items: Sequence[ContextItem], policy: CompactionPolicy) -> Iterator[LeafChunk]:
    """All leaf chunks outside the fresh tail, oldest first, without overlap; linear in the number of items.

    A chunk is contiguous raw messages in whole tool groups. It ends before a summary and before a group that would
    exceed `leaf_chunk_tokens`. With fewer than `min_leaf_tokens` before it, a group that is larger by itself takes them
    along, because alone they would not be worth a summary; what is that little and has no such group is no chunk.
    """
    tail = fresh_tail_start(items, policy)
    first, tokens = 0, 0
    for piece in _pieces(items[:tail]):
        is_summary = not items[piece.start].is_message
        added = _tokens(items[piece.start : piece.stop])
        is_enough = first < piece.start and tokens >= policy.min_leaf_tokens
        if is_enough and (is_summary or tokens + added > policy.leaf_chunk_tokens):
            yield LeafChunk(first, tuple(items[first : piece.start]))
            first, tokens = piece.start, 0
        if is_summary:
            first, tokens = piece.stop, 0
        else:
            tokens += added
    if first < tail and tokens >= policy.min_leaf_tokens:
        yield LeafChunk(first, tuple(items[first:tail]))


def choose_leaf_chunk(items: Sequence[ContextItem], policy: CompactionPolicy) -> LeafChunk | None:
    """The oldest leaf chunk; None when too little lies outside the fresh tail."""
    return next(iter_leaf_chunks(items, policy), None)


def iter_condensations(
    items: Sequence[ContextItem], policy: CompactionPolicy, *, hard: bool = False
) -> Iterator[CondenseChunk]:
    """All condensations of the summaries that exist, the shallowest depth and there the oldest first, without overlap.

    One takes contiguous summaries of one depth outside the fresh tail: at least the fan-out and the least tokens of the
    policy, and beyond these no more than fit in `leaf_chunk_tokens`. The cap yields to the fan-out, because otherwise
    summaries longer than a share of the cap could never be merged.
    """
    runs = _summary_runs(items[: fresh_tail_start(items, policy)])
    for depth in sorted({run.depth for run in runs}):
        fanout = policy.fanout(depth, hard=hard)
        for run in runs:
            if run.depth == depth:
                yield from _split_run(run, fanout, policy)


def choose_condensation(
    items: Sequence[ContextItem], policy: CompactionPolicy, *, hard: bool = False, below_depth: int | None = None
) -> CondenseChunk | None:
    """The oldest condensation of the shallowest depth that has one, only of summaries less deep than `below_depth`."""
    chunk = next(iter_condensations(items, policy, hard=hard), None)
    return None if chunk is not None and below_depth is not None and chunk.depth >= below_depth else chunk


def holds(items: Sequence[ContextItem], refs: Sequence[ItemRef]) -> bool:
    """Whether the items refer to exactly these, side by side and in this order."""
    start = next((index for index, item in enumerate(items) if item.ref == refs[0]), len(items))
    return [item.ref for item in items[start : start + len(refs)]] == list(refs)


def _pieces(items: Sequence[ContextItem]) -> Iterator[range]:
    """Whole tool groups and single summaries, in order; a group with a summary inside is apart already."""
    for group in tool_groups(items):
        start = group.start
        for index in group:
            if not items[index].is_message:
                if start < index:
                    yield range(start, index)
                yield range(index, index + 1)
                start = index + 1
        if start < group.stop:
            yield range(start, group.stop)


def _summary_runs(items: Sequence[ContextItem]) -> list[CondenseChunk]:
    """Longest runs of summaries of one depth."""
    runs: list[CondenseChunk] = []
    start = 0
    for index in range(1, len(items) + 1):
        if index == len(items) or items[index].depth != items[start].depth:
            depth = items[start].depth
            if depth is not None:
                runs.append(CondenseChunk(start, tuple(items[start:index]), depth))
            start = index
    return runs


def _split_run(run: CondenseChunk, fanout: int, policy: CompactionPolicy) -> Iterator[CondenseChunk]:
    """Cut a run into condensations, oldest first; what is too little at its end is left."""
    first, tokens = 0, 0
    for index, item in enumerate(run.items):
        is_enough = index - first >= fanout and tokens >= policy.condensation_min_tokens
        if is_enough and tokens + item.token_count > policy.leaf_chunk_tokens:
            yield CondenseChunk(run.start + first, run.items[first:index], run.depth)
            first, tokens = index, 0
        tokens += item.token_count
    if len(run.items) - first >= fanout and tokens >= policy.condensation_min_tokens:
        yield CondenseChunk(run.start + first, run.items[first:], run.depth)


def _tokens(items: Sequence[ContextItem]) -> int:
    return sum(item.token_count for item in items)
