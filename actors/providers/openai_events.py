"""The events of a Responses stream, put together into blocks (providers.md 2.4).

Owns one round's items; whatever it does not know is kept as the JSON that came. A stream is over at
`response.completed` or `response.incomplete` and nowhere else. A refusal is no text of the answer. No I/O.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...messages.blocks import Opaque, ReplyBlock, Text, Thinking, ToolCall
from ...messages.request import (
    BlockEnd,
    BlockStart,
    Done,
    ErrorRecord,
    Event,
    Limits,
    RoundFailed,
    Started,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from .openai_errors import StreamFailed
from .openai_wire import HELD, MARK
from .tool_json import call_of, whole_text

Json = dict[str, Any]
KINDS = {"reasoning": "thinking", "function_call": "call"}
STOPS = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


@dataclass(slots=True)
class _Item:
    """An item that has begun: what it said then, its block's index or a message's texts, as far as they came."""

    kind: str
    said: Json
    index: int = -1
    raw: str = ""
    texts: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])


class Assembly:
    """One round's stream. Feed it every event; `truncated` is what a stream without an end comes to."""

    def __init__(self, request_id: str = "", limits: Limits | None = None) -> None:
        self._request_id = request_id
        self._limits = limits
        self._open: dict[Any, _Item] = {}
        self._blocks: dict[int, ReplyBlock] = {}
        self._count = 0
        self._refusal: str | None = None

    def feed(self, event: Json) -> Iterator[Event]:
        """The events that one of the stream's stands for; none for one that is not known. Raises StreamFailed."""
        match event.get("type"):
            case "response.created":
                yield self._started(event["response"])
            case "response.output_item.added":
                yield from self._added(event)
            case "response.content_part.added":
                yield from self._part_added(event)
            case "response.output_text.delta":
                yield from self._said(self._item(event), _part(event), event["delta"])
            case "response.refusal.delta":
                self._refusal = (self._refusal or "") + event["delta"]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._thought(self._item(event), event["delta"])
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                yield from self._thought(self._item(event), "\n\n")
            case "response.function_call_arguments.delta":
                self._item(event).raw += event["delta"]
            case "response.output_item.done":
                yield from self._done(event)
            case _:
                yield from self._ended(event)

    def truncated(self) -> RoundFailed:
        """The terminal of a stream that ended without saying so."""
        text = "the stream ended before the response did"
        return RoundFailed(ErrorRecord("truncated", text, True, request_id=self._request_id))

    # --- the response

    def _started(self, response: Json) -> Started:
        dropped = tuple(dict(one) for one in response.get("input_transformations") or ())
        return Started(
            str(response.get("id") or ""), str(response.get("model") or ""), _usage(response), dropped, self._limits
        )

    def _ended(self, event: Json) -> Iterator[Event]:
        response: Json = event.get("response") or {}
        match event.get("type"):
            case "error":
                raise StreamFailed(event)
            case "response.failed":
                raise StreamFailed(response.get("error") or {"message": "the response failed, and nothing says why"})
            case "response.completed" if self._open:
                yield self.truncated()
            case "response.completed":
                yield self._end("tool_use" if self._calls() else "end_turn", {}, response)
            case "response.incomplete":
                yield from self._cut_open()
                known: Json = response.get("incomplete_details") or {}
                reason = str(known.get("reason") or "incomplete")
                yield self._end(STOPS.get(reason, reason), {"reason": reason}, response)
            case _:
                pass

    def _calls(self) -> bool:
        return any(isinstance(block, ToolCall) for block in self._blocks.values())

    def _end(self, reason: str, details: Json, response: Json) -> Done:
        if self._refusal is not None:
            reason, details = "refusal", {**details, "explanation": whole_text(self._refusal)}
        content = tuple(block for _, block in sorted(self._blocks.items()))
        return Done(reason, content, _usage(response), details, self._request_id)

    def _cut_open(self) -> Iterator[Event]:
        """What had begun and was not ended: texts as far as they came, calls that never run."""
        for key in list(self._open):
            item = self._open.pop(key)
            for index, text in item.texts.values():
                yield self._block(index, Text(whole_text(text)))
            if item.kind == "thinking":
                yield self._block(item.index, Thinking(whole_text(item.raw)))
            elif item.kind == "call":
                yield self._block(item.index, _call({**item.said, "status": "incomplete"}, item.raw))

    # --- items

    def _item(self, event: Json) -> _Item:
        return self._open[_key(event)]

    def _added(self, event: Json) -> Iterator[Event]:
        said: Json = event["item"]
        kind = KINDS.get(said["type"], "message" if said["type"] == "message" else "opaque")
        item = self._open[_key(event)] = _Item(kind, said)
        if kind != "message":
            item.index = self._next()
            yield BlockStart(item.index, kind)

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _part_added(self, event: Json) -> Iterator[Event]:
        if event["part"].get("type") == "output_text":
            yield from self._said(self._item(event), _part(event), event["part"].get("text") or "")

    def _said(self, item: _Item, part: int, text: str) -> Iterator[Event]:
        if part not in item.texts:
            item.texts[part] = (self._next(), "")
            yield BlockStart(item.texts[part][0], "text")
        index, before = item.texts[part]
        item.texts[part] = (index, before + text)
        if text:
            yield TextDelta(text, index)

    def _thought(self, item: _Item, text: str) -> Iterator[Event]:
        item.raw += text
        if text:
            yield ThinkingDelta(text, item.index)

    def _done(self, event: Json) -> Iterator[Event]:
        """The item has ended; what it says now holds."""
        if _key(event) not in self._open:
            yield from self._added(event)
        item, said = self._open.pop(_key(event)), dict[str, Any](event["item"])
        match item.kind:
            case "message":
                yield from self._message_done(item, said)
            case "thinking":
                yield self._block(item.index, _thinking(said))
            case "call":
                yield self._block(item.index, _call(said, item.raw))
            case _:
                yield self._block(item.index, _opaque(said))

    def _message_done(self, item: _Item, said: Json) -> Iterator[Event]:
        for number, part in enumerate(said.get("content") or ()):
            if part.get("type") == "refusal":
                self._refusal = str(part.get("refusal") or self._refusal or "")
            elif part.get("type") == "output_text":
                text, before = str(part.get("text") or ""), item.texts.get(number, (0, ""))[1]
                yield from self._said(item, number, text.removeprefix(before) if text.startswith(before) else "")
        for index, text in item.texts.values():
            yield self._block(index, Text(whole_text(text)))
        if said.get("phase") and any(text.strip() for _, text in item.texts.values()):
            parts = sum(bool(text.strip()) for _, text in item.texts.values())
            index = self._next()
            yield BlockStart(index, "opaque")
            yield self._block(index, _opaque({"type": "message", "phase": said["phase"], "parts": parts}))

    def _block(self, index: int, block: ReplyBlock) -> BlockEnd:
        self._blocks[index] = block
        return BlockEnd(index, block)


