"""The chain of a Claude Code session's lines, and the prompts that a person took back by editing an earlier one."""

from __future__ import annotations


class PromptChain:
    """Every chained line of one file since its start, or since the state it was resumed from.

    Only two prompts with one non-null parent are a fork by the person. Parallel tool results, roots (session start,
    clearing, compaction) and further copies of a line are none.
    A resumed chain takes a copy of a line from before its state for a new line; clients repeat lines only in new files
    and at once.

    Attributes:
        last: the newest chained line; all that a resumed chain knows of what came before it.
    """

    def __init__(self, last: str | None = None, *, is_resumed: bool = False) -> None:
        self.last = last
        self._is_resumed = is_resumed
        self._parents: dict[str, str | None] = {} if last is None else {last: None}
        self._prompts: dict[str, list[str]] = {}
        self._not_messages: set[str] = set()

    def is_placeable(self, parent: str | None) -> bool:
        """Whether all earlier prompts under `parent` are known here."""
        return not self._is_resumed or parent is None or parent in self._parents

    def append(self, line_id: str, parent: str | None, *, is_message: bool, is_prompt: bool) -> tuple[str, ...]:
        """Adds a line; returns the ids of the messages it abandons, in file order (none unless it is a fork)."""
        is_copy = line_id in self._parents
        if is_copy and (self._parents[line_id] is not None or parent is None):
            return ()
        self._parents[line_id] = parent
        if not is_copy:
            self.last = line_id
            if not is_message:
                self._not_messages.add(line_id)
        if not is_prompt or parent is None:
            return ()
        siblings = self._prompts.setdefault(parent, [])
        abandoned = self._branch(siblings) if siblings and not is_copy else ()
        siblings.append(line_id)
        return abandoned

    def _branch(self, prompts: list[str]) -> tuple[str, ...]:
        """The prompts and all messages that descend from them; a copy can give a line a parent that came later."""
        found = set(prompts)
        size = 0
        while size != len(found):
            size = len(found)
            found.update(line_id for line_id, parent in self._parents.items() if parent in found)
        return tuple(line_id for line_id in self._parents if line_id in found and line_id not in self._not_messages)
