"""Blobs: large pictures and texts, stored once by content beside the rows that hold them.

So that a log's tail can be read without them: pictures over 4 KiB and texts over 64 KiB leave a stub in the row
(design, "What lasts": keys). A blob is never changed. Pure over a snapshot.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..messages.blocks import Block, Image, Text, ToolResult
from ..messages.codec import encode, record
from ..messages.rows import Row
from .keys import BLOBS, key
from .snapshot import Snapshot
from .units import Op, Ops

IMAGE_BYTES = 4 * 1024
TEXT_BYTES = 64 * 1024
BEGINNING = 1_000


@record("text-blob")
@dataclass(frozen=True, slots=True)
class TextBlob(Text):
    """Words kept as a blob: `text` is only their beginning. `resolve` gives the Text back."""

    blob: str = ""


def put(content: bytes | str) -> tuple[str, Op]:
    """(hash, the write that stores it). Storing what is there already changes nothing."""
    name = content_hash(content)
    return name, (BLOBS, key(name), encode(content))


def get(snapshot: Snapshot, name: str) -> bytes | str | None:
    """A blob's content; None where it is missing or was set aside, which it is too if it does not fit its hash."""
    content: bytes | str | None = snapshot.read(BLOBS, key(name))
    if content is not None and content_hash(content) != name:
        snapshot.set_aside(BLOBS, key(name), "the content does not fit its hash; it is torn")
        return None
    return content


def content_hash(content: bytes | str) -> str:
    """SHA-256 in hex; the same letters as text and as bytes are two contents."""
    if isinstance(content, str):
        return hashlib.sha256(b"text\0" + content.encode("utf-8", "surrogatepass")).hexdigest()
    return hashlib.sha256(b"bytes\0" + content).hexdigest()


def lift(row: Row) -> tuple[Row, Ops]:
    """(the row as it is stored, the writes of its blobs). A row that was lifted already comes back as it is."""
    ops: dict[str, Op] = {}

    def stub(block: Block) -> Block:
        if isinstance(block, Image) and len(block.data) > IMAGE_BYTES:
            name, ops[name] = put(block.data)
            return Image(block.media_type, b"", name)
        if isinstance(block, Text) and _is_long(block.text):
            name, ops[name] = put(block.text)
            return TextBlob(block.text[:BEGINNING], name)
        return block

    return _mapped(row, stub), tuple(ops.values())


def resolve(snapshot: Snapshot, row: Row) -> Row:
    """The row with its blobs filled in. A block whose blob is missing or set aside stays the stub that it is."""

    def fill(block: Block) -> Block:
        if isinstance(block, TextBlob):
            content = get(snapshot, block.blob)
            return Text(content) if isinstance(content, str) else block
        if isinstance(block, Image) and block.blob and not block.data:
            content = get(snapshot, block.blob)
            return Image(block.media_type, content) if isinstance(content, bytes) else block
        return block

    return _mapped(row, fill)


def _is_long(text: str) -> bool:
    # Between one and four bytes a character: most texts are decided without encoding them.
    return len(text) * 4 > TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES


def _mapped(row: Row, change: Callable[[Block], Block]) -> Row:
    content = tuple(_changed(block, change) for block in row.content)
    same = all(new is old for new, old in zip(content, row.content, strict=True))
    return row if same else replace(row, content=content)


def _changed(block: Block, change: Callable[[Block], Block]) -> Block:
    if not isinstance(block, ToolResult):
        return change(block)
    inner = tuple(new if isinstance(new := change(b), Text | Image) else b for b in block.content)
    same = all(new is old for new, old in zip(inner, block.content, strict=True))
    return block if same else replace(block, content=inner)