def _key(event: Json) -> Any:
    """What an event's item is known by: its place, else its own id; some servers give no place."""
    place = event.get("output_index")
    if place is not None:
        return place
    item: Json = event.get("item") or {}
    return event.get("item_id") or item.get("id") or item["call_id"]


def _part(event: Json) -> int:
    return int(event.get("content_index") or 0)


def _thinking(said: Json) -> Thinking:
    """What can be read of it, and the whole item as its signature."""
    read = said.get("summary") or said.get("content") or ()
    kept = {name: value for name, value in said.items() if value is not None}
    return Thinking(whole_text("\n\n".join(str(part.get("text") or "") for part in read)), MARK + _json(kept))


def _call(said: Json, raw: str) -> ToolCall:
    """The call; one that was cut before it had arguments is known not to be whole."""
    text = str(said.get("arguments") or raw)
    cut = said.get("status") == "incomplete" and not text.strip()
    return call_of(said["call_id"], said["name"], text, "were cut off" if cut else "")


def _opaque(said: Json) -> Opaque:
    return Opaque(_json({HELD: said}))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _usage(response: Mapping[str, Any]) -> Usage:
    """The counts of a response; what was read from the cache or written to it is part of its input."""
    stated: Json = response.get("usage") or {}
    details: Json = stated.get("input_tokens_details") or {}
    whole, output = _count(stated, "input_tokens"), _count(stated, "output_tokens")
    read, written = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
    return Usage(max(0, whole - read - written), read, written, output)


def _count(stated: Json, name: str) -> int:
    value = stated.get(name)
    return value if isinstance(value, int) else 0
