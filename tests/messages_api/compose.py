"""From a reply to the message that goes out.

Owns: ids, signatures and counts of a reply's blocks, and the deltas each is cut into. Pure but for the counter of ids
it is handed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from .replies import Block, Cut, Redacted, Reply, Text, Thinking, ToolUse, Whole, pieces
from .thinking import Prefix
from .wire import JsonObject, as_object, canonical, section, tokens


@dataclass(frozen=True, slots=True)
class Composed:
    """A finished message, and for each block the texts of its deltas."""

    message: JsonObject
    cuts: tuple[tuple[str, ...], ...]


def compose(
    reply: Reply, request: JsonObject, prefix: Prefix, ids: Callable[[str], str], usage: JsonObject
) -> Composed:
    """The message of a reply to this request. `ids` gives a new id for a kind; `usage` is the input side.

    Under `display: omitted` a thinking block keeps only its signature. `max_tokens: 0` answers with no content: such
    a request only warms the cache.
    """
    omitted = section(request, "thinking").get("display") == "omitted"
    given = reply.blocks if request["max_tokens"] else ()
    content: list[JsonObject] = []
    cuts: list[tuple[str, ...]] = []
    for block in given:
        made, cut = _made(block, request["model"], prefix, ids, omitted)
        prefix.add("assistant", made)
        content.append(made)
        cuts.append(cut)
    produced = sum(tokens(canonical(block)) for block in content)
    message: JsonObject = {
        "id": ids("msg"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": reply.reason if request["max_tokens"] else "max_tokens",
        "stop_sequence": reply.stop_sequence,
        "usage": {
            **usage,
            "output_tokens": produced if reply.output_tokens is None else reply.output_tokens,
            "service_tier": "standard",
        },
    }
    if reply.stop_details is not None:
        message["stop_details"] = dict(reply.stop_details)
    return Composed(message, tuple(cuts))


def _made(
    block: Block, model: str, prefix: Prefix, ids: Callable[[str], str], omitted: bool
) -> tuple[JsonObject, tuple[str, ...]]:
    match block:
        case Text(text, cut):
            return {"type": "text", "text": text}, pieces(text, cut)
        case Thinking(text, cut):
            return _thought("" if omitted else text, cut, model, prefix)
        case Redacted():
            return {"type": "redacted_thinking", "data": prefix.sign(model, "")}, ()
        case ToolUse():
            call = {"type": "tool_use", "id": block.id or ids("toolu"), "name": block.name, "input": _input(block)}
            return call, pieces(block.json(), block.cut)
        case Whole(whole):
            return dict(whole), ()
        case _:
            assert_never(block)


def _thought(text: str, cut: Cut, model: str, prefix: Prefix) -> tuple[JsonObject, tuple[str, ...]]:
    return {"type": "thinking", "thinking": text, "signature": prefix.sign(model, text)}, pieces(text, cut)


def _input(call: ToolUse) -> JsonObject:
    """The input as an object, as far as the JSON text is one."""
    try:
        return as_object(json.loads(call.json())) or {}
    except ValueError:
        return {}
