"""Whether stored bytes are text, and in which encoding, told from their beginning."""

from __future__ import annotations

import codecs

#: How much of a file decides.
HEAD_BYTES = 65_536
_TEXT_SHARE = 0.85
_PLAIN = bytes(range(0x20, 0x7F)) + b"\t\r\n"
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def text_encoding(head: bytes) -> str | None:
    """The encoding of a text that begins with `head`; None for what is no text, such as a picture.

    UTF-16 needs its mark; a zero byte is no text otherwise, and a PDF is none though it can look like one. What is not
    UTF-8 but mostly printable ASCII reads as Latin-1, in which every byte is a character.
    """
    head = head[:HEAD_BYTES]
    if (marked := _UTF_16.get(head[:2])) is not None:
        return marked if _decodes(head, marked) else None
    if b"\0" in head or head.startswith(b"%PDF-"):
        return None
    if _decodes(head, "utf-8"):
        return "utf-8"
    plain = len(head) - len(head.translate(None, _PLAIN))
    return "latin-1" if plain >= _TEXT_SHARE * len(head) else None


def _decodes(head: bytes, encoding: str) -> bool:
    """A character cut off at the end is no fault."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True
