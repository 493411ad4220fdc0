"""From a transcript record to a message ready to store: large files out, redaction, layout, token count.

The one boundary between what a client wrote and what lcm keeps: nothing behind it has seen unredacted text.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lcm.domain.content_digest import content_digest
from lcm.domain.messages import MessagePart, PartType
from lcm.domain.records import Block, MessageRecord
from lcm.large_files.detect import decoded_media, large_file_blocks
from lcm.large_files.reference import reference
from lcm.large_files.store import FileBytes, file_bytes
from lcm.redaction.scrub import Replacement, Scrubber, map_offset
from lcm.tokens import estimate_tokens

#: Bytes that are mostly printable ASCII are text in some one-byte encoding.
_SAMPLE_BYTES = 65_536
_TEXT_SHARE = 0.85


class PreparedMessage(NamedTuple):
    """A redacted record: its content, parts and files, and what redaction counted."""

    record: MessageRecord
    content: str
    parts: tuple[MessagePart, ...]
    token_count: int
    files: tuple[FileBytes, ...]
    redactions: dict[str, int]

    @property
    def content_sha256(self) -> bytes:
        return content_digest(self.record.role.value, self.content, self.parts)


@dataclass(frozen=True, slots=True)
class Preparer:
    """Prepares records with one set of secret rules and one size threshold."""

    scrubber: Scrubber
    large_file_tokens: int

    def prepare(self, record: MessageRecord) -> PreparedMessage:
        counts: Counter[str] = Counter()
        files: list[FileBytes] = []
        blocks = [self._without_large(block, files, counts) for block in record.blocks]
        content, spans = _laid_out(blocks)
        replacements: Sequence[Replacement] = ()
        has_calls = any(block.part_type is PartType.TOOL_CALL for block in blocks)
        is_clear = has_calls and self.scrubber.is_clear(content)
        if has_calls and not is_clear:
            # Values are replaced inside a call's JSON first: keys say what they are, and a rebuilt call is still JSON.
            blocks = [self._with_clean_arguments(block, counts) for block in blocks]
            content, spans = _laid_out(blocks)
        if not is_clear:
            scrubbed = self.scrubber.scrub(content)
            content, replacements = scrubbed.text, scrubbed.replacements
            counts.update(scrubbed.counts)
        parts = tuple(
            self._part(ordinal, block, span, replacements, counts)
            for ordinal, (block, span) in enumerate(zip(blocks, spans, strict=True))
        )
        return PreparedMessage(
            record=record,
            content=content,
            parts=parts,
            token_count=estimate_tokens(content) + sum(estimate_tokens(part.text) for part in parts if part.text),
            files=tuple(files),
            redactions=dict(counts),
        )

    def scrub_name(self, name: str) -> str:
        return self.scrubber.scrub_name(name)

    def scrub_text(self, text: str) -> str:
        return self.scrubber.scrub(text).text

    def _without_large(self, block: Block, files: list[FileBytes], counts: Counter[str]) -> Block:
        if block.media is not None:
            data = self._clean_media(decoded_media(block.media.data), counts)
            stored = self._stored(data, block.media.name, block.media.mime_type, counts)
            files.append(stored)
            return replace(
                block, text=_reference_to(stored), metadata={**(block.metadata or {}), "file": stored.file_id}
            )
        if block.part_type not in (PartType.TEXT, PartType.TOOL_RESULT):
            return block
        text = self._text_without_files(block.text, files, counts)
        return block if text is block.text else replace(block, text=text)

    def _text_without_files(self, text: str, files: list[FileBytes], counts: Counter[str]) -> str:
        kept, last = [], 0
        for found in large_file_blocks(text, self.large_file_tokens):
            data = self._counted(found.content, counts).encode("utf-8", "replace")
            stored = self._stored(data, found.name, found.mime_type, counts)
            files.append(stored)
            kept += [text[last : found.start], _reference_to(stored)]
            last = found.end
        return "".join([*kept, text[last:]]) if kept else text

    def _stored(self, data: bytes, name: str | None, mime_type: str | None, counts: Counter[str]) -> FileBytes:
        name = name and self._counted(name, counts)
        mime_type = mime_type and self._counted(mime_type, counts)
        from lcm.large_files.explore.explorer import explore  # its parsers: only who stores a file loads them

        # Made of redacted bytes; a summary joins what stood apart, so it passes the same boundary as any text.
        summary = self.scrub_text(explore(io.BytesIO(data), name=name, mime_type=mime_type))
        return file_bytes(data, name=name, mime_type=mime_type, exploration_summary=summary)

    def _clean_media(self, data: bytes, counts: Counter[str]) -> bytes:
        """Media that is text, in whatever encoding, is redacted like text; other bytes are opaque."""
        encoding = _text_encoding(data)
        if encoding is None:
            return data
        text = data.decode(encoding)
        clean = self._counted(text, counts)
        return data if clean == text else clean.encode(encoding)

    def _counted(self, text: str, counts: Counter[str]) -> str:
        scrubbed = self.scrubber.scrub(text)
        counts.update(scrubbed.counts)
        return scrubbed.text

    def _with_clean_arguments(self, block: Block, counts: Counter[str]) -> Block:
        if block.part_type is not PartType.TOOL_CALL:
            return block
        try:
            arguments = json.loads(block.text)
        except (ValueError, RecursionError):
            return block
        clean, found = self.scrubber.scrub_json(arguments)
        if not found:
            return block
        counts.update(found)
        return replace(block, text=_compact(clean))

    def _part(
        self,
        ordinal: int,
        block: Block,
        span: tuple[int, int] | None,
        replacements: Sequence[Replacement],
        counts: Counter[str],
    ) -> MessagePart:
        start, end = span or (None, None)
        if replacements and start is not None and end is not None:
            start = map_offset(replacements, start)
            end = max(start, map_offset(replacements, end, is_end=True))
        metadata = block.metadata
        file_id = None
        if metadata and block.media is not None:
            metadata = dict(metadata)
            file_id = metadata.pop("file", None)
        if metadata:
            metadata, found = self.scrubber.scrub_json(metadata)  # type: ignore[assignment]
            counts.update(found)
        return MessagePart(
            ordinal=ordinal,
            part_type=block.part_type,
            content_start=start,
            content_end=end,
            text=self._counted(block.text, counts) if span is None else None,
            tool_call_id=block.tool_call_id,
            tool_name=self.scrubber.scrub_name(block.tool_name) if block.tool_name else block.tool_name,
            is_error=block.is_error,
            file_id=file_id,
            metadata=_compact(metadata) if metadata else None,
        )


def _laid_out(blocks: Sequence[Block]) -> tuple[str, list[tuple[int, int] | None]]:
    """The content and each block's span in it: text, tool name with arguments, tool output, file stub; no reasoning."""
    pieces: list[str] = []
    spans: list[tuple[int, int] | None] = []
    length = 0
    for block in blocks:
        if block.part_type is PartType.REASONING:
            spans.append(None)
            continue
        head = f"{block.tool_name} " if block.part_type is PartType.TOOL_CALL and block.tool_name else ""
        length += 1 if pieces else 0
        start = length + len(head)
        pieces.append(head + block.text)
        length = start + len(block.text)
        spans.append((start, length))
    return "\n".join(pieces), spans


def _text_encoding(data: bytes) -> str | None:
    """How bytes read as text; None for what is none, such as a picture."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16" if _decodes(data, "utf-16") else None
    if _decodes(data, "utf-8"):
        return "utf-8"
    sample = data[:_SAMPLE_BYTES]
    plain = sum(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in sample)
    return "latin-1" if plain >= _TEXT_SHARE * len(sample) else None


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _reference_to(file: FileBytes) -> str:
    return reference(file.file_id, name=file.name, mime_type=file.mime_type, size_bytes=len(file.data))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
