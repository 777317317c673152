"""A request as the body of the Responses API: items, additions in their places, nothing kept on the server.

Pure and without state, so that equal requests are equal bytes and each request begins with the bytes of the one before
it. What a round said goes back as it came: thinking as the item that the provider made, encrypted content included,
calls with the arguments that the model wrote. Ids of messages and calls are left out: without them no item depends on
one that is not sent any more. Knows nothing of sockets.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ...messages.blocks import Block, Image, Opaque, SystemChange, Text, Thinking, ToolCall, ToolDef, ToolResult
from ...messages.request import Msg, Request
from .tool_json import parse_object, whole_text

Json: TypeAlias = dict[str, Any]

OWN_FIELDS = frozenset({
    "model", "input", "instructions", "max_output_tokens", "reasoning", "stream", "store", "background",
    "previous_response_id", "conversation",
})
MARK = "openai:"
"""Begins the signature of thinking that is an item of this API; the item's JSON follows."""
HELD = "openai"
"""The one member of an opaque block of this API: an item, or what a message said besides its text."""
ENCRYPTED = "reasoning.encrypted_content"
NO_IMAGE = "[an image that is not kept any more]"
FAILED = "Error: "


def body_of(request: Request, *, reasons: bool) -> Json:
    """The body. `reasons`: ask for the thinking in encrypted form, so that it can go back."""
    instructions = "\n\n".join(whole_text(text) for text in request.system if text.strip())
    tools = [*map(_tool, request.tools), *request.extra.get("tools", ())]
    included = [*([ENCRYPTED] if reasons or request.thinking else []), *request.extra.get("include", ())]
    fields: Json = {"model": request.model}
    fields |= {"instructions": instructions} if instructions else {}
    fields |= {"tools": tools} if tools else {}
    fields["input"] = [item for message in _placed(request.messages) for item in _items(message)]
    fields |= {"max_output_tokens": request.max_tokens, "store": False}
    fields |= {"reasoning": dict(request.thinking)} if request.thinking else {}
    fields |= {"include": list(dict.fromkeys(included))} if included else {}
    return fields | {name: value for name, value in request.extra.items() if name not in ("tools", "include")}


def removals(request: Request) -> tuple[str, ...]:
    """The tools that a change of the request takes away, for which this API has no words."""
    return tuple(
        name
        for message in request.messages
        for block in message.content
        if isinstance(block, SystemChange)
        for name in block.removed
    )


def _placed(messages: Sequence[Msg]) -> Iterator[Msg]:
    """A change may stand anywhere but between calls and their results; there it waits for them."""
    held: list[Msg] = []
    waiting = False
    for message in messages:
        if waiting and message.role == "change":
            held.append(message)
            continue
        yield message
        if message.role == "assistant":
            waiting = any(isinstance(block, ToolCall) for block in message.content)
        elif waiting:
            waiting = False
            yield from held
            held = []
    yield from held


def _items(message: Msg) -> list[Json]:
    if message.role == "change":
        return list(_change(message.content))
    return _answer(message.content) if message.role == "assistant" else list(_said(message.content))


# --- what was said to the model


def _said(content: Iterable[Block]) -> Iterator[Json]:
    """Results as items of their own, everything between them as messages."""
    parts: list[Json] = []
    for block in content:
        if isinstance(block, ToolResult):
            yield from _message(parts)
            parts = []
            yield {"type": "function_call_output", "call_id": block.call_id, "output": _output(block)}
        else:
            parts += _part(block)
    yield from _message(parts)


def _message(parts: list[Json]) -> list[Json]:
    return [{"role": "user", "content": parts}] if parts else []


def _part(block: Block) -> list[Json]:
    match block:
        case Text(text) if text.strip():
            return [_text(text)]
        case Image() if block.data:
            data = base64.b64encode(block.data).decode()
            return [{"type": "input_image", "image_url": f"data:{block.media_type};base64,{data}", "detail": "auto"}]
        case Image():
            return [_text(NO_IMAGE)]
        case _:
            return []


def _text(text: str) -> Json:
    return {"type": "input_text", "text": whole_text(text)}


def _output(block: ToolResult) -> str | list[Json]:
    """Text alone as a text, which every server reads, else parts. An error is said, since no field marks it."""
    start = FAILED if block.is_error else ""
    if all(isinstance(part, Text) for part in block.content):
        return whole_text(start + "\n".join(part.text for part in block.content if isinstance(part, Text)))
    parts = [made for part in block.content for made in _part(part)]
    return [_text(start), *parts] if start else parts


# --- what the model said


def _answer(content: Iterable[Block]) -> list[Json]:
    """A round's items. Thinking that nothing follows is left out, since the provider refuses it."""
    items: list[Json] = []
    for block in content:
        match block:
            case Text(text) if text.strip():
                items.append({"role": "assistant", "content": whole_text(text)})
            case Thinking():
                items += _thinking(block)
            case ToolCall():
                items.append({
                    "type": "function_call", "call_id": block.id, "name": block.name, "arguments": _arguments(block),
                })
            case Opaque(text):
                _put_back(items, _object(text).get(HELD))
            case _:
                pass
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _thinking(block: Thinking) -> list[Json]:
    """The item as it came; none for another provider's, or for one that holds nothing which the model could read."""
    if not block.signature.startswith(MARK):
        return []
    item = _object(block.signature.removeprefix(MARK))
    return [item] if item.get("encrypted_content") or item.get("content") else []


def _put_back(items: list[Json], held: object) -> None:
    """An unknown item as it came; what is known of a message goes to the texts before it."""
    if not isinstance(held, dict):
        return
    item = cast(Json, held)
    if item.get("type") != "message":
        items.append(item)
        return
    for text in items[max(0, len(items) - item["parts"]) :]:
        if text.get("role") == "assistant":
            text["phase"] = item["phase"]


def _object(text: str) -> Json:
    """A JSON text as an object, an empty one if it is none."""
    try:
        made: object = json.loads(text)
    except ValueError:
        return {}
    return cast(Json, made) if isinstance(made, dict) else {}


def _arguments(call: ToolCall) -> str:
    """As the model wrote them; what is no object goes back under a name that says so, as the model was told."""
    try:
        parse_object(call.arguments)
    except ValueError:
        return json.dumps({"INVALID_JSON": whole_text(call.arguments)}, ensure_ascii=False)
    return call.arguments


# --- tools and changes


def _tool(tool: ToolDef) -> Json:
    described: Mapping[str, str] = {"description": tool.description} if tool.description else {}
    return {
        "type": "function", "name": tool.name, **described, "parameters": json.loads(tool.schema), "strict": False,
    }


def _change(content: Sequence[Block]) -> Iterator[Json]:
    """Tools that are available from here on, then text."""
    for change in content:
        if not isinstance(change, SystemChange):
            continue
        if change.defined:
            yield {"type": "additional_tools", "role": "developer", "tools": [_tool(tool) for tool in change.defined]}
        for text in change.system:
            if text.strip():
                yield {"role": "developer", "content": [_text(text)]}
