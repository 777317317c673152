"""A request as the body of the Messages API: blocks, changes in their places, cache markers, betas.

Pure and without state, so that equal requests are equal bytes and each request begins with the bytes of the one before
it. Markers are computed afresh each time, at most four, none on a change (providers.md 2.3). Knows nothing of sockets.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...messages.blocks import (
    Block,
    Image,
    Opaque,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolDef,
    ToolResult,
)
from ...messages.placement import place_messages
from ...messages.request import Capabilities, Msg, Request
from .tool_json import parse_object, whole_text

Json: TypeAlias = dict[str, Any]

INLINE_TOOLS = "inline-tools-2026-09-15"
TOOL_REFERENCES = "mid-conversation-tool-changes-2026-07-01"
BINDING = "thinking-binding-controls-2026-08-01"
DIAGNOSIS = "cache-diagnosis-2026-04-07"
MOST_MARKERS = 4
OWN_FIELDS = frozenset({"model", "messages", "system", "max_tokens", "thinking", "stream"})
FOREIGN = "openai:"
NO_IMAGE = "[an image that is not kept any more]"
NOT_MARKED = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent: the fields of the body, and the betas that they need."""

    fields: Json
    betas: tuple[str, ...]


def body_of(request: Request, able: Capabilities, ttl: str = "5m") -> Body | None:
    """The body, or None where a change has no place in it (providers.md 1.4). `ttl`: of the cache markers."""
    placed = place_messages(tuple(message for message in request.messages if any(map(_is_sent, message.content))))
    if placed is None:
        return None
    sent = [(message, _message(message)) for message in placed]
    _drop_open_server_calls([made for _, made in sent])
    fields: Json = {"model": request.model, "max_tokens": request.max_tokens}
    tools = [*map(_tool, request.tools), *request.extra.get("tools", ())]
    system = [_text(text) for text in request.system if text.strip()]
    fields |= {"tools": tools} if tools else {}
    fields |= {"system": system} if system else {}
    fields["messages"] = [made for _, made in sent]
    fields |= {"thinking": dict(request.thinking)} if request.thinking else {}
    fields |= {name: value for name, value in request.extra.items() if name not in ("tools", "betas")}
    if request.cache and able.prompt_cache == "explicit":
        _mark(fields, sent, min(able.max_breakpoints, MOST_MARKERS), ttl)
    return Body(fields, _betas(fields, request.extra.get("betas", ()), able))


def _betas(fields: Json, more: Iterable[str], able: Capabilities) -> tuple[str, ...]:
    """The betas that the body needs, and those that the host asked for (providers.md 1.2)."""
    needed: list[str] = []
    held = [block for message in fields["messages"] if message["role"] == "system" for block in message["content"]]
    if any(block["type"] != "text" for block in held):
        needed.append(TOOL_REFERENCES if able.tool_add == "reference" else INLINE_TOOLS)
    if "block_binding" in fields.get("thinking", {}):
        needed.append(BINDING)
    if fields.get("diagnostics") is not None:
        needed.append(DIAGNOSIS)
    return tuple(dict.fromkeys((*needed, *more)))


# --- messages and blocks


def _message(message: Msg) -> Json:
    if message.role == "change":
        return {"role": "system", "content": _change(message.content)}
    made = [_block(block) for block in message.content]
    return {"role": message.role, "content": [block for block in made if block is not None]}


def _is_sent(block: Block) -> bool:
    """False for blank text, for an empty change, and for what another provider alone can read."""
    match block:
        case Text(text):
            return bool(text.strip())
        case Thinking(_, signature):
            return bool(signature) and not signature.startswith(FOREIGN)
        case Opaque(text):
            return "type" in json.loads(text)
        case SystemChange(removed, defined, system):
            return bool(removed or defined or any(text.strip() for text in system))
        case _:
            return True


def _block(block: Block) -> Json | None:
    """The block as it is sent, if it is."""
    if not _is_sent(block):
        return None
    match block:
        case Text(text):
            return _text(text)
        case Image():
            return _image(block)
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case RedactedThinking(data):
            return {"type": "redacted_thinking", "data": data}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": _input(block)}
        case ToolResult():
            return _result(block)
        case Opaque(text):
            held: Json = json.loads(text)
            return held
        case SystemChange():
            return None


