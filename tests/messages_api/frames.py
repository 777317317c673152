"""Server-sent events: the frames of a message, in the provider's order, and their bytes.

Owns: the order of events (providers.md 3, point 3) and the text of a frame and of a chunk. Takes a finished message
and how each block's deltas are cut; knows nothing of scripts, faults or sockets. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .wire import JsonObject, canonical


@dataclass(frozen=True, slots=True)
class Frame:
    """One event: its name and its data."""

    event: str
    data: JsonObject

    def encoded(self) -> bytes:
        """`event: <name>\\ndata: <json>\\n\\n`."""
        return f"event: {self.event}\ndata: {canonical(self.data)}\n\n".encode()


def chunk(payload: bytes) -> bytes:
    """One HTTP/1.1 chunk; the last one has an empty payload."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)


def message_frames(message: JsonObject, cuts: Sequence[Sequence[str]], pings: bool = True) -> Iterator[Frame]:
    """The stream of a finished message. `cuts`: for each block, its deltas' texts."""
    opening: JsonObject = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    opening.pop("stop_details", None)
    opening["usage"] = {**message["usage"], "output_tokens": 1}
    yield Frame("message_start", {"type": "message_start", "message": opening})
    for index, block in enumerate(message["content"]):
        yield Frame("content_block_start", _indexed("content_block_start", index, content_block=_opened(block)))
        if pings and index == 0:
            yield Frame("ping", {"type": "ping"})
        for delta in _deltas(block, cuts[index]):
            yield Frame("content_block_delta", _indexed("content_block_delta", index, delta=delta))
        yield Frame("content_block_stop", _indexed("content_block_stop", index))
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    if "stop_details" in message:
        ending["stop_details"] = message["stop_details"]
    usage = {key: value for key, value in message["usage"].items() if key not in ("service_tier", "cache_creation")}
    yield Frame("message_delta", {"type": "message_delta", "delta": ending, "usage": usage})
    yield Frame("message_stop", {"type": "message_stop"})


def _indexed(kind: str, index: int, **more: JsonObject) -> JsonObject:
    return {"type": kind, "index": index, **more}


def _opened(block: JsonObject) -> JsonObject:
    """A block as its start event shows it: what comes in deltas is empty."""
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "tool_use":
            return {**block, "input": {}}
        case _:
            return block


def _deltas(block: JsonObject, cut: Sequence[str]) -> Iterator[JsonObject]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": text} for text in cut)
        case "thinking":
            yield from ({"type": "thinking_delta", "thinking": text} for text in cut)
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            yield from ({"type": "input_json_delta", "partial_json": text} for text in cut)
        case _:
            return
