"""The events of a Messages stream, put together into blocks (providers.md 2.1, 3).

Reads the SDK's raw events, since its own assembly takes cut tool JSON for whole. Owns one round's blocks; whatever it
does not know is kept as the JSON that came. A stream is over at `message_stop` and nowhere else. No I/O.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...messages.blocks import Opaque, RedactedThinking, ReplyBlock, Text, Thinking, ToolCall
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
from .tool_json import call_of, whole_text

KINDS = {"text": "text", "thinking": "thinking", "redacted_thinking": "redacted", "tool_use": "call"}
CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})
Json = dict[str, Any]


class Assembly:
    """One round's stream. Feed it every event; `truncated` is what a stream without an end comes to."""

    def __init__(self, request_id: str = "", limits: Limits | None = None) -> None:
        self.ended = False
        self._request_id = request_id
        self._limits = limits
        self._open: dict[int, Json] = {}
        self._raw: dict[int, str] = {}
        self._blocks: dict[int, ReplyBlock] = {}
        self._waiting: tuple[int, ToolCall] | None = None
        self._usage = Usage()
        self._stop: tuple[str, Mapping[str, Any]] = ("", {})

    def feed(self, event: Json) -> Iterator[Event]:
        """The events that one of the stream's stands for; none for one that is not known."""
        match event.get("type"):
            case "message_start":
                yield self._started(event["message"])
            case "content_block_start":
                yield from self._flush("")
                yield self._block_started(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "content_block_stop":
                yield from self._block_ended(event["index"])
            case "message_delta":
                yield from self._message_delta(event)
            case "message_stop":
                yield from self._flush("")
                self.ended = True
                yield self._terminal()
            case _:
                pass

    def truncated(self) -> RoundFailed:
        """The terminal of a stream that ended without saying so (providers.md 2.1, facts 6 and 8)."""
        text = "the stream ended before the message did"
        return RoundFailed(ErrorRecord("truncated", text, True, request_id=self._request_id))

    # --- the message

    def _started(self, message: Json) -> Started:
        self._usage = _usage(message.get("usage") or {}, self._usage)
        dropped = tuple(dict(one) for one in message.get("input_transformations") or ())
        return Started(
            str(message.get("id") or ""), str(message.get("model") or ""), self._usage, dropped, self._limits
        )

    def _message_delta(self, event: Json) -> Iterator[Event]:
        delta: Json = event.get("delta") or {}
        self._stop = (str(delta.get("stop_reason") or ""), delta.get("stop_details") or {})
        self._usage = _usage(event.get("usage") or {}, self._usage)
        yield from self._flush(self._stop[0])

    def _terminal(self) -> Event:
        reason, details = self._stop
        if self._open or not reason:
            return self.truncated()
        content = tuple(block for _, block in sorted(self._blocks.items()))
        return Done(reason, content, self._usage, dict(details), self._request_id)

    # --- blocks

    def _block_started(self, index: int, block: Json) -> BlockStart:
        self._open[index] = dict(block)
        self._raw[index] = ""
        return BlockStart(index, KINDS.get(block["type"], "opaque"))

    def _delta(self, index: int, delta: Json) -> Iterator[Event]:
        block = self._open[index]
        match delta.get("type"):
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
                if block["type"] == "text":
                    yield TextDelta(delta["text"], index)
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
                if delta["thinking"]:
                    yield ThinkingDelta(delta["thinking"], index)
            case "input_json_delta":
                self._raw[index] += delta["partial_json"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
            case _:
                # signature_delta, compaction_delta and what is still to come state their fields whole.
                block.update({name: value for name, value in delta.items() if name != "type"})

    def _block_ended(self, index: int) -> Iterator[Event]:
        block, raw = self._open.pop(index), self._raw.pop(index)
        made = self._blocks[index] = _made(block, raw)
        if isinstance(made, ToolCall) and not raw.strip() and not block.get("input"):
            self._waiting = (index, made)  # without a byte of arguments it is whole only if nothing cut it
        else:
            yield BlockEnd(index, made)

    def _flush(self, stop_reason: str) -> Iterator[Event]:
        """Tell the call that waited for what comes after it."""
        if self._waiting is None:
            return
        index, call = self._waiting
        self._waiting = None
        if stop_reason in CUT_SHORT:
            call = self._blocks[index] = replace(call, unusable="were cut off")
        yield BlockEnd(index, call)


def _made(block: Json, raw: str) -> ReplyBlock:
    """The block that has ended; `raw`: the JSON text of its input as far as it was streamed."""
    match block["type"]:
        case "text":
            return Text(whole_text(block["text"]))
        case "thinking":
            return Thinking(whole_text(block["thinking"]), block.get("signature") or "")
        case "redacted_thinking":
            return RedactedThinking(block["data"])
        case "tool_use":
            given = json.dumps(block["input"], ensure_ascii=False) if block.get("input") else ""
            return call_of(block["id"], block["name"], raw or given)
        case _:
            return Opaque(_with_input(block, raw))


def _with_input(block: Json, raw: str) -> str:
    """An unknown block, or one of the provider's own tools, as JSON text."""
    if raw:
        try:
            block = {**block, "input": json.loads(raw)}
        except ValueError:
            block = {**block, "input": {"INVALID_JSON": raw}}
    return json.dumps(block, ensure_ascii=False, separators=(",", ":"))


def _usage(stated: Mapping[str, Any], before: Usage) -> Usage:
    """The counts as they stand now: cumulative ones replace, ones left out stay (providers.md 2.1, fact 12)."""

    def count(name: str, known: int) -> int:
        value = stated.get(name)
        return value if isinstance(value, int) else known

    return Usage(
        count("input_tokens", before.fresh), count("cache_read_input_tokens", before.read),
        count("cache_creation_input_tokens", before.written), count("output_tokens", before.output),
    )
