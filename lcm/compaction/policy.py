"""How far compaction goes: sizes, fan-outs and limits of one compaction, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from lcm.settings.model import Settings
from lcm.summarizer.levels import LEAST_LEAF_TARGET

#: Raw messages that a compaction asked for by hand leaves alone.
MANUAL_FRESH_TAIL: Final = 8
#: A condensation reads at least this share of a leaf chunk, or it is not worth a call.
_LEAST_SHARE_OF_CHUNK: Final = 0.1
#: Tool groups are not split: one that is larger than a chunk is read whole up to here.
_MOST_CHUNKS_AT_ONCE: Final = 2
#: A summary of one summary would only add a level.
_LEAST_FANOUT: Final = 2


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """What the pure decisions of compaction depend on. Sizes are estimated tokens.

    Attributes:
        fresh_tail_count: newest raw messages that stay; 0 protects nothing.
        fresh_tail_max_tokens: bounds the tail in whole tool groups; None is no bound.
        leaf_min_fanout: fewest leaves that are condensed together; condensed_min_fanout: the same for deeper summaries,
            condensed_min_fanout_hard: for every depth when space is short.
        context_threshold: share of the token budget above which a context is to be compacted.
        max_passes, max_seconds: limits of one sweep.
        min_saving: share of its tokens that a pass must save to be stored.
    """

    fresh_tail_count: int
    fresh_tail_max_tokens: int | None
    leaf_chunk_tokens: int
    leaf_min_fanout: int
    condensed_min_fanout: int
    condensed_min_fanout_hard: int
    leaf_target_tokens: int
    condensed_target_tokens: int
    context_threshold: float
    max_passes: int
    max_seconds: float
    min_saving: float = 0.10

    @classmethod
    def automatic(cls, settings: Settings) -> CompactionPolicy:
        """The policy of compaction that starts by itself: everything as configured."""
        return cls._build(settings, settings.compaction.fresh_tail_count)

    @classmethod
    def manual(cls, settings: Settings) -> CompactionPolicy:
        """The policy of compaction asked for by hand and of replay: as configured, with a fresh tail of 8."""
        return cls._build(settings, MANUAL_FRESH_TAIL)

    @classmethod
    def _build(cls, settings: Settings, fresh_tail_count: int) -> CompactionPolicy:
        configured = settings.compaction
        return cls(
            fresh_tail_count=fresh_tail_count,
            fresh_tail_max_tokens=configured.fresh_tail_max_tokens,
            leaf_chunk_tokens=configured.leaf_chunk_tokens,
            leaf_min_fanout=configured.leaf_min_fanout,
            condensed_min_fanout=configured.condensed_min_fanout,
            condensed_min_fanout_hard=configured.condensed_min_fanout_hard,
            leaf_target_tokens=configured.leaf_target_tokens,
            condensed_target_tokens=configured.condensed_target_tokens,
            context_threshold=configured.context_threshold,
            max_passes=configured.max_passes,
            max_seconds=configured.max_seconds,
        )

    @property
    def condensation_min_tokens(self) -> int:
        """Fewest tokens of summaries that are worth condensing."""
        return max(self.condensed_target_tokens, int(_LEAST_SHARE_OF_CHUNK * self.leaf_chunk_tokens))

    @property
    def min_leaf_tokens(self) -> int:
        """Fewest tokens of messages that are worth a leaf: with fewer, the shortest summary asked for saves nothing."""
        shortest = min(LEAST_LEAF_TARGET, self.leaf_target_tokens)
        return ceil(shortest / (1 - self.min_saving)) if self.min_saving < 1 else shortest

    @property
    def max_source_tokens(self) -> int:
        """Most tokens of messages that a summarizer reads at once: a huge tool group must not be refused for ever."""
        return _MOST_CHUNKS_AT_ONCE * self.leaf_chunk_tokens

    def fanout(self, depth: int, *, hard: bool) -> int:
        """Fewest summaries of this depth that are condensed together; never below 2."""
        if hard:
            return max(_LEAST_FANOUT, self.condensed_min_fanout_hard)
        return max(_LEAST_FANOUT, self.leaf_min_fanout if depth == 0 else self.condensed_min_fanout)

    def is_saving(self, tokens_before: int, tokens_after: int) -> bool:
        """Whether a pass saves enough of its tokens to be stored; it must save at least one."""
        saved = tokens_before - tokens_after
        return saved > 0 and saved >= self.min_saving * tokens_before
