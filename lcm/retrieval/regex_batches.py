"""A regular expression over many texts at a time; most batches are done with one look at all of their texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: What a text's end means in a pattern differs from a line's end, or flags are taken away: no common look.
_NEEDS_WHOLE_TEXT = re.compile(r"\\[AzZ]|\(\?[a-zA-Z]*-")
#: A look at the whole batch is given up when more than half of the first ones had a match.
_TRIAL = 8


class RegexBatches:
    r"""A valid RE2 pattern with the options it was checked with.

    Texts are joined by line feeds, and `^` and `$` made to hold at every line: where a text matches, the joined one
    does, since a line feed beside a text is to `\b` and `\B` what its edge is. The reverse is decided text by text.
    """

    def __init__(self, pattern: str, options: Any) -> None:
        import re2

        self._compiled = re2.compile(pattern, options)
        self._joined = None if _NEEDS_WHOLE_TEXT.search(pattern) else _compile(f"(?m){pattern}", options)
        self._looks = self._found = 0

    def match_texts(self, texts: Sequence[bytes]) -> Sequence[int]:
        """Places of the texts (UTF-8) that match."""
        if self._joined is not None and self._is_look_worthwhile() and not self._has_any(self._joined, texts):
            return ()
        return [at for at, text in enumerate(texts) if self._compiled.search(text) is not None]

    def _is_look_worthwhile(self) -> bool:
        return self._looks < _TRIAL or self._found * 2 <= self._looks

    def _has_any(self, joined: Any, texts: Sequence[bytes]) -> bool:
        has_any: bool = joined.search(b"\n".join(texts)) is not None
        self._looks += 1
        self._found += has_any
        return has_any


def _compile(pattern: str, options: Any) -> Any:
    """None when the flag makes it too large."""
    import re2

    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None