def _text(text: str) -> Json:
    return {"type": "text", "text": whole_text(text)}


def _image(block: Image) -> Json:
    if not block.data:
        return _text(NO_IMAGE)
    data = base64.b64encode(block.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": data}}


def _input(call: ToolCall) -> Json:
    """The arguments as an object; what is none goes back under a name that says so, as the model was told."""
    try:
        return parse_object(call.arguments)
    except ValueError:
        return {"INVALID_JSON": whole_text(call.arguments)}


def _result(block: ToolResult) -> Json:
    made: Json = {"type": "tool_result", "tool_use_id": block.call_id}
    content = [_block(part) for part in block.content]
    kept = [part for part in content if part is not None]
    made |= {"content": kept} if kept else {}
    made |= {"is_error": True} if block.is_error else {}
    return made


def _tool(tool: ToolDef) -> Json:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": json.loads(tool.schema)}


def _change(content: Sequence[Block]) -> list[Json]:
    """Removals, definitions, text (providers.md 1.1); of two blocks for one name the later one stays."""
    tools: dict[str, Json] = {}
    texts: list[Json] = []
    for change in content:
        if not isinstance(change, SystemChange):
            continue
        for name in change.removed:
            tools.pop(name, None)
            tools[name] = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}
        for tool in change.defined:
            tools.pop(tool.name, None)
            tools[tool.name] = {
                "type": "tool_addition", "tool": {"type": "tool_definition", "definition": _tool(tool)}
            }
        texts += [_text(text) for text in change.system if text.strip()]
    return [*tools.values(), *texts]


def _drop_open_server_calls(messages: Sequence[Json]) -> None:
    """A call of the provider's own tool that was cut before its result is refused anywhere but at the end."""
    for message in messages[:-1]:
        if message["role"] != "assistant":
            continue
        answered = {block.get("tool_use_id") for block in message["content"]}
        message["content"] = [
            block for block in message["content"]
            if block["type"] not in ("server_tool_use", "mcp_tool_use") or block.get("id") in answered
        ] or [_text("[an answer that was cut]")]


# --- cache markers


def _mark(fields: Json, sent: Sequence[tuple[Msg, Json]], most: int, ttl: str) -> None:
    """Put the markers: where the messages ask for them, else at the head's end and the last request's; and at the end.

    The last request ended before the newest assistant turn; its end is marked, since a marker finds an earlier one
    over 20 blocks only (providers.md 1.8).
    """
    marker: Json = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    most -= _marked_already(fields)
    asked = [made for message, made in sent if message.cache and message.role != "change"]
    users = [made for message, made in sent if message.role == "user"]
    if not asked and most > 0:
        _mark_head(fields, marker)
        most -= 1
    if not asked:
        asked = _end_of_last_request([made for _, made in sent])
    chosen = {id(made): made for made in (*asked, *users[-1:])}
    for made in list(chosen.values())[-max(most, 0):] if most > 0 else ():
        _mark_end(made, marker)


def _marked_already(fields: Json) -> int:
    """The markers that the host's own fields and tools, or blocks that only the provider reads, bring along."""
    held = [*fields.get("tools", ()), *(block for message in fields["messages"] for block in message["content"])]
    return sum("cache_control" in one for one in (fields, *held))


def _mark_head(fields: Json, marker: Json) -> None:
    for part in ("system", "tools"):
        if fields.get(part):
            fields[part] = [*fields[part][:-1], {**fields[part][-1], "cache_control": marker}]
            return


def _end_of_last_request(messages: Sequence[Json]) -> list[Json]:
    newest = max((n for n, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    return [message for message in messages[: max(newest, 0)] if message["role"] == "user"][-1:]


def _mark_end(message: Json, marker: Mapping[str, Any]) -> None:
    content: list[Json] = message["content"]
    for index in range(len(content) - 1, -1, -1):
        if content[index]["type"] not in NOT_MARKED:
            message["content"] = [*content[:index], {**content[index], "cache_control": marker}, *content[index + 1 :]]
            return
