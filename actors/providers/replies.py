"""What a scripted model says in one round, as values, and the events that a round of it becomes.

Owns `Reply` and the short ways to write one. Pure: a reply is planned into steps (wait, then an event or a
failure) without a clock or a loop; `Scripted` plays the steps. Nothing here is random.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from ...messages.blocks import Opaque, RedactedThinking, ReplyBlock, Text, Thinking, ToolCall
from ...messages.errors import InvalidSetting
from ...messages.request import (
    BlockEnd,
    BlockStart,
    Done,
    ErrorKind,
    ErrorRecord,
    Event,
    Request,
    RoundFailed,
    Started,
    TextDelta,
    ThinkingDelta,
    Usage,
)

_RETRYABLE: tuple[ErrorKind, ...] = ("rate_limit", "overloaded", "server", "network", "timeout", "truncated")
_KINDS = {Text: "text", Thinking: "thinking", RedactedThinking: "redacted", ToolCall: "call", Opaque: "opaque"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted round.

    `stop_reason`: empty means `tool_use` if there are calls, else `end_turn`. `chunk`: code points of a delta, or
    the lengths of the first deltas, the last one repeated; None leaves it to the provider. `delay`: seconds before
    the first event, `gap`: seconds between deltas; None leaves them to the provider. `usage`: None counts it.

    `fails`: an ErrorRecord ends the round as `RoundFailed`; an exception is raised out of the stream, as a broken
    adapter would. `hangs`: the round never ends by itself. Both come after `after` deltas (a block without deltas
    counts as one); with 0 not even `Started` is sent.
    """

    content: tuple[ReplyBlock, ...] = ()
    stop_reason: str = ""
    stop_details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    chunk: int | Sequence[int] | None = None
    delay: float | None = None
    gap: float | None = None
    usage: Usage | None = None
    fails: ErrorRecord | Exception | None = None
    hangs: bool = False
    after: int = 0

    def __post_init__(self) -> None:
        if self.chunk is not None:
            check_chunk(self.chunk)


Piece: TypeAlias = str | ReplyBlock
Answer: TypeAlias = (
    Piece
    | Sequence[Piece]
    | Reply
    | ErrorRecord
    | Exception
    | Callable[[Request], "Answer | Awaitable[Answer]"]
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a round: wait `wait` seconds, then give the event or raise. With neither it waits for ever."""

    wait: float
    event: Event | None = None
    error: Exception | None = None


def say(*content: Piece, **options: Any) -> Reply:
    """A reply of these blocks; a str is a text block. Options are `Reply`'s fields."""
    return Reply(tuple(Text(piece) if isinstance(piece, str) else piece for piece in content), **options)


def call(tool: str, /, **arguments: Any) -> ToolCall:
    """A call of `tool`. Its id is given when it is streamed, a new one for each request."""
    return ToolCall("", tool, json.dumps(arguments, ensure_ascii=False))


def think(text: str, signature: str = "signed") -> Thinking:
    """Thinking, to stand before text or calls."""
    return Thinking(text, signature)


def fail(cause: ErrorKind | ErrorRecord | Exception, *content: Piece, after: int = 0, **record: Any) -> Reply:
    """A reply that fails after `after` deltas of `content`.

    A kind makes an ErrorRecord; `record` gives its other fields. What may pass by itself is retryable.
    """
    if isinstance(cause, str):
        record.setdefault("text", f"scripted failure: {cause}")
        record.setdefault("retryable", cause in _RETRYABLE)
        cause = ErrorRecord(cause, **record)
    return replace(say(*content), fails=cause, after=after)


def as_reply(answer: object) -> Reply:
    """The reply that an answer stands for. Raises InvalidSetting for anything that is none."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, (ErrorRecord, Exception)):
        return Reply(fails=answer)
    pieces = list(cast("Sequence[object]", answer)) if isinstance(answer, (list, tuple)) else [answer]
    if all(isinstance(piece, (str, *_KINDS)) for piece in pieces):
        return say(*cast("list[Piece]", pieces))
    kind = type(answer).__name__  # pyright: ignore[reportUnknownArgumentType]
    raise InvalidSetting(
        f"a scripted reply must be text, blocks, a Reply, an ErrorRecord or an exception, not {kind}; "
        "a function must give one of these"
    )


def check_chunk(chunk: int | Sequence[int]) -> None:
    """Raise InvalidSetting for a length of a delta below 1."""
    sizes = [chunk] if isinstance(chunk, int) else list(chunk)
    if not sizes or min(sizes) < 1:
        raise InvalidSetting(f"chunk must be at least 1 code point for each delta, not {chunk!r}")


def cut(text: str, chunk: int | Sequence[int]) -> Iterator[str]:
    """The text in deltas of these lengths; the last length is repeated."""
    sizes = [chunk] if isinstance(chunk, int) else list(chunk)
    start = 0
    for number in range(len(text)):
        if start >= len(text):
            return
        size = sizes[min(number, len(sizes) - 1)]
        yield text[start : start + size]
        start += size


def steps(reply: Reply, model: str, message_id: str, usage: Usage) -> Iterator[Step]:
    """The round of a reply whose `chunk`, `delay` and `gap` are set; `usage` is the whole round's."""
    wait, gap, pieces = reply.delay or 0.0, reply.gap or 0.0, 0
    breaks = reply.hangs or reply.fails is not None
    if breaks and reply.after <= 0:
        yield _break(reply, wait)
        return
    yield Step(wait, Started(message_id, model, replace(usage, output=0)))
    for event, counts in _block_events(reply):
        yield Step(gap if counts else 0.0, event)
        pieces += counts
        if breaks and pieces == reply.after:
            break
    if breaks:
        yield _break(reply, gap)
        return
    reason = reply.stop_reason or ("tool_use" if any(isinstance(b, ToolCall) for b in reply.content) else "end_turn")
    yield Step(0.0, Done(reason, reply.content, usage, reply.stop_details, message_id))


def _break(reply: Reply, wait: float) -> Step:
    """The step that ends a round that fails or hangs."""
    if isinstance(reply.fails, ErrorRecord):
        return Step(wait, RoundFailed(reply.fails))
    return Step(wait, None, reply.fails)


def _block_events(reply: Reply) -> Iterator[tuple[Event, int]]:
    """The events of the blocks, each with how many deltas it counts for."""
    chunk = reply.chunk or 1
    for index, block in enumerate(reply.content):
        yield BlockStart(index, _KINDS[type(block)]), 0
        if isinstance(block, Text):
            yield from ((TextDelta(piece, index), 1) for piece in cut(block.text, chunk))
        elif isinstance(block, Thinking):
            yield from ((ThinkingDelta(piece, index), 1) for piece in cut(block.text, chunk))
        yield BlockEnd(index, block), int(not isinstance(block, (Text, Thinking)))
