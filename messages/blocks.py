"""Blocks: the pieces a row, a round or a request is made of (agents.md 3).

Tool arguments and schemas are kept as the JSON text that was received, so that what is stored, sent
again and hashed is the same bytes. Values only; equal content is equal.
"""

from dataclasses import dataclass
from typing import TypeAlias

from .codec import record


@record("text")
@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str


@record("image")
@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its media type and either its bytes or, in a stored row, the hash of its blob."""

    media_type: str
    data: bytes = b""
    blob: str = ""


@record("thinking")
@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's thinking, with the signature that goes back verbatim (providers.md 1.6).

    `tokens`: a stamped estimate, or None.
    """

    text: str
    signature: str = ""
    tokens: int | None = None


@record("redacted")
@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """Thinking that only the provider can read; goes back verbatim."""

    data: str
    tokens: int | None = None


@record("call")
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool: `arguments` is the JSON text as the model wrote it.

    `unusable` says why the text could not be read (truncated, not an object); such a call never runs.
    """

    id: str
    name: str
    arguments: str
    unusable: str = ""


@record("result")
@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to a call. `content` holds Text and Image blocks only."""

    call_id: str
    content: tuple["Text | Image", ...]
    is_error: bool = False


@record("tool")
@dataclass(frozen=True, slots=True)
class ToolDef:
    """A tool as a request declares it; `schema` is canonical JSON text of the input's JSON schema."""

    name: str
    description: str
    schema: str


@record("change")
@dataclass(frozen=True, slots=True)
class SystemChange:
    """One change of a head: tools removed, then defined, then system text appended (declarations F1)."""

    removed: tuple[str, ...] = ()
    defined: tuple[ToolDef, ...] = ()
    system: tuple[str, ...] = ()


@record("opaque")
@dataclass(frozen=True, slots=True)
class Opaque:
    """A provider's block that this runtime does not know; passed back verbatim as JSON text."""

    json: str


Block: TypeAlias = Text | Image | Thinking | RedactedThinking | ToolCall | ToolResult | SystemChange | Opaque
ReplyBlock: TypeAlias = Text | Thinking | RedactedThinking | ToolCall | Opaque


def is_thinking(block: Block) -> bool:
    """Whether the block is thinking, redacted or not."""
    return isinstance(block, (Thinking, RedactedThinking))


def calls(blocks: tuple[Block, ...]) -> tuple[ToolCall, ...]:
    """The tool calls among the blocks, in order."""
    return tuple(b for b in blocks if isinstance(b, ToolCall))


def text_of(blocks: tuple[Block, ...]) -> str:
    """The text blocks joined with one newline (prose 3.2)."""
    return "\n".join(b.text for b in blocks if isinstance(b, Text))
