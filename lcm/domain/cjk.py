"""Scripts written without spaces between words, and how index and search both take their runs apart."""

from __future__ import annotations

#: Character ranges for a regular expression's class: Kana, Han, Hangul.
CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"


def character_pairs(run: str) -> list[str]:
    """Overlapping pairs of characters: `日本語` gives `日本`, `本語`; a single character stays alone."""
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]
