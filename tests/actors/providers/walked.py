"""A moment of a random walk (`tests.messages_api.conversations`) as the runtime's request."""

import json

from manyminds.messages.blocks import Block, SystemChange, Text, ToolCall, ToolDef, ToolResult
from manyminds.messages.request import Msg, Request
from tests.messages_api.conversations import MODEL, Moment
from tests.messages_api.wire import JsonObject, blocks


def _tool(sent: JsonObject) -> ToolDef:
    return ToolDef(sent["name"], sent["description"], json.dumps(sent["input_schema"]))


def _block(sent: JsonObject) -> Block:
    if sent["type"] == "text":
        return Text(sent["text"])
    if sent["type"] == "tool_use":
        return ToolCall(sent["id"], sent["name"], json.dumps(sent["input"], ensure_ascii=False))
    content = tuple(Text(one["text"]) for one in blocks(sent["content"]))
    return ToolResult(sent["tool_use_id"], content, bool(sent.get("is_error")))


def _message(sent: JsonObject) -> Msg:
    content = blocks(sent["content"])
    if sent["role"] != "system":
        return Msg(sent["role"], tuple(_block(one) for one in content))
    return Msg("change", (SystemChange(
        tuple(one["tool"]["name"] for one in content if one["type"] == "tool_removal"),
        tuple(_tool(one["tool"]["definition"]) for one in content if one["type"] == "tool_addition"),
        tuple(one["text"] for one in content if one["type"] == "text"),
    ),))


def request_at(moment: Moment) -> Request:
    """The runtime's request at a moment of a walk."""
    return Request(
        MODEL, tuple(map(_message, moment.compiled)),
        tuple(one["text"] for one in moment.request["system"]), tuple(map(_tool, moment.request["tools"])), 1024,
    )
