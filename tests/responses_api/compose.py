"""A reply as the response that it becomes: ids, items, usage. No events, no sockets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.messages_api.replies import pieces
from tests.messages_api.wire import JsonObject, tokens

from .cache import Plan
from .items import signature
from .replies import Call, Item, Reasoning, Refusal, Reply, Text

NewId = Callable[[str], str]
Deltas = Sequence[Sequence[str]]
"""Of each item, the deltas of its text or of its summary's parts."""


def compose(reply: Reply, request: JsonObject, new_id: NewId, plan: Plan) -> tuple[JsonObject, Deltas]:
    """(the finished response, how each item's text is streamed)."""
    items = [_item(item, new_id) for item in reply.items]
    if reply.incomplete and items and "status" in items[-1]:
        items[-1]["status"] = "incomplete"
    deltas = [pieces(_text(item), getattr(item, "cut", None)) for item in reply.items]
    output = reply.output_tokens
    if output is None:
        output = sum(tokens(_text(item)) for item in reply.items)
    thought = sum(tokens(_text(item)) for item in reply.items if isinstance(item, Reasoning))
    response: JsonObject = {
        "id": new_id("resp"), "object": "response", "created_at": 1.0,
        "status": "incomplete" if reply.incomplete else "completed", "error": None,
        "incomplete_details": {"reason": reply.incomplete} if reply.incomplete else None,
        "instructions": request.get("instructions"), "model": request["model"], "output": items,
        "parallel_tool_calls": request.get("parallel_tool_calls", True), "store": request.get("store", True),
        "tool_choice": request.get("tool_choice", "auto"), "tools": request.get("tools", []),
        "usage": plan.usage(output, thought),
    }
    return response, deltas


def _text(item: Item) -> str:
    match item:
        case Text(text) | Refusal(text):
            return text
        case Reasoning(summary, plain):
            return plain or "".join(summary)
        case Call():
            return item.json()
        case _:
            return ""


def _item(item: Item, new_id: NewId) -> JsonObject:
    match item:
        case Text(text):
            part: Mapping[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            phase = {"phase": item.phase} if item.phase else {}
            return {**_message(part, new_id), **phase}
        case Refusal(text):
            return _message({"type": "refusal", "refusal": text}, new_id)
        case Reasoning(summary, plain):
            made: JsonObject = {"id": new_id("rs"), "type": "reasoning"}
            made["summary"] = [{"type": "summary_text", "text": text} for text in summary]
            made |= {"content": [{"type": "reasoning_text", "text": plain}]} if plain else {}
            return {**made, "encrypted_content": signature(made)}
        case Call():
            return {
                "id": new_id("fc"), "type": "function_call", "status": "completed", "arguments": item.json(),
                "call_id": item.call_id or new_id("call"), "name": item.name,
            }
        case _:
            return dict(item.item)


def _message(part: Mapping[str, Any], new_id: NewId) -> JsonObject:
    return {
        "id": new_id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": [dict(part)],
    }
